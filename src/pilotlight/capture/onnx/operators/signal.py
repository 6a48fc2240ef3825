"""Fourier transforms, as products with matrices of sines and cosines."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.operators.shape import cut_axis, pad_ends
from pilotlight.capture.onnx.registry import operator


def _matrix(rows: int, size: int, inverse: bool) -> tuple[Tensor, Tensor]:
    """Cosines and sines, (rows, size)."""
    angle = 2 * np.pi * ((np.arange(rows)[:, None] * np.arange(size)[None, :]) % size) / size
    scale = 1 / size if inverse else 1.0
    sign = 1 if inverse else -1
    return (torch.tensor((np.cos(angle) * scale).astype(np.float32).tolist()),
            torch.tensor((sign * np.sin(angle) * scale).astype(np.float32).tolist()))


def transformed(real: Tensor, imaginary: Tensor | None, rows: int, inverse: bool = False) -> Tensor:
    """The transform along the last axis, with real and imaginary parts in a new last one."""
    cos, sin = _matrix(rows, real.shape[-1], inverse)
    if imaginary is None:
        return torch.stack([F.linear(real, cos), F.linear(real, sin)], -1)
    return torch.stack([F.linear(real, cos) - F.linear(imaginary, sin),
                        F.linear(real, sin) + F.linear(imaginary, cos)], -1)


@operator("DFT", fixed=("dft_length", "axis"))
def dft(
    x: Tensor, dft_length: int | list[int] | None = None, axis: int | list[int] = -2, *, inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    along = axis[0] if isinstance(axis, list) else axis
    along %= x.dim()
    given = dft_length[0] if isinstance(dft_length, list) else dft_length
    x = x.movedim(along, -2)
    if inverse and onesided:
        return _real_inverse(x, given or 2 * (x.shape[-2] - 1)).movedim(-2, along)
    size = given or x.shape[-2]
    x = cut_axis(x, -2, 0, min(size, x.shape[-2]))
    x = pad_ends(x, [0] * x.dim(), [*[0] * (x.dim() - 2), size - x.shape[-2], 0])
    rows = size // 2 + 1 if onesided else size
    y = transformed(x[..., 0], x[..., 1] if x.shape[-1] == 2 else None, rows, bool(inverse))
    return y.movedim(-2, along)


def _real_inverse(x: Tensor, size: int) -> Tensor:
    """Real numbers from the first half of their transform: the other half is its mirror image."""
    half = size // 2 + 1
    x = cut_axis(x, -2, 0, min(half, x.shape[-2]))
    x = pad_ends(x, [0] * x.dim(), [*[0] * (x.dim() - 2), half - x.shape[-2], 0])
    mirrored = cut_axis(x, -2, 1, size - half + 1).flip(-2)
    real = torch.cat([x[..., 0], mirrored[..., 0]], -1)
    imaginary = torch.cat([x[..., 1], -mirrored[..., 1]], -1)
    return transformed(real, imaginary, size, True)[..., :1]


@operator("STFT", fixed=("frame_step", "frame_length"))
def stft(
    signal: Tensor, frame_step: int | list[int], window: Tensor | None = None,
    frame_length: int | list[int] | None = None, *, onesided: int = 1,
) -> Tensor:
    step = frame_step[0] if isinstance(frame_step, list) else frame_step
    length = frame_length[0] if isinstance(frame_length, list) else frame_length
    if length is None:
        assert window is not None
        length = window.shape[0]
    parts = signal if signal.dim() == 3 else signal[..., None]
    frames = parts.transpose(1, 2).unfold(-1, length, step)  # (batch, part, frame, element)
    frames = frames if window is None else frames * window
    rows = length // 2 + 1 if onesided else length
    return transformed(frames[:, 0], frames[:, 1] if parts.shape[-1] == 2 else None, rows)
