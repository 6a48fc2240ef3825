"""Operators on complex numbers, each a pair of floats."""
