"""Tensors that do not depend on the inputs: they become constants."""

from __future__ import annotations

import torch

from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import moves, unused


@moves("full.default", "full_like.default", "new_full.default")
def full(b: Builder, fill_value: float, **rest: object) -> Value:
    unused(**rest)
    dtype, shape = b.results[0]
    return b.constant(torch.full(shape, fill_value, dtype=dtype.torch), hint="full")


@moves("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default",
        "new_empty.default")
def zeros(b: Builder, **rest: object) -> Value:
    unused(**rest)
    return full(b, fill_value=0)


@moves("ones.default", "ones_like.default", "new_ones.default")
def ones(b: Builder, **rest: object) -> Value:
    unused(**rest)
    return full(b, fill_value=1)


@moves("scalar_tensor.default")
def scalar_tensor(b: Builder, s: float, **rest: object) -> Value:
    unused(**rest)
    return full(b, fill_value=s)


@moves("arange.default")
def arange(b: Builder, end: float, **rest: object) -> Value:
    unused(**rest)
    return arange_step(b, 0, end, 1)


@moves("arange.start")
def arange_start(b: Builder, start: float, end: float, **rest: object) -> Value:
    unused(**rest)
    return arange_step(b, start, end, 1)


@moves("arange.start_step")
def arange_step(b: Builder, start: float, end: float, step: float = 1, **rest: object) -> Value:
    unused(**rest)
    return b.constant(torch.arange(start, end, step, dtype=b.results[0][0].torch), hint="arange")


@moves("eye.default", "eye.m")
def eye(b: Builder, n: int, m: int | None = None, **rest: object) -> Value:
    unused(**rest)
    return b.constant(torch.eye(n, n if m is None else m, dtype=b.results[0][0].torch), hint="eye")
