"""Pointwise operators: one table row each.

A row holds one C expression; `{0}`, `{1}`, `{2}` are its operands, plain variables of the compute type that
may be read more than once. From the row come the lowering from ATen, the shape rule, the reference and the
generated loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, FLOAT32, DType, Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import from_torch
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, add_op, lowers
from pilotlight.ops.quantizing import (
    FUNCTION,
    OWN,
    READ,
    SHARED,
    FixedRange,
    ReadOnly,
    SharedScale,
    Treatment,
    or_function,
)


@dataclass(frozen=True)
class Row:
    """One pointwise operator."""

    name: str
    c: str  # the expression for floats, and for integers where `ci` is empty
    torch: Callable[..., torch.Tensor]
    aten: tuple[str, ...] = ()  # overloads whose tensor and number arguments are the operands, in order
    arity: int = 1
    result: str = "same"  # "same": the operands' type; "bool"
    compute: str = "same"  # "same"; "float": integers become float32 first; "bool": everything becomes bool first
    needs: tuple[str, ...] = ()  # kernel headers of `c`
    ci: str = ""
    cb: str = ""  # the expression for bool where `ci` is not right for it
    ci_needs: tuple[str, ...] = ()  # kernel headers of `ci`
    quantized: Treatment | None = None  # where it is not a number made of one number, which is a table

    @property
    def treatment(self) -> Treatment | None:
        return self.quantized or (FUNCTION if self.arity == 1 and self.result == "same" else None)


def _f(
    name: str, function: Callable[..., torch.Tensor], aten: str | None = None, quantized: Treatment | None = None
) -> Row:
    """A float function `pl_NAME_f32` of one operand, from the header of that name."""
    overloads = (f"{name}.default",) if aten is None else ()
    header = f"{name}_f32"
    return Row(name, f"pl_{header}({{0}})", function, overloads, compute="float", needs=(header,), quantized=quantized)


def _whole(name: str, function: Callable[..., torch.Tensor]) -> Row:
    """The same for one that leaves integers as they are."""
    return Row(name, f"pl_{name}_f32({{0}})", function, (f"{name}.default",), needs=(f"{name}_f32",), ci="{0}")


def _shifts(side: str) -> tuple[str, ...]:
    named = tuple(f"bitwise_{side}_shift.{operands}" for operands in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"))
    return (*named, f"__{side[0]}shift__.Tensor", f"__{side[0]}shift__.Scalar")


TEST = or_function(READ)
_WRAP = "({{T}})(({{U}}){{0}} {0} ({{U}}){{1}})"  # integers wrap around as PyTorch's do

ROWS = [
    Row("add", "{0} + {1}", torch.add, arity=2, ci=_WRAP.format("+"), cb="{0} | {1}"),
    Row("sub", "{0} - {1}", torch.sub, arity=2, ci=_WRAP.format("-")),
    Row("mul", "{0} * {1}", torch.mul, ("mul.Tensor", "mul.Scalar"), arity=2, ci=_WRAP.format("*"),
        quantized=or_function(OWN)),
    Row("div", "{0} / {1}", torch.div, ("div.Tensor", "div.Scalar"), arity=2, compute="float",
        quantized=or_function(OWN)),
    Row("maximum", "(({0} > {1}) || ({0} != {0})) ? {0} : {1}", torch.maximum, ("maximum.default",), arity=2,
        ci="({0} > {1}) ? {0} : {1}", quantized=or_function(SHARED)),
    Row("minimum", "(({0} < {1}) || ({0} != {0})) ? {0} : {1}", torch.minimum, ("minimum.default",), arity=2,
        ci="({0} < {1}) ? {0} : {1}", quantized=or_function(SHARED)),
    Row("fmax", "(({0} >= {1}) || ({1} != {1})) ? {0} : {1}", torch.fmax, ("fmax.default",), arity=2,
        ci="({0} > {1}) ? {0} : {1}", quantized=or_function(SHARED)),
    Row("fmin", "(({0} <= {1}) || ({1} != {1})) ? {0} : {1}", torch.fmin, ("fmin.default",), arity=2,
        ci="({0} < {1}) ? {0} : {1}", quantized=or_function(SHARED)),
    Row("clamp_min", "({0} < {1}) ? {1} : {0}", torch.maximum, arity=2),
    Row("clamp_max", "({0} > {1}) ? {1} : {0}", torch.minimum, arity=2),
    Row("neg", "-{0}", torch.neg, ("neg.default", "_neg_view.default"), ci="({T})(0 - ({U}){0})"),
    Row("abs", "pl_abs_f32({0})", torch.abs, ("abs.default",), needs=("abs_f32",),
        ci="({T})(pl_negative({0}) ? (0u - ({U}){0}) : ({U}){0})", ci_needs=("negative",)),
    Row("square", "{0} * {0}", torch.square, ("square.default",), ci="({T})(({U}){0} * ({U}){0})"),
    Row("reciprocal", "1.0f / {0}", torch.reciprocal, ("reciprocal.default",), compute="float"),
    Row("rsqrt", "1.0f / pl_sqrt_f32({0})", torch.rsqrt, ("rsqrt.default",), compute="float", needs=("sqrt_f32",)),
    _f("sqrt", torch.sqrt),
    _f("exp", torch.exp),
    _f("expm1", torch.expm1),
    _f("log", torch.log),
    _f("log1p", torch.log1p),
    _f("tanh", torch.tanh, quantized=or_function(Treatment(FixedRange(1 / 128, 0)))),
    _f("sigmoid", torch.sigmoid, quantized=or_function(Treatment(FixedRange(1 / 256, -128)))),
    _f("erf", torch.erf),
    _f("erfc", torch.erfc),
    _f("lgamma", torch.lgamma),
    _f("digamma", torch.digamma),
    _f("exp2", torch.exp2),
    _f("log2", torch.log2),
    _f("log10", torch.log10),
    _f("sin", torch.sin),
    _f("cos", torch.cos),
    _f("tan", torch.tan),
    _f("asin", torch.asin),
    _f("acos", torch.acos),
    _f("atan", torch.atan),
    _f("sinh", torch.sinh),
    _f("cosh", torch.cosh),
    _f("asinh", torch.asinh),
    _f("acosh", torch.acosh),
    _f("atanh", torch.atanh),
    _whole("floor", torch.floor),
    _whole("ceil", torch.ceil),
    _whole("round", torch.round),
    _whole("trunc", torch.trunc),
    _f("silu", F.silu),
    _f("mish", F.mish),
    _f("gelu", F.gelu, aten=""),
    _f("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), aten=""),
    Row("hardswish", "{0} * (({0} <= -3.0f) ? 0.0f : (({0} >= 3.0f) ? 1.0f : (({0} + 3.0f) * (1.0f / 6.0f))))",
        F.hardswish, ("hardswish.default",)),
    Row("hardsigmoid", "({0} <= -3.0f) ? 0.0f : (({0} >= 3.0f) ? 1.0f : (({0} + 3.0f) * (1.0f / 6.0f)))",
        F.hardsigmoid, ("hardsigmoid.default",)),
    Row("leaky_relu", "({0} > 0.0f) ? {0} : ({0} * {1})", lambda x, slope: torch.where(x > 0, x, x * slope),
        arity=2),
    Row("pow", "pl_pow_f32({0}, {1})", torch.pow, arity=2, needs=("pow_f32",), ci="pl_pow_i64({0}, {1})",
        ci_needs=("pow_i64",)),
    Row("gcd", "", torch.gcd, ("gcd.default",), 2, ci="pl_gcd_i64({0}, {1})", ci_needs=("gcd_i64",)),
    Row("lcm", "", torch.lcm, ("lcm.default",), 2, ci="pl_lcm_i64({0}, {1})", ci_needs=("gcd_i64",)),
    Row("logaddexp", "pl_logaddexp_f32({0}, {1})", torch.logaddexp, ("logaddexp.default",), 2, compute="float",
        needs=("logaddexp_f32",)),
    Row("nextafter", "pl_nextafter_f32({0}, {1})", torch.nextafter, ("nextafter.default",), 2,
        needs=("nextafter_f32",)),
    Row("atan2", "pl_atan2_f32({0}, {1})", torch.atan2, ("atan2.default",), 2, compute="float",
        needs=("atan2_f32",)),
    Row("fmod", "pl_fmod_f32({0}, {1})", torch.fmod, ("fmod.Tensor", "fmod.Scalar"), 2, needs=("fmod_f32",),
        ci="({1} == 0) ? 0 : ({0} % {1})"),
    Row("remainder", "pl_remainder_f32({0}, {1})", torch.remainder,
        ("remainder.Tensor", "remainder.Scalar"), 2, needs=("remainder_f32",),
        ci="({1} == 0) ? 0 : (({0} % {1}) + "
        "(((({0} % {1}) != 0) && (pl_negative({0}) != pl_negative({1}))) ? {1} : 0))",
        ci_needs=("negative",)),
    Row("floor_divide", "pl_floor_divide_f32({0}, {1})", torch.floor_divide,
        ("floor_divide.default", "floor_divide.Scalar"), 2, needs=("floor_divide_f32",),
        ci="({1} == 0) ? 0 : (({0} / {1}) - (((({0} % {1}) != 0) && (pl_negative({0}) != pl_negative({1}))) ? 1 : 0))",
        ci_needs=("negative",)),
    Row("trunc_divide", "pl_trunc_f32({0} / {1})", lambda x, y: torch.div(x, y, rounding_mode="trunc"), arity=2,
        needs=("trunc_f32",), ci="({1} == 0) ? 0 : ({0} / {1})"),
    Row("sign", "({0} > 0.0f) ? 1.0f : (({0} < 0.0f) ? -1.0f : 0.0f)", torch.sign,
        ("sign.default", "sgn.default"), ci="pl_negative({0}) ? -1 : (({0} != 0) ? 1 : 0)", ci_needs=("negative",)),
    Row("copysign", "pl_copysign_f32({0}, {1})", torch.copysign, ("copysign.Tensor", "copysign.Scalar"), 2,
        compute="float", needs=("bits_f32",)),
    Row("hypot", "pl_hypot_f32({0}, {1})", torch.hypot, ("hypot.default",), 2, compute="float",
        needs=("hypot_f32",)),
    Row("signbit", "(pl_bits({0}) >> 31) != 0u", torch.signbit, ("signbit.default",), result="bool",
        needs=("bits_f32",), ci="pl_negative({0})", ci_needs=("negative",)),
    Row("isnan", "{0} != {0}", torch.isnan, ("isnan.default",), result="bool", ci="({0} & 0) != 0"),
    Row("isinf", "(({0} - {0}) != 0.0f) && ({0} == {0})", torch.isinf, ("isinf.default",), result="bool",
        ci="({0} & 0) != 0"),
    Row("where", "({0} != 0u) ? {1} : {2}", torch.where, arity=3, quantized=or_function(SHARED)),
    Row("eq", "{0} == {1}", torch.eq, ("eq.Tensor", "eq.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("ne", "{0} != {1}", torch.ne, ("ne.Tensor", "ne.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("lt", "{0} < {1}", torch.lt, ("lt.Tensor", "lt.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("le", "{0} <= {1}", torch.le, ("le.Tensor", "le.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("gt", "{0} > {1}", torch.gt, ("gt.Tensor", "gt.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("ge", "{0} >= {1}", torch.ge, ("ge.Tensor", "ge.Scalar"), arity=2, result="bool", quantized=TEST),
    Row("logical_and", "({0} != 0u) && ({1} != 0u)", torch.logical_and, ("logical_and.default",), 2, "bool", "bool"),
    Row("logical_or", "({0} != 0u) || ({1} != 0u)", torch.logical_or, ("logical_or.default",), 2, "bool", "bool"),
    Row("logical_xor", "{0} != {1}", torch.logical_xor, ("logical_xor.default",), 2, "bool", "bool"),
    Row("logical_not", "{0} == 0u", torch.logical_not, ("logical_not.default",), 1, "bool", "bool",
        quantized=FUNCTION),
    Row("bitwise_and", "{0} & {1}", torch.bitwise_and, ("bitwise_and.Tensor", "bitwise_and.Scalar"), arity=2),
    Row("bitwise_or", "{0} | {1}", torch.bitwise_or, ("bitwise_or.Tensor", "bitwise_or.Scalar"), arity=2),
    Row("bitwise_xor", "{0} ^ {1}", torch.bitwise_xor, ("bitwise_xor.Tensor", "bitwise_xor.Scalar"), arity=2),
    Row("left_shift", "", torch.bitwise_left_shift, _shifts("left"), 2,
        ci="(pl_negative({1}) || ({1} >= {bits})) ? 0 : ({T})(({U}){0} << {1})", ci_needs=("negative",)),
    Row("right_shift", "", torch.bitwise_right_shift, _shifts("right"), 2,
        ci="{0} >> ((pl_negative({1}) || ({1} > {most})) ? {most} : {1})", ci_needs=("negative",)),
]
BY_NAME = {row.name: row for row in ROWS}


class Pointwise(Op):
    """The operator of one row."""

    def __init__(self, row: Row):
        self.row = row

    def infer(self, node: Node) -> Result:
        shape = broadcast_shape(node.inputs)
        return [(BOOL if self.row.result == "bool" else node.inputs[-1].dtype, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return self.row.torch(*args)

    def selects(self, node: Node, dtype: DType) -> bool:
        treatment = self.row.treatment
        return treatment is not None and isinstance(treatment.result, SharedScale | ReadOnly)

    def headers(self, compute: DType, result: DType) -> tuple[str, ...]:
        """The kernel headers that the expression needs."""
        return self.row.needs if compute.kind == "f" else self.row.ci_needs

    def instruction(self, operands: tuple[tuple[str, int], ...], compute: DType, result: DType) -> loops.Instruction:
        expression = self.row.ci if self.row.ci and compute.kind != "f" else self.row.c
        if compute.kind == "b" and self.row.cb:
            expression = self.row.cb
        if self.row.result == "bool":
            expression = f"({expression}) ? 1u : 0u"
        return loops.Instruction(expression, operands, compute, result)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return pointwise_overlaps(node)

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def emit(self, node: Node, c: Step) -> None:
        c.use(*self.headers(node.inputs[-1].dtype, node.output.dtype))
        refs = tuple(("in", k) for k in range(len(node.inputs)))
        operands = [loops.broadcast(v, node.output.shape) for v in node.inputs]
        loops.pointwise(c, node.output, operands, [self.instruction(refs, node.inputs[-1].dtype, node.output.dtype)])


_SHORT = {"float16": "f16", "bfloat16": "bf16"}


class Cast(Pointwise):
    """Conversion between element types, by way of float32 where one is stored in 16 bits; `attrs["dtype"]`."""

    def __init__(self) -> None:
        super().__init__(Row("cast", "", torch.clone))

    def infer(self, node: Node) -> Result:
        return [(node.attrs["dtype"], node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[0].to(node.attrs["dtype"].torch)

    def instruction(self, operands: tuple[tuple[str, int], ...], compute: DType, result: DType) -> loops.Instruction:
        number = f"pl_from_{_SHORT[compute.name]}({{0}})" if compute.kind == "h" else "{0}"
        if result.kind == "b":
            zero = "0.0f" if compute.kind in "fh" else "0u" if compute.kind in "ub" else "0"
            expression = f"({number} != {zero}) ? 1u : 0u"
        elif result.kind == "h":
            expression = f"pl_to_{_SHORT[result.name]}({number if compute.kind in 'fh' else '(float){0}'})"
        elif result.kind == "f":
            expression = f"(float){number}"
        elif compute.kind in "fh":
            expression = f"pl_to_{'i64' if result.name in ('int64', 'uint8') else 'i32'}_f32({number})"
        else:
            expression = "{0} + 0"
        return loops.Instruction(expression, operands, compute, result)

    def headers(self, compute: DType, result: DType) -> tuple[str, ...]:
        half = ("half",) if "h" in (compute.kind, result.kind) else ()
        return (*half, "to_int_f32") if compute.kind in "fh" and result.kind in "iu" else half


@dataclass(frozen=True)
class Item:
    """One operator inside a fused loop."""

    op: str
    operands: tuple[tuple[str, int], ...]  # ("in", input number) or ("t", earlier item)
    compute: DType
    result: DType

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(f'{kind}{k}' for kind, k in self.operands)})"


class Fused(Op):
    """A chain of pointwise operators computed in one loop; `attrs["body"]` is a tuple of items."""

    def infer(self, node: Node) -> Result:
        return [(node.attrs["body"][-1].result, broadcast_shape(node.inputs))]

    def describe(self, node: Node) -> str:
        return " + ".join(item.op for item in node.attrs["body"])

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        results: list[torch.Tensor] = []
        for item in node.attrs["body"]:
            operands = [args[k] if kind == "in" else results[k] for kind, k in item.operands]
            inner = Node(item.op, [], [], {"dtype": item.result})
            results.append(op_of(item.op).reference(inner, operands))
        return results[-1].expand(node.output.shape)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return pointwise_overlaps(node)

    def emit(self, node: Node, c: Step) -> None:
        body = []
        for item in node.attrs["body"]:
            op = op_of(item.op)
            c.use(*op.headers(item.compute, item.result))
            body.append(op.instruction(item.operands, item.compute, item.result))
        operands = [loops.broadcast(v, node.output.shape) for v in node.inputs]
        loops.pointwise(c, node.output, operands, body)


_OPS: dict[str, Pointwise] = {row.name: Pointwise(row) for row in ROWS} | {"cast": Cast()}
for _name, _op in _OPS.items():
    add_op(_name, _op)
add_op("fused", Fused())


def op_of(name: str) -> Pointwise:
    return _OPS[name]


def is_pointwise(name: str) -> bool:
    return name in _OPS or name == "fused"


def broadcast_shape(values: Sequence[Value]) -> Shape:
    return tuple(np.broadcast_shapes(*(v.shape for v in values)))


def repeats(part: Shape, whole: Shape) -> bool:
    """Whether a tensor broadcasts by being repeated as a whole."""
    full = (1,) * (len(whole) - len(part)) + tuple(part)
    first = next((i for i, n in enumerate(full) if n != 1), len(full))
    return full[first:] == whole[first:]


def pointwise_overlaps(node: Node) -> dict[tuple[int, int], int]:
    """An input of the output's own shape and type may be overwritten element by element."""
    out = node.output
    return {
        (k, 0): 0 for k, value in enumerate(node.inputs)
        if value.shape == out.shape and (value.dtype == out.dtype or (out.dtype.size == 1 and value.dtype.size == 1))
    }


def promoted(operands: Sequence[Value | float | int | bool]) -> DType:
    """PyTorch's promotion: a zero-dim tensor or a number yields to a tensor of the same kind."""
    stand_ins = [
        torch.empty((1,) * min(len(o.shape), 1), dtype=o.dtype.torch) if isinstance(o, Value) else o for o in operands
    ]
    dtype = stand_ins[0].dtype if isinstance(stand_ins[0], torch.Tensor) else torch.result_type(stand_ins[0], 0)
    if len(stand_ins) > 1:
        dtype = torch.result_type(stand_ins[0], stand_ins[1])
    return from_torch(dtype)


def apply(b: Builder, name: str, *operands: Value | float | int | bool, compute: DType | None = None) -> Value:
    """Add the node of one row, with its operands brought to the compute type."""
    row = BY_NAME[name]
    typed = operands[1:] if name == "where" else operands
    compute = compute or promoted(typed)
    if row.compute == "bool":
        compute = BOOL
    elif row.compute == "float" and compute.kind != "f":
        compute = FLOAT32
    values = [b.cast(o, compute) if isinstance(o, Value) else b.scalar(o, compute) for o in typed]
    if name == "where":
        assert isinstance(operands[0], Value)
        values = [b.cast(operands[0], BOOL), *values]
    return b.node(name, values)


def _lower_row(row: Row) -> None:
    def lower(b: Builder, **arguments: Any) -> Value:
        compute = b.results[0][0] if row.result == "same" else None  # PyTorch's own promotion
        return apply(b, row.name, *list(arguments.values())[: row.arity], compute=compute)

    for aten in row.aten:
        lowers(aten, quantized=row.treatment)(lower)


for _row in ROWS:
    _lower_row(_row)
