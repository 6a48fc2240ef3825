"""Kernels in plain C, for any core."""

from pilotlight.kernels.portable import dense_f32, dense_s8, dense_s16, linear_w

__all__ = ["dense_f32", "dense_s8", "dense_s16", "linear_w"]
