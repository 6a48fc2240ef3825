"""A build and a run as plain data: read from what was built and measured, nothing is compiled or booted for it."""
