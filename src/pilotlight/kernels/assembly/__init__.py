"""Assembly as data, and simulators of it."""
