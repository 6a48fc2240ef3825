"""Plain C from a planned graph."""
