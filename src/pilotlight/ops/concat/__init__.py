"""Tensors side by side."""
