"""Norms: layer, rms, group, instance and batch."""
