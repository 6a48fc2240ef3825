"""Layer norm and rms norm of int8 rows, in integers; at most two steps from float, and nearly always none.

For a row v = x (layer norm) or x - zx (rms norm) of n numbers, with sum = Σ v (0 for rms norm):
    d_k    = n·v_k - sum
    spread = (n·Σ v² - sum²)·2^16 + rint(eps·n²/sx²·2^16)                   64 bits; 0 counts as 1
    root   = sqrt(spread / 4^j), rounded, where j makes the radicand 2^30 <= spread / 4^j < 2^32
    r      = 2^31 / root
    z_k    = rhmul(d_k·up, r·2^14) shifted right by j + shift, rounded      the normalized number, `bits` fraction bits
    y_k    = clamp((rhmul(z_k, w_k) + b_k) >> fraction)
with w = rint(weight/sy · 2^(32 - bits + fraction)), b = rint((bias/sy + zy)·2^fraction) + 2^(fraction-1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8, rhmul
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import Op, Result, register, same
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, overflow, quant_of, wide

LONGEST = 1 << 15  # numbers of a row, so that the spread fits 64 bits


def inverse_root(spread: int) -> tuple[int, int]:
    """1 / sqrt(spread) as r · 2^-(31 + j)."""
    spread, j = spread or 1, 0
    while spread >> 32:
        spread, j = spread >> 2, j + 1
    while spread < 1 << 30:
        spread, j = spread << 2, j - 1
    root = math.isqrt(spread)
    root += spread - root * root > root
    return (1 << 31) // root, j


def normalized(v: np.ndarray, w: np.ndarray, b: np.ndarray, a: dict[str, Any], point: int = 16) -> np.ndarray:
    """The formula for rows v (rows, n); the spread has `point` fraction bits."""
    n, v = a["size"], v - a["zero"]
    total = v.sum(axis=1, keepdims=True) * a["center"]
    spread = ((n * (v * v).sum(axis=1, keepdims=True) - total * total) << point) + a["eps"]
    inverses = np.array([inverse_root(int(s)) for s in spread.reshape(-1)]).reshape(-1, 2)
    t = rhmul((n * v - total) * a["up"], inverses[:, :1] << 14)
    shift = inverses[:, 1:] + a["shift"]
    right, left = np.maximum(shift, 0), np.maximum(-shift, 0)
    z = ((t << left) + ((1 << right) >> 1)) >> right
    return np.clip((rhmul(z, w) + b) >> a["fraction"], a["lo"], a["hi"])


def table_fields(a: dict[str, Any], rows: int) -> dict[str, Any]:
    """The fields of pl_q_norm_t."""
    return {
        "rows": rows, "n": a["size"], "center": a["center"], "zero": a["zero"],
        "eps_hi": f"{a['eps'] >> 32}u", "eps_lo": f"{a['eps'] & 0xffffffff}u",
        **{k: a[k] for k in ("up", "shift", "fraction", "lo", "hi")},
    }


@register
class QNorm(Op):
    """attrs: size (elements of a row), center, zero, eps, up, shift, fraction, lo, hi; inputs x, w (size), b (size).
    Row by row, in place."""

    name = "qnorm"
    kernel = "q_norm"

    def infer(self, node: Node) -> Result:
        return same(node)

    def group(self, node: Node) -> str:
        return "layer_norm" if node.attrs["center"] else "rms_norm"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        rows = wide(args[0]).reshape(-1, node.attrs["size"])
        w, b = (wide(c).reshape(-1) for c in args[1:])
        return narrow(normalized(rows, w, b, node.attrs).reshape(args[0].shape))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        a, (x, w, b) = node.attrs, node.inputs
        fields = table_fields(a, x.elements // a["size"])
        c.use(self.kernel)
        table = c.table("pl_q_norm_t", "norm", fields)
        c.call(f"pl_{self.kernel}", table, c.read(x), c.read(w), c.read(b), c.write(node.output))


def make_qnorm(
    x: Quant, y: Quant, size: int, eps: float, weight: np.ndarray | None = None, bias: np.ndarray | None = None,
    center: bool = True, limits: Limits = INT8,
) -> NodeSpec:
    """Layer norm over the last `size` numbers, or rms norm without `center`."""
    if size > LONGEST:
        raise PilotlightError(
            f"a norm over {size} numbers has no int8 form; expected at most {LONGEST}", hint="keep it in float",
            kind="unsupported",
        )
    fraction, factors, offsets = affine_numbers(y, size, weight, bias)
    attrs = {**row_numbers(x, size, eps, center, limits), "fraction": fraction}
    return NodeSpec("qnorm", attrs, (factors, offsets))


def _bits(size: int) -> int:
    """Fraction bits of a normalized number, which is at most sqrt(size)."""
    return 30 - math.ceil(math.log2(math.sqrt(size) * 1.001))


def row_numbers(
    x: Quant, size: int, eps: float, center: bool, limits: Limits, steps: int = 255, point: int = 16
) -> dict[str, Any]:
    """The attributes that normalize rows of `size` numbers; the spread has `point` fraction bits."""
    up = 31 - (steps * size).bit_length()
    return {
        "size": size, "center": center, "zero": 0 if center else x.zero_point,
        "eps": min(int(np.rint(eps * size * size / x.scale**2 * 2.0**point)), 1 << 62),
        "up": 1 << up, "shift": 13 - point // 2 + up - _bits(size), "lo": limits[0], "hi": limits[1],
    }


def affine_numbers(
    y: Quant, size: int, weight: np.ndarray | None, bias: np.ndarray | None,
    fractions: Iterable[int] = range(16, 0, -1),
) -> tuple[int, np.ndarray, np.ndarray]:
    """`fraction`, and scale and shift of the normalized numbers in y's steps: as many bits as 32 hold."""
    w = np.ones(size) if weight is None else np.asarray(weight, np.float64).reshape(-1)
    b = np.zeros(size) if bias is None else np.asarray(bias, np.float64).reshape(-1)
    largest = math.sqrt(size) * 1.001
    for fraction in fractions:
        factors = np.rint(w / y.scale * 2.0 ** (32 - _bits(size) + fraction))
        offsets = np.rint((b / y.scale + y.zero_point) * 2.0**fraction) + ((1 << fraction) >> 1)
        reach = largest * np.abs(w) / y.scale * 2.0**fraction + np.abs(offsets)
        if max(np.abs(factors).max(), reach.max()) < LIMIT - 1:
            return fraction, factors.astype(np.int32), offsets.astype(np.int32)
    raise overflow(float(np.abs(w).max() / y.scale))


def norm_node(q: Integer, make: Callable[..., NodeSpec]) -> list[Node]:
    """The affine constants that exist follow x in the order (scale, shift)."""
    a, x = q.node.attrs, q.inputs[0]
    given = iter(v.data for v in q.inputs[1:])
    weight, bias, *_ = [next(given) if has else None for has in a["affine"]] + [None]
    center = q.node.op == "layer_norm"
    return [q.build(make(quant_of(x), q.quant, a["size"], a["eps"], weight, bias, center, q.limits), x)]


@form("layer_norm", "rms_norm", width=8)
def norm(q: Integer) -> list[Node] | None:
    constant = all(v.is_constant for v in q.inputs[1:])
    return norm_node(q, make_qnorm) if all_int8(q) and constant else None
