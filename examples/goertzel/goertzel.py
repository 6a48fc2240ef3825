"""The power of a signal at a few frequencies: an operator for PyTorch, and its kernel for boards."""

from pathlib import Path

import torch

import pilotlight as pl


@torch.library.custom_op("tones::goertzel", mutates_args=())
def goertzel(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """x (..., t) → (..., k): |sum x[n] exp(-i w n)|² for each w, where `turns` holds 2 cos w."""
    n = torch.arange(x.shape[-1], dtype=torch.float64)
    w = torch.arccos(turns.double() / 2)[:, None] * n
    x = x.double()
    return ((x @ torch.cos(w).T) ** 2 + (x @ torch.sin(w).T) ** 2).float()


@goertzel.register_fake
def _(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], turns.shape[0]))


def some_inputs(random, batch, t, k):
    return random.standard_normal((batch, t)).astype("f"), random.uniform(-1.9, 1.9, k).astype("f")


KERNEL = pl.Kernel(
    name="goertzel_f32",
    op="tones::goertzel",
    takes=("float32[..., t]", "float32[k]"),
    gives=("float32[..., k]",),
    prototype="void goertzel_f32(const float *x, const float *turns, float *y, int32_t n, int32_t t, int32_t k)",
    source=Path("goertzel.c"),
    overlaps={(0, 0): "4 * (min(0, (batch - 1) * (t - k)) - k + 1)"},
    cost="7 * batch * t * k + 20 * batch * k",
    sizes={"t": range(1, 400)},
    draw=some_inputs,
    rtol=1e-4,
)
