"""Sums, means and extremes over axes."""
