"""Element by element."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.draw import FLOAT_CASES, INT8_CASES, INT16_CASES, Draw, both, case


@both("ADD", "SUB", "MUL", "DIV")
def _binary(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a = d.input(left)
    b = d.operand(right)
    if d.name == "DIV":
        if d.kind != "FLOAT32":
            d.graph.tensors[b].zero = [127 if d.chance() else -128]
        data = d.graph.tensors[b].data
        if data is not None:
            data[data == (127 if d.kind == "INT8" and d.graph.tensors[b].zero == [127] else -128)] = 3
    scale = 1.0
    if d.kind != "FLOAT32":
        s0, s1 = d.graph.tensors[a].scale[0], d.graph.tensors[b].scale[0]
        scale = float(np.float32((s0 * s1 * 90 if d.name == "MUL" else max(s0, s1)) * d.pick(0.5, 1.0, 1.7)))
    y = d.result(np.broadcast_shapes(left, right), **d.affine(scale))
    kind = f"{d.name.title()}Options"
    d.call([a, b], [y], options=kind, FusedActivationFunction=d.activation())


case(INT16_CASES, "ADD", "SUB", "MUL")(_binary)
del INT8_CASES["DIV"]


@both("SQUARED_DIFFERENCE")
def _squared_difference(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a, b = d.input(left), d.operand(right)
    scale = 1.0 if d.kind == "FLOAT32" else float(np.float32(
        max(d.graph.tensors[a].scale[0], d.graph.tensors[b].scale[0]) ** 2 * d.pick(50, 150, 400)))
    d.call([a, b], [d.result(np.broadcast_shapes(left, right), **d.affine(scale))])


@both("MAXIMUM", "MINIMUM")
def _extreme(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a = d.input(left)
    b = d.operand(right, **(d.like(a) if d.kind != "FLOAT32" else {}))
    d.call([a, b], [d.kept(a, np.broadcast_shapes(left, right))])


@both("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def _comparison(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a = d.input(left)
    b = d.operand(right, **(d.like(a) if d.kind != "FLOAT32" and d.chance() else {}))
    d.call([a, b], [d.result(np.broadcast_shapes(left, right), "BOOL")])


@both("PRELU")
def _prelu(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    alpha = (1,) * (len(shape) - 1) + (shape[-1],)
    b = d.operand(alpha, 0.9)
    d.call([x, b], [d.result(shape)])


@both("SELECT_V2")
def _select(d: Draw) -> None:
    shape = d.shape(1, 4)
    chosen = d.graph.input(shape if d.chance(0.7) else (*shape[:-1], 1), "BOOL")
    a = d.input(shape)
    b = d.operand(shape, **(d.like(a) if d.kind != "FLOAT32" else {}))
    d.call([chosen, a, b], [d.kept(a, shape)])


@case(FLOAT_CASES, "FLOOR_DIV", "FLOOR_MOD")
def _floor_binary(d: Draw) -> None:
    shape = d.shape(1, 4)
    d.call([d.input(shape), d.operand(shape)], [d.result(shape)])


@case(INT8_CASES, "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")
def _logical(d: Draw) -> None:
    shape = d.shape(1, 4)
    inputs = [d.graph.input(shape, "BOOL") for _ in range(1 if d.name == "LOGICAL_NOT" else 2)]
    d.call(inputs, [d.result(shape, "BOOL")])


@both("ADD_N")
def _add_n(d: Draw) -> None:
    shape = d.shape(1, 4)
    a = d.input(shape)
    rest = [d.input(shape, **(d.like(a) if d.kind != "FLOAT32" else {})) for _ in range(d.integer(1, 3))]
    d.call([a, *rest], [d.result(shape, **d.affine(None if d.kind == "FLOAT32" else d.graph.tensors[a].scale[0] * 2))])


@both("RELU", "HARD_SWISH", "TANH", "LOGISTIC", "ELU", "ABS")
@case(FLOAT_CASES, "RELU6", "EXP", "SIN", "COS", "NEG", "SQUARE", "FLOOR", "CEIL", "ROUND")
def _unary(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape, **d.affine(d.scale(0.002, 0.15)))
    affine = d.affine()
    if d.kind == "INT8":
        scale = d.graph.tensors[x].scale[0]
        affine = {
            "TANH": {"scale": 1 / 128, "zero": 0}, "LOGISTIC": {"scale": 1 / 256, "zero": -128},
            "ABS": {"scale": d.pick(scale, scale * 1.3), "zero": d.zero()},
            "HARD_SWISH": {"scale": scale * d.pick(0.6, 1.0, 1.5), "zero": d.zero()},
        }.get(d.name, affine)
    d.call([x], [d.result(shape, **affine)])


@case(INT8_CASES, "RELU6")
def _relu6(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape, **d.affine(d.scale(0.05, 0.2), d.integer(-128, 0)))
    d.call([x], [d.kept(x, shape)])


@both("LEAKY_RELU")
def _leaky(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    affine = d.affine(None if d.kind == "FLOAT32" else d.graph.tensors[x].scale[0] * d.pick(0.7, 1.0, 1.9))
    d.call([x], [d.result(shape, **affine)], options="LeakyReluOptions", Alpha=float(d.pick(0.01, 0.2, 0.5, 1.3, -0.2)))


@case(INT8_CASES, "QUANTIZE")
def _quantize(d: Draw) -> None:
    shape = d.shape(1, 4)
    kinds = d.pick(("INT8", "INT8"), ("INT8", "INT8"), ("INT16", "INT8"), ("INT8", "INT16"), ("FLOAT32", "INT8"),
                   ("FLOAT32", "INT16"), ("INT16", "INT16"), ("INT8", "INT32"), ("INT32", "INT8"))
    made = []
    for kind in kinds:
        affine = {} if kind == "FLOAT32" else {"scale": d.scale(), "zero": d.zero() if kind == "INT8" else 0}
        made.append(affine)
    x = d.graph.input(shape, kinds[0], **made[0])
    d.call([x], [d.result(shape, kinds[1], **made[1])])


@case(INT8_CASES, "DEQUANTIZE")
def _dequantize(d: Draw) -> None:
    shape, kind = d.shape(1, 4), d.pick("INT8", "INT16")
    x = d.graph.input(shape, kind, scale=d.scale(), zero=d.zero() if kind == "INT8" else 0)
    d.call([x], [d.result(shape, "FLOAT32")])


@case(INT8_CASES, "CAST")
def _cast(d: Draw) -> None:
    shape, kinds = d.shape(1, 4), ("INT8", "INT16", "INT32", "FLOAT32")
    x = d.graph.input(shape, d.pick(*kinds))
    d.call([x], [d.result(shape, d.pick(*kinds))])
