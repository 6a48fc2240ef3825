"""Arithmetic of complex tensors: what works part by part, what does not, sums and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pilotlight.graph import BOOL, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import from_torch
from pilotlight.ops.base import axis, unused
from pilotlight.ops.complex.base import Complex, Operand, Tensor, complex_rule, joined, pair_of, part
from pilotlight.ops.matmul.float import product
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.reduce.float import norm, reduce

# ---- parts -------------------------------------------------------------------------------------------------


@complex_rule("view_as_real.default", "view_as_real_copy.default")
def view_as_real(b: Builder, self: Complex) -> Value:
    return self.pair


@complex_rule("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(b: Builder, self: Value) -> Complex:
    return Complex(self)


@complex_rule("real.default")
def real(b: Builder, self: Complex) -> Value:
    return part(b, self, 0)


@complex_rule("imag.default")
def imag(b: Builder, self: Complex) -> Value:
    return part(b, self, 1)


@complex_rule("complex.default")
def complex_(b: Builder, real: Value, imag: Value) -> Complex:
    return joined(b, real, imag)


@complex_rule("polar.default")
def polar(b: Builder, abs: Value, angle: Value) -> Complex:
    return Complex(b.node("polar", [abs, angle]))


@complex_rule("_to_copy.default", "to.dtype", "_to_dtype.default")
def to_copy(b: Builder, self: Tensor, dtype: Any = None, **rest: object) -> Tensor:
    unused(**rest)
    if dtype is None or dtype == torch.complex64:
        return Complex(pair_of(b, self))
    assert isinstance(self, Complex)
    if dtype == torch.bool:
        return b.node("complex_to_bool", [self.pair])
    return b.cast(part(b, self, 0), from_torch(dtype))  # as PyTorch does, with a warning


@complex_rule("copy.default")
def copy(b: Builder, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if isinstance(self, Value):  # into a real tensor: the real parts
        assert isinstance(src, Complex)
        return b.expand(b.cast(part(b, src, 0), self.dtype), self.shape)
    return Complex(b.expand(pair_of(b, src), self.pair.shape))


# ---- element by element ------------------------------------------------------------------------------------


def _unary(aten: str, op: str, result: type = Complex) -> None:
    @complex_rule(aten)
    def lower(b: Builder, self: Complex) -> Tensor:
        """A permute before it becomes one after it, where fewer bytes have to be moved."""
        above, rank = b.maker(self.pair), len(self.shape)
        if above is None or above.op != "permute" or above.attrs["perm"][-1] != rank:
            y = b.node(op, [self.pair])
            return Complex(y) if result is Complex else y
        y = b.node(op, [above.inputs[0]])
        perm = above.attrs["perm"]
        return Complex(b.permute(y, perm)) if result is Complex else b.permute(y, perm[:-1])


for _aten, _op in (
    ("_conj", "conj"), ("_conj_physical", "conj"), ("conj_physical", "conj"), ("reciprocal", "reciprocal"),
    ("exp", "exp"), ("sgn", "sgn"),
):
    _unary(f"{_aten}.default", f"complex_{_op}")
for _op in ("abs", "angle"):
    _unary(f"{_op}.default", f"complex_{_op}", Value)


@complex_rule("neg.default")
def neg(b: Builder, self: Complex) -> Complex:
    return Complex(apply(b, "neg", self.pair))


@complex_rule("resolve_conj.default", "resolve_neg.default")
def resolved(b: Builder, self: Complex) -> Complex:
    return self


def _times(b: Builder, x: Operand, factor: Any) -> Operand:
    if factor == 1:
        return x
    return Complex(b.node("complex_mul", [pair_of(b, x), pair_of(b, factor)]))


@complex_rule("add.Tensor", "add.Scalar")
def add(b: Builder, self: Operand, other: Operand, alpha: Any = 1) -> Complex:
    return Complex(apply(b, "add", pair_of(b, self), pair_of(b, _times(b, other, alpha))))


@complex_rule("sub.Tensor", "sub.Scalar")
def sub(b: Builder, self: Operand, other: Operand, alpha: Any = 1) -> Complex:
    return Complex(apply(b, "sub", pair_of(b, self), pair_of(b, _times(b, other, alpha))))


@complex_rule("rsub.Tensor", "rsub.Scalar")
def rsub(b: Builder, self: Operand, other: Operand, alpha: Any = 1) -> Complex:
    return sub(b, other, self, alpha)


@complex_rule("mul.Tensor", "mul.Scalar")
def mul(b: Builder, self: Operand, other: Operand) -> Complex:
    return Complex(b.node("complex_mul", [pair_of(b, self), pair_of(b, other)]))


@complex_rule("div.Tensor", "div.Scalar")
def div(b: Builder, self: Operand, other: Operand) -> Complex:
    return Complex(b.node("complex_div", [pair_of(b, self), pair_of(b, other)]))


@complex_rule("square.default")
def square(b: Builder, self: Complex) -> Complex:
    return mul(b, self, self)


@complex_rule("pow.Tensor_Scalar")
def pow_scalar(b: Builder, self: Tensor, exponent: Any) -> Complex:
    """Small whole numbers, by multiplying."""
    if exponent not in (1, 2, 3):
        what = "complex" if isinstance(self, Complex) else "real"
        instead = "torch.exp(torch.complex(z.abs().log(), z.angle()) * p)" if isinstance(exponent, complex) else \
            "torch.polar(z.abs() ** p, z.angle() * p)"
        raise b.refuse(f"a {what} tensor to the power of {exponent} is not supported; expected 1, 2 or 3",
                       f"write it with {instead}")
    y = Complex(pair_of(b, self))
    for _ in range(int(complex(exponent).real) - 1):
        y = mul(b, y, self)
    return y


def _compared(*aten: str, op: str) -> None:
    @complex_rule(*aten)
    def lower(b: Builder, self: Operand, other: Operand) -> Value:
        return b.node(op, [pair_of(b, self), pair_of(b, other)])


_compared("eq.Tensor", "eq.Scalar", op="complex_eq")
_compared("ne.Tensor", "ne.Scalar", op="complex_ne")


def _either(*aten: str, op: str) -> None:
    """Tests that hold for a number if they hold for one of its parts."""
    @complex_rule(*aten)
    def lower(b: Builder, self: Complex) -> Value:
        both = apply(b, op, self.pair)
        return b.reshape(reduce(b, "any", both, [-1]), self.shape)


_either("isnan.default", op="isnan")
_either("isinf.default", op="isinf")


@complex_rule("logical_not.default")
def logical_not(b: Builder, self: Complex) -> Value:
    return apply(b, "logical_not", b.node("complex_to_bool", [self.pair]))


def _logical(name: str) -> None:
    @complex_rule(f"{name}.default")
    def lower(b: Builder, self: Tensor, other: Tensor) -> Value:
        left, right = (b.node("complex_to_bool", [x.pair]) if isinstance(x, Complex) else x for x in (self, other))
        return apply(b, name, left, right)


for _name in ("logical_and", "logical_or", "logical_xor"):
    _logical(_name)


@complex_rule("where.self")
def where(b: Builder, condition: Value, self: Operand, other: Operand) -> Complex:
    mask = b.reshape(condition, (*condition.shape, 1))
    return Complex(apply(b, "where", mask, pair_of(b, self), pair_of(b, other)))


@complex_rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: Builder, self: Complex, mask: Value, value: Operand) -> Complex:
    return where(b, mask, value, self)


# ---- sums --------------------------------------------------------------------------------------------------


def _dims(x: Complex, dims: int | Sequence[int] | None) -> list[int]:
    """Dimensions of a complex tensor, never that of the parts; all of them for None and for none."""
    rank = len(x.shape)
    given = [dims] if isinstance(dims, int) else dims
    return [axis(d, rank) for d in given] if given else list(range(rank))


def _reduced(b: Builder, x: Tensor, dims: int | Sequence[int] | None, op: str) -> Complex:
    z = Complex(pair_of(b, x))
    if not z.shape:
        return z
    return Complex(b.reshape(reduce(b, op, z.pair, _dims(z, dims)), b.results[0][1]))


@complex_rule("sum.default", "sum.dim_IntList")
def sum_(
    b: Builder, self: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, dtype: object = None
) -> Complex:
    return _reduced(b, self, dim, "sum")


@complex_rule("mean.default", "mean.dim")
def mean(
    b: Builder, self: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, dtype: object = None
) -> Complex:
    return _reduced(b, self, dim, "mean")


@complex_rule("cumsum.default")
def cumsum(b: Builder, self: Tensor, dim: int, dtype: object = None) -> Complex:
    z = Complex(pair_of(b, self))
    return Complex(b.node("cumsum", [z.pair], axis=axis(dim, len(z.shape)))) if z.shape else z


def _tested(*aten: str, op: str) -> None:
    @complex_rule(*aten)
    def lower(b: Builder, self: Complex, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Value:
        truth = b.node("complex_to_bool", [self.pair])
        dims = [dim] if isinstance(dim, int) else dim
        return b.cast(b.reshape(reduce(b, op, truth, dims), b.results[0][1]), BOOL)


_tested("any.default", "any.dim", "any.dims", op="any")
_tested("all.default", "all.dim", "all.dims", op="all")


@complex_rule("linalg_vector_norm.default")
def vector_norm(
    b: Builder, self: Complex, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: object = None,
) -> Value:
    if ord == 2:
        total = reduce(b, "sum", b.node("complex_power", [self.pair]), dim if dim is None else _dims(self, dim))
        return b.reshape(apply(b, "sqrt", total), b.results[0][1])
    sizes = b.node("complex_abs", [self.pair])
    return b.reshape(norm(b, sizes, ord, dim if dim is None else _dims(self, dim)), b.results[0][1])


# ---- products of matrices ----------------------------------------------------------------------------------


def _product(b: Builder, left: Complex, right: Complex) -> Complex:
    """left (..., M, K) @ right (..., K, N): four real products."""
    a, c = part(b, left, 0), part(b, right, 0)
    i, j = part(b, left, 1), part(b, right, 1)
    return joined(b, apply(b, "sub", product(b, a, c), product(b, i, j)),
                  apply(b, "add", product(b, a, j), product(b, i, c)))


def _shaped(b: Builder, x: Complex, shape: Sequence[int]) -> Complex:
    return Complex(b.reshape(x.pair, (*shape, 2)))


@complex_rule("mm.default", "bmm.default")
def mm(b: Builder, self: Complex, mat2: Complex) -> Complex:
    return _product(b, self, mat2)


@complex_rule("matmul.default")
def matmul(b: Builder, self: Complex, other: Complex) -> Complex:
    left = _shaped(b, self, (1, *self.shape)) if len(self.shape) == 1 else self
    right = _shaped(b, other, (*other.shape, 1)) if len(other.shape) == 1 else other
    return Complex(b.reshape(_product(b, left, right).pair, b.results[0][1]))


@complex_rule("mv.default")
def mv(b: Builder, self: Complex, vec: Complex) -> Complex:
    return Complex(b.reshape(_product(b, self, _shaped(b, vec, (*vec.shape, 1))).pair, b.results[0][1]))


@complex_rule("dot.default")
def dot(b: Builder, self: Complex, tensor: Complex) -> Complex:
    left, right = _shaped(b, self, (1, *self.shape)), _shaped(b, tensor, (*tensor.shape, 1))
    return Complex(b.reshape(_product(b, left, right).pair, (2,)))


@complex_rule("linear.default")
def linear(b: Builder, input: Complex, weight: Complex, bias: Tensor | None = None) -> Complex:
    y = matmul(b, input, Complex(b.permute(weight.pair, (1, 0, 2))))
    return y if bias is None else add(b, y, bias)


@complex_rule("addmv.default")
def addmv(b: Builder, self: Tensor, mat: Complex, vec: Complex, beta: Any = 1, alpha: Any = 1) -> Complex:
    y = _times(b, mv(b, mat, vec), alpha)
    return Complex(pair_of(b, y)) if beta == 0 else add(b, y, _times(b, self, beta))


@complex_rule("addmm.default")
def addmm(b: Builder, self: Tensor, mat1: Complex, mat2: Complex, beta: Any = 1, alpha: Any = 1) -> Complex:
    y = _times(b, _product(b, mat1, mat2), alpha)
    return Complex(pair_of(b, y)) if beta == 0 else add(b, y, _times(b, self, beta))


@complex_rule("baddbmm.default")
def baddbmm(b: Builder, self: Tensor, batch1: Complex, batch2: Complex, beta: Any = 1, alpha: Any = 1) -> Complex:
    return addmm(b, self, batch1, batch2, beta, alpha)
