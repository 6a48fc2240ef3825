"""Cosine similarity of the lanes of two tensors along one axis.

In int8, for two lanes of at most 33,000 numbers, with a = x - zx and b = z - zz:
    v    = max(Σ a², least_x) · max(Σ b², least_z)          64 bits; least = rint((eps / scale)²), at least 1
    r, j = 1 / sqrt(v) as r · 2^-(31 + j), as in `norm/int8.py`
    t    = rhmul(rint(Σ a·b · 2^(14 - j)), r · 2^14)        the cosine times 2^27
    y    = clamp(zy + rhmul(t << shift, m)), m = rint(2^-27 / sy · 2^(32 - shift))
At most one step from float in the usual scale 1/128.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from pilotlight.codegen.step import Step, c_float
from pilotlight.codegen.walk import forward_distance
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import rhmul
from pilotlight.graph import Node, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, axis, lowers, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.norm.int8 import inverse_root
from pilotlight.ops.pointwise.float import broadcast_shape, repeats
from pilotlight.ops.quantizing import FixedRange, Treatment
from pilotlight.ops.softmax.float import lanes
from pilotlight.ops.spec import (
    LIMIT,
    Limits,
    NodeSpec,
    narrow,
    output_attrs,
    quant_of,
    requantize_table,
    requantized,
    wide,
)

OUTPUT = Quant(1.0 / 128.0, 0)
LONGEST = 33_000  # numbers of a lane, so that sums of squares fit 32 bits


@register
class CosineSimilarity(Op):
    """attrs: axis, eps; inputs x, and z of its shape or of its last dimensions. The axis stays as size 1."""

    name = "cosine_similarity"

    def infer(self, node: Node) -> Result:
        x, at = node.inputs[0], node.attrs["axis"]
        return [(x.dtype, (*x.shape[:at], 1, *x.shape[at + 1 :]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, z = torch.broadcast_tensors(*args)
        return torch.cosine_similarity(x, z, node.attrs["axis"], node.attrs["eps"]).unsqueeze(node.attrs["axis"])

    def shape(self, node: Node) -> tuple[int, int, int, int]:
        """Lanes of x, after how many z repeats, numbers of a lane, and how far apart they are."""
        x, z = node.inputs
        outer, count, inner = lanes(x.shape, node.attrs["axis"])
        return outer, z.elements // (count * inner), count, inner

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """A result is written after its own lanes were read; an input that repeats is needed to the end."""
        outer, times, count, inner = self.shape(node)
        first = (np.arange(outer)[:, None] * count * inner + np.arange(inner)).reshape(-1)
        size = node.output.dtype.size
        distance = min(forward_distance(first[1:], np.arange(1, len(first))), 0) * size if len(first) > 1 else 0
        return {(k, 0): distance for k in range(2 if times == outer else 1)}

    def emit(self, node: Node, c: Step) -> None:
        x, z = node.inputs
        c.use("cosine_similarity_f32")
        numbers = (*self.shape(node), c_float(node.attrs["eps"]))
        c.call("pl_cosine_similarity_f32", c.read(x), c.read(z), c.write(node.output), *numbers)


@lowers("cosine_similarity.default", quantized=Treatment(FixedRange(OUTPUT.scale, OUTPUT.zero_point)))
def cosine_similarity(b: Builder, x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    dtype, shape = b.results[0]
    whole = broadcast_shape([x1, x2]) or (1,)
    at = axis(dim, len(whole))
    if math.prod(whole) == 0:
        return b.expand(b.scalar(0.0, dtype), shape)
    x, z = sorted((b.cast(x1, dtype), b.cast(x2, dtype)), key=lambda v: v.shape != whole)
    if not repeats(z.shape, whole) or z.elements < math.prod(whole[at:]):
        z = b.expand(z, whole)
    return b.reshape(b.node("cosine_similarity", [b.expand(x, whole), z], axis=at, eps=eps), shape)


# ---- int8 --------------------------------------------------------------------------------------------------


@register
class QCosineSimilarity(CosineSimilarity):
    """attrs: axis, zx, zz, least_x, least_z, m, zy, shift, lo, hi; inputs as for float."""

    name = "qcosine_similarity"
    called = "cosine_similarity"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, z = np.broadcast_arrays(wide(args[0]) - a["zx"], wide(args[1]) - a["zz"])
        dot, xx, zz = ((p * q).sum(axis=a["axis"], keepdims=True) for p, q in ((x, z), (x, x), (z, z)))
        product = np.maximum(xx, a["least_x"]) * np.maximum(zz, a["least_z"])
        inverses = np.array([inverse_root(int(v)) for v in product.reshape(-1)]).reshape(*product.shape, 2)
        right, left = np.maximum(inverses[..., 1] - 14, 0), np.maximum(14 - inverses[..., 1], 0)
        t = rhmul(((dot << left) + ((1 << right) >> 1)) >> right, inverses[..., 0] << 14)
        return narrow(requantized(t, a["m"], a))

    def emit(self, node: Node, c: Step) -> None:
        a, (x, z) = node.attrs, node.inputs
        fields = dict(zip(("outer", "times", "n", "inner"), self.shape(node), strict=True))
        fields |= {k: a[k] for k in ("zx", "zz", "least_x", "least_z", "m")}
        c.use("q_cosine_similarity")
        table = c.table("pl_q_cosine_similarity_t", "cosine", fields | {"out": requantize_table(a)})
        c.call("pl_q_cosine_similarity", table, c.read(x), c.read(z), c.write(node.output))


def make_qcosine_similarity(
    x: Quant, z: Quant, y: Quant, size: int, axis: int, eps: float = 1e-8, limits: Limits = LIMITS
) -> NodeSpec:
    """The cosine along `axis`, which has `size` numbers; y is (1/128, 0) unless calibration says otherwise."""
    if size > LONGEST:
        raise PilotlightError(
            f"a cosine of {size} numbers has no int8 form; expected at most {LONGEST}", hint="keep it in float",
            kind="unsupported",
        )
    least = {f"least_{k}": int(np.clip(np.rint((eps / v.scale) ** 2), 1, LIMIT - 1)) for k, v in (("x", x), ("z", z))}
    zeros = {"zx": x.zero_point, "zz": z.zero_point}
    numbers = output_attrs(2.0**-27 / y.scale, 1 << 28, y.zero_point, limits)
    return NodeSpec("qcosine_similarity", {"axis": axis, **zeros, **least, **numbers})


@form("cosine_similarity", width=8)
def cosine_form(q: Integer) -> list[Node] | None:
    """One of the two may be a constant, such as known embeddings."""
    if not all_int8(q):
        return None
    x, z = (q.constant(v, 8) for v in q.inputs)
    a = q.node.attrs
    spec = make_qcosine_similarity(quant_of(x), quant_of(z), q.quant, x.shape[a["axis"]], a["axis"], a["eps"], q.limits)
    return [q.build(spec, x, z)]
