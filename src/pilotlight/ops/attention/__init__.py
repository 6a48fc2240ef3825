"""Scaled dot product attention."""
