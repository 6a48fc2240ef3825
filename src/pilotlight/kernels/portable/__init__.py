"""Kernels in plain C, for any core."""

from pilotlight.kernels.portable import (
    conv_transpose,
    dense_f32,
    dense_s8,
    dense_s16,
    fft_f32,
    linear_w,
    rfft_s16,
    tflm_s16,
)

__all__ = ["conv_transpose", "dense_f32", "dense_s8", "dense_s16", "fft_f32", "linear_w", "rfft_s16", "tflm_s16"]
