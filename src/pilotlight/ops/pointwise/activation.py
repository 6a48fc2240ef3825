"""Activations and arithmetic whose ATen form is not a plain row: extra arguments, defaults, combinations of rows."""

from __future__ import annotations

import math

from pilotlight.graph import BOOL, FLOAT32, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import from_torch
from pilotlight.ops.base import lowers, moves, unused
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import CLAMP, FUNCTION, OWN, SHARED, WITH_PARAMETERS, or_function, quantized

Operand = Value | float | int


@lowers("add.Tensor", "add.Scalar", quantized=or_function(OWN))
def add(b: Builder, self: Value, other: Operand, alpha: float = 1) -> Value:
    return apply(b, "add", self, other if alpha == 1 else _scaled(b, other, alpha))


@lowers("sub.Tensor", "sub.Scalar", quantized=or_function(OWN))
def sub(b: Builder, self: Value, other: Operand, alpha: float = 1) -> Value:
    return apply(b, "sub", self, other if alpha == 1 else _scaled(b, other, alpha))


@lowers("div.Tensor_mode", "div.Scalar_mode", quantized=FUNCTION)
def div_mode(b: Builder, self: Value, other: Operand, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return apply(b, "floor_divide", self, other)
    return apply(b, "trunc_divide" if rounding_mode == "trunc" else "div", self, other)


@lowers("rsub.Tensor", "rsub.Scalar", quantized=FUNCTION)
def rsub(b: Builder, self: Value, other: Operand, alpha: float = 1) -> Value:
    return apply(b, "sub", other, self if alpha == 1 else apply(b, "mul", self, alpha))


def _scaled(b: Builder, other: Operand, alpha: float) -> Operand:
    return apply(b, "mul", other, alpha) if isinstance(other, Value) else other * alpha


@lowers("relu.default", quantized=CLAMP)
def relu(b: Builder, self: Value) -> Value:
    return apply(b, "clamp_min", self, 0)


@lowers("relu6.default", quantized=CLAMP)
def relu6(b: Builder, self: Value) -> Value:
    return clamp(b, self, 0, 6)


@lowers("hardtanh.default", quantized=CLAMP)
def hardtanh(b: Builder, self: Value, min_val: float, max_val: float) -> Value:
    return clamp(b, self, min_val, max_val)


@lowers("clamp.default", quantized=CLAMP)
@lowers("clamp.Tensor", quantized=or_function(SHARED))
def clamp(b: Builder, self: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    dtype = b.results[0][0]
    for bound, scalar, tensor in ((min, "clamp_min", "maximum"), (max, "clamp_max", "minimum")):
        if bound is not None:
            exact = isinstance(bound, Value) or bound != bound  # NaN as a bound wins
            self = apply(b, tensor if exact else scalar, self, bound, compute=dtype)
    return b.cast(self, dtype)


@lowers("gelu.default", quantized=FUNCTION)
def gelu(b: Builder, self: Value, approximate: str = "none") -> Value:
    return apply(b, "gelu" if approximate == "none" else "gelu_tanh", self)


@lowers("leaky_relu.default", quantized=FUNCTION)
def leaky_relu(b: Builder, self: Value, negative_slope: float) -> Value:
    return apply(b, "leaky_relu", self, negative_slope)


@lowers("prelu.default", quantized=or_function(WITH_PARAMETERS))
def prelu(b: Builder, self: Value, weight: Value) -> Value:
    per_channel = weight.elements > 1
    weight = b.reshape(weight, (weight.elements,) + (1,) * (len(self.shape) - 2) if per_channel else ())
    return apply(b, "leaky_relu", self, weight)


@lowers("native_dropout.default")
def native_dropout(b: Builder, input: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    if train:
        raise b.refuse("dropout in training mode is not supported", "call model.eval() before capture")
    return input, b.expand(b.scalar(True, BOOL), input.shape)


@lowers("elu.default", quantized=FUNCTION)
def elu(b: Builder, self: Value, alpha: float, scale: float, input_scale: float) -> Value:
    inner = self if input_scale == 1 else apply(b, "mul", self, input_scale)
    negative = apply(b, "mul", apply(b, "expm1", inner), alpha * scale)
    positive = self if scale == 1 else apply(b, "mul", self, scale)
    return apply(b, "where", apply(b, "gt", self, 0), positive, negative)


@lowers("softplus.default", quantized=FUNCTION)
def softplus(b: Builder, self: Value, beta: float, threshold: float) -> Value:
    scaled = self if beta == 1 else apply(b, "mul", self, beta)
    curve = apply(b, "log1p", apply(b, "exp", scaled))
    curve = curve if beta == 1 else apply(b, "div", curve, beta)
    return apply(b, "where", apply(b, "gt", scaled, threshold), self, curve)


@lowers("pow.Tensor_Scalar", quantized=FUNCTION)
def pow_scalar(b: Builder, self: Value, exponent: float) -> Value:
    self = b.cast(self, b.results[0][0])
    if exponent == 2:
        return apply(b, "square", self)
    if exponent == 0.5:
        return apply(b, "sqrt", self)
    if exponent == -0.5:
        return apply(b, "rsqrt", self)
    if exponent == 1:
        return self
    if exponent == 3:
        return apply(b, "mul", apply(b, "square", self), self)
    return apply(b, "pow", self, exponent)


@lowers("ldexp.Tensor")
def ldexp(b: Builder, self: Value, other: Value) -> Value:
    return apply(b, "mul", self, apply(b, "pow", 2.0, other))


@lowers("pow.Scalar", quantized=FUNCTION)
def pow_base(b: Builder, self: float, exponent: Value) -> Value:
    return apply(b, "pow", self, exponent)


@lowers("pow.Tensor_Tensor", quantized=FUNCTION)
def pow_tensor(b: Builder, self: Value, exponent: Value) -> Value:
    return apply(b, "pow", self, exponent)


@moves("where.self", quantized=or_function(SHARED))
def where(b: Builder, condition: Value, self: Value, other: Value) -> Value:
    return apply(b, "where", condition, self, other)


@moves("masked_fill.Scalar", quantized=or_function(SHARED))
@moves("masked_fill.Tensor", quantized=FUNCTION)
def masked_fill(b: Builder, self: Value, mask: Value, value: Operand) -> Value:
    filler = b.cast(value, self.dtype) if isinstance(value, Value) else b.scalar(value, self.dtype)
    return apply(b, "where", mask, filler, self)


@lowers("angle.default")
def angle(b: Builder, self: Value) -> Value:
    """Of real numbers: 0 or half a turn, NaN where there is no number."""
    x = b.cast(self, FLOAT32)
    turn = apply(b, "where", apply(b, "lt", x, 0.0), b.scalar(math.pi), b.scalar(0.0))
    return apply(b, "where", apply(b, "isnan", x), x, turn)


@lowers("bitwise_not.default")
def bitwise_not(b: Builder, self: Value) -> Value:
    if self.dtype.kind == "b":
        return apply(b, "logical_not", self)
    return apply(b, "bitwise_xor", self, -1 if self.dtype.kind == "i" else 255)


@moves("clone.default", "alias.default", "lift_fresh_copy.default", "detach.default", "contiguous.default",
       "dropout.default", "prims.copy_strided.default", "conj_physical.default", "_conj_physical.default",
       "resolve_conj.default", "resolve_neg.default", "real.default", quantized=SHARED)
@moves("_assert_tensor_metadata.default")
def identity(b: Builder, **arguments: Value) -> Value:
    return next(iter(arguments.values()))


@moves("copy.default")
def copy(b: Builder, self: Value, src: Value, non_blocking: bool = False) -> Value:
    """`self[...] = src`: the new contents with self's shape and type."""
    return b.expand(b.cast(src, self.dtype), self.shape)


@moves("_to_copy.default", "to.dtype", "_to_dtype.default")
def to_copy(b: Builder, self: Value, dtype: object = None, **rest: object) -> Value:
    unused(**rest)
    return self if dtype is None else b.cast(self, from_torch(dtype))  # type: ignore[arg-type]


# Functions that PyTorch decomposes into those above.
quantized(CLAMP, "clamp_min.default")
quantized(
    FUNCTION, "celu.default", "clamp_max.Tensor", "clamp_max.default", "clamp_min.Tensor", "hardshrink.default",
    "log_sigmoid.default", "round.decimals", "selu.default", "softshrink.default", "threshold.default",
    "where.Scalar", "where.ScalarOther", "where.ScalarSelf",
)
