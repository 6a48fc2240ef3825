"""Element by element."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.draw import FLOAT_CASES, INT8_CASES, INT16_CASES, UINT8_CASES, Draw, both, case, every


@every("ADD", "SUB", "MUL")
@case(UINT8_CASES, "ADD", "MUL")
def _binary(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a = d.input(left)
    b = d.operand(right)
    scale = 1.0
    if d.kind != "FLOAT32":
        s0, s1 = d.graph.tensors[a].scale[0], d.graph.tensors[b].scale[0]
        scale = float(np.float32((s0 * s1 * 90 if d.name == "MUL" else max(s0, s1)) * d.pick(0.5, 1.0, 1.7)))
    y = d.result(np.broadcast_shapes(left, right), **d.affine(scale))
    kind = f"{d.name.title()}Options"
    d.call([a, b], [y], options=kind, FusedActivationFunction=d.activation())


@both("DIV")
def _div(d: Draw) -> None:
    """Scales of the result for which TFLM's last shift has at most 31 bits; divisors of 0 too."""
    left, right = d.broadcast(d.shape(1, 4))
    a, b = d.input(left), d.operand(right)
    scale = 1.0
    if d.kind == "INT8":
        ratio = d.graph.tensors[a].scale[0] / d.graph.tensors[b].scale[0]
        scale = float(np.float32(ratio / 2.0 ** d.rng.uniform(6.1, 12.0)))
    y = d.result(np.broadcast_shapes(left, right), **d.affine(scale))
    d.call([a, b], [y], options="DivOptions", FusedActivationFunction=d.activation() if d.kind == "FLOAT32" else 0)


@both("RSQRT")
@case(INT16_CASES, "RSQRT")
def _rsqrt(d: Draw) -> None:
    """Integers from zero on: TFLM stops at others."""
    shape = d.shape(1, 4)
    if d.kind == "FLOAT32":
        square = d.graph.tensor(shape, "FLOAT32")
        d.call([d.input(shape)], [square], "SQUARE")
        d.call([square], [d.result(shape)])
        return
    scale = d.scale(0.001, 0.1)
    made = {"scale": float(np.float32(d.pick(0.1, 1.0, 4.0) / np.sqrt(scale) / (128 if d.kind == "INT8" else 32768)))}
    x = d.graph.tensor(shape, d.kind, scale, -128 if d.kind == "INT8" else 0)
    if d.kind == "INT8":
        d.graph.inputs.append(x)
    else:
        d.call([d.input(shape, scale=scale, zero=0)], [x], "ABS")
    d.call([x], [d.result(shape, **made, zero=d.zero())])


@every("SQUARED_DIFFERENCE")
def _squared_difference(d: Draw) -> None:
    left, right = d.broadcast(d.shape(1, 4))
    a, b = d.input(left), d.operand(right)
    scale = 1.0 if d.kind == "FLOAT32" else float(np.float32(
        max(d.graph.tensors[a].scale[0], d.graph.tensors[b].scale[0]) ** 2 * d.pick(50, 150, 400)))
    d.call([a, b], [d.result(np.broadcast_shapes(left, right), **d.affine(scale))])


@every("MAXIMUM", "MINIMUM")
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


@every("PRELU")
def _prelu(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    alpha = (1,) * (len(shape) - 1) + (shape[-1],)
    if d.kind == "INT16":
        b = d.graph.constant(d.rng.integers(-128, 128, alpha).astype(np.int8), d.scale(), d.integer(-128, 127))
    else:
        b = d.operand(alpha, 0.9)
    d.call([x, b], [d.result(shape)])


@every("SELECT_V2")
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


@both("HARD_SWISH", "ELU")
@every("RELU", "TANH", "LOGISTIC", "ABS")
@case(FLOAT_CASES, "RELU6", "EXP", "SIN", "COS", "NEG", "SQUARE", "FLOOR", "CEIL", "ROUND")
def _unary(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape, **d.affine(d.scale(0.002, 0.15)))
    affine = d.affine()
    if d.kind == "INT16" and d.name in ("TANH", "LOGISTIC"):
        x_scale = d.pick(2.0**-12, 2.0**-11, 2.0**-13, d.scale(0.00003, 0.01))
        d.graph.tensors[x].scale = [float(np.float32(x_scale))]
        affine = {"scale": 2.0**-15, "zero": 0}
    elif d.kind != "FLOAT32":
        scale = d.graph.tensors[x].scale[0]
        affine = {
            "TANH": {"scale": 1 / 128, "zero": 0}, "LOGISTIC": {"scale": 1 / 256, "zero": -128},
            "ABS": {"scale": d.pick(scale, scale * 1.3), "zero": d.zero()},
            "HARD_SWISH": {"scale": scale * d.pick(0.6, 1.0, 1.5), "zero": d.zero()},
        }.get(d.name, affine)
    d.call([x], [d.result(shape, **affine)])


@case(INT8_CASES, "RELU6")
@case(INT16_CASES, "RELU6")
def _relu6(d: Draw) -> None:
    shape = d.shape(1, 4)
    affine = d.affine(d.scale(0.0002, 0.001)) if d.kind == "INT16" else d.affine(d.scale(0.05, 0.2), d.integer(-128, 0))
    x = d.input(shape, **affine)
    d.call([x], [d.kept(x, shape)])


@every("LEAKY_RELU")
def _leaky(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    affine = d.affine(None if d.kind == "FLOAT32" else d.graph.tensors[x].scale[0] * d.pick(0.7, 1.0, 1.9))
    d.call([x], [d.result(shape, **affine)], options="LeakyReluOptions", Alpha=float(d.pick(0.01, 0.2, 0.5, 1.3, -0.2)))


@case(INT8_CASES, "QUANTIZE")
def _quantize(d: Draw) -> None:
    shape = d.shape(1, 4)
    kinds = d.pick(("INT8", "INT8"), ("INT8", "INT8"), ("INT16", "INT8"), ("INT8", "INT16"), ("FLOAT32", "INT8"),
                   ("FLOAT32", "INT16"), ("INT16", "INT16"), ("INT8", "INT32"), ("INT32", "INT8"), ("INT16", "INT32"),
                   ("INT32", "INT16"))
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
