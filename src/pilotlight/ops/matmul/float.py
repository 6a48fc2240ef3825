"""Products of two computed matrices: a (..., M, K) times b (..., K, N)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from pilotlight.codegen.loops import collapse
from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, INT64, Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers, register
from pilotlight.ops.dense.linear import linear_node
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import OWN, quantized
from pilotlight.ops.reduce.float import reduce
from pilotlight.ops.strided import Strided


@register
class MatMul(Strided):
    """inputs a (..., M, K) and b (..., K, N), or b (..., N, K) with attrs["transposed"].

    The leading dimensions are equal, or all of size 1 in one of the two. The output overlaps neither.
    """

    name = "matmul"
    strided = 2

    def shape(self, node: Node) -> Shape:
        a, b = (self.walk(node, k).shape for k in (0, 1))
        columns = b[-2] if node.attrs.get("transposed") else b[-1]
        return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], columns)

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, b = args
        return a @ (b.transpose(-1, -2) if node.attrs.get("transposed") else b)

    def macs(self, node: Node) -> int:
        return math.prod(self.shape(node)) * self.walk(node, 0).shape[-1]

    def accepts(self, node: Node) -> bool:
        neighbours = (self.walk(node, 0), self.out(node))
        return self._batch(node) is not None and all(w.shape[-1] == 1 or w.strides[-1] == 1 for w in neighbours)

    def _batch(self, node: Node) -> tuple[list[int], list[list[int]]] | None:
        """The batch as two dimensions: sizes, and strides in a, b and y."""
        lead = self.shape(node)[:-2]
        walks = [self.walk(node, 0), self.walk(node, 1), self.out(node)]
        strides = []
        for w in walks:
            sizes = (1,) * (len(lead) - len(w.shape) + 2) + w.shape[:-2]
            steps = (0,) * (len(lead) - len(w.shape) + 2) + w.strides[:-2]
            strides.append(tuple(0 if size == 1 else step for size, step in zip(sizes, steps, strict=True)))
        sizes_out, merged = collapse(lead, strides)
        missing = 2 - len(sizes_out)
        return None if missing < 0 else ([1] * missing + sizes_out, [[0] * missing + m for m in merged])

    def emit(self, node: Node, c: Step) -> None:
        a, b, y = self.walk(node, 0), self.walk(node, 1), self.out(node)
        batch = self._batch(node)
        assert batch is not None
        (outer, inner), strides = batch
        b_row, b_col = reversed(b.strides[-2:]) if node.attrs.get("transposed") else b.strides[-2:]
        fields = {"outer": outer, "inner": inner, "m": y.shape[-2], "k": a.shape[-1], "n": y.shape[-1]}
        rows = ({"a_row": a.strides[-2]}, {"b_row": b_row, "b_col": b_col}, {"y_row": y.strides[-2]})
        for letter, steps, row in zip("aby", strides, rows, strict=True):
            fields |= {f"{letter}_outer": steps[0], f"{letter}_inner": steps[1], **row}
        kernel = "matmul_f32" if node.output.dtype == FLOAT32 else "matmul_i64"
        c.use(kernel)
        table = c.table("pl_matmul_t", "matmul", fields)
        c.call(f"pl_{kernel}", table, *self.pointers(node, c), c.write(node.output))


# ---- ATen --------------------------------------------------------------------------------------------------


def product(b: Builder, left: Value, right: Value) -> Value:
    """left (..., M, K) @ right (..., K, N), at least 2-d; with a constant on the right a linear layer. Integers are
    multiplied as int64, of which the low bits are those of the narrower types."""
    if left.dtype != FLOAT32:
        if left.dtype != INT64:
            return b.cast(product(b, b.cast(left, INT64), b.cast(right, INT64)), left.dtype)
    elif left.shape[-1] and right.data is not None and math.prod(right.shape[:-2]) == 1:
        weight = np.ascontiguousarray(right.data.reshape(right.shape[-2:]).T)
        y = linear_node(b, left, weight, None)
        lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return b.reshape(y, (*lead, *y.shape[-2:]))
    lead = tuple(np.broadcast_shapes(left.shape[:-2], right.shape[:-2]))
    if not left.shape[-1]:
        return b.expand(b.scalar(0, left.dtype), (*lead, left.shape[-2], right.shape[-1]))
    operands = []
    for x in (left, right):
        one = math.prod(x.shape[:-2]) == 1
        operands.append(b.reshape(x, x.shape[-2:]) if one else b.expand(x, (*lead, *x.shape[-2:])))
    return b.reshape(b.node("matmul", operands), (*lead, left.shape[-2], right.shape[-1]))


@lowers("matmul.default", quantized=OWN)
def matmul(b: Builder, self: Value, other: Value) -> Value:
    left = b.reshape(self, (1, *self.shape)) if len(self.shape) == 1 else self
    right = b.reshape(other, (*other.shape, 1)) if len(other.shape) == 1 else other
    return b.reshape(product(b, left, right), b.results[0][1])


@lowers("mm.default", "bmm.default", quantized=OWN)
def mm(b: Builder, self: Value, mat2: Value) -> Value:
    return product(b, self, mat2)


@lowers("mv.default", quantized=OWN)
def mv(b: Builder, self: Value, vec: Value) -> Value:
    return b.reshape(product(b, self, b.reshape(vec, (vec.elements, 1))), b.results[0][1])


@lowers("dot.default")
def dot(b: Builder, self: Value, tensor: Value) -> Value:
    return b.reshape(product(b, b.reshape(self, (1, -1)), b.reshape(tensor, (-1, 1))), ())


@lowers("baddbmm.default")
def baddbmm(
    b: Builder, self: Value, batch1: Value, batch2: Value, beta: float = 1, alpha: float = 1
) -> Value:
    return _added(b, self, product(b, batch1, batch2), beta, alpha)


@lowers("addbmm.default")
def addbmm(
    b: Builder, self: Value, batch1: Value, batch2: Value, beta: float = 1, alpha: float = 1
) -> Value:
    """The sum over the batch: one product of matrices whose inner dimension is batch and K together."""
    n, rows, k = batch1.shape
    left = b.reshape(b.permute(batch1, (1, 0, 2)), (rows, n * k))
    return _added(b, self, product(b, left, b.reshape(batch2, (n * k, batch2.shape[2]))), beta, alpha)


@lowers("addmv.default")
def addmv(b: Builder, self: Value, mat: Value, vec: Value, beta: float = 1, alpha: float = 1) -> Value:
    y = b.reshape(product(b, mat, b.reshape(vec, (vec.elements, 1))), b.results[0][1])
    return _added(b, self, y, beta, alpha)


@lowers("addmm.default")
def addmm(b: Builder, self: Value, mat1: Value, mat2: Value, beta: float = 1, alpha: float = 1) -> Value:
    if mat2.data is not None and self.data is not None and self.shape == mat2.shape[1:] and mat1.dtype == FLOAT32:
        bias = b.constant((self.data * beta).astype(np.float32), hint="bias")
        return linear_node(b, mat1, np.ascontiguousarray(mat2.data.T) * np.float32(alpha), bias)
    return _added(b, self, product(b, mat1, mat2), beta, alpha)


def _added(b: Builder, x: Value, y: Value, beta: float, alpha: float) -> Value:
    """beta x + alpha y in y's type; x does not count where beta is 0, even if it is not a number."""
    y = y if alpha == 1 else apply(b, "mul", y, b.scalar(alpha, y.dtype))
    if beta == 0:
        return b.expand(y, b.results[0][1])
    return apply(b, "add", y, x if beta == 1 else apply(b, "mul", x, b.scalar(beta, x.dtype)))


@lowers("_trilinear.default")
def trilinear(
    b: Builder, i1: Value, i2: Value, i3: Value, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int],
    sumdim: Sequence[int], unroll_dim: int = 1,
) -> Value:
    """The product of three tensors, each with dimensions of size 1 put in, summed over some dimensions."""
    rank = len(i1.shape) + len(expand1)
    factors = []
    for x, put_in in ((i1, expand1), (i2, expand2), (i3, expand3)):
        sizes = iter(x.shape)
        factors.append(b.reshape(x, [1 if d in put_in else next(sizes) for d in range(rank)]))
    summed = reduce(b, "sum", apply(b, "mul", apply(b, "mul", factors[0], factors[1]), factors[2]), sumdim)
    return b.reshape(summed, b.results[0][1])


quantized(OWN, "einsum.default", "outer.default")  # which PyTorch decomposes into products
