"""Operators that work element by element."""
