"""Resizing images."""
