"""Distances between the rows of matrices, of any order."""

from __future__ import annotations

import numpy as np

from pilotlight.graph import INT64, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.reduce.float import norm


def _length(b: Builder, gaps: Value, p: float) -> Value:
    """The norm of order p along the last axis, which is dropped."""
    return b.reshape(norm(b, gaps, p, [-1]), gaps.shape[:-1])


@lowers("_cdist_forward.default")
def cdist(b: Builder, x1: Value, x2: Value, p: float, compute_mode: int | None = None) -> Value:
    """Distances of every row of x1 (..., M, K) from every row of x2 (..., N, K)."""
    left = b.reshape(x1, (*x1.shape[:-1], 1, x1.shape[-1]))
    right = b.reshape(x2, (*x2.shape[:-2], 1, *x2.shape[-2:]))
    return _length(b, apply(b, "sub", left, right), p)


@lowers("_pdist_forward.default")
def pdist(b: Builder, self: Value, p: float = 2) -> Value:
    """Distances of every row of (N, K) from every later one."""
    first, second = (b.constant(ids.astype(INT64.numpy), hint="rows") for ids in np.triu_indices(self.shape[0], 1))
    return _length(b, apply(b, "sub", take(b, self, 0, first), take(b, self, 0, second)), p)


@lowers("dist.default")
def dist(b: Builder, self: Value, other: Value, p: float = 2) -> Value:
    """The distance of two tensors as if each were one row."""
    gaps = apply(b, "sub", self, other)
    return _length(b, b.reshape(gaps, (gaps.elements,)), p)
