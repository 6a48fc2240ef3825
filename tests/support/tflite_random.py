"""Random models of one TensorFlow Lite operator, or of a chain, as files; each is made from its seed alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.support.tflite_models import GraphSpec, write_model

Maker = Callable[["Draw"], None]
INT8_CASES: dict[str, Maker] = {}
INT16_CASES: dict[str, Maker] = {}
FLOAT_CASES: dict[str, Maker] = {}


def case(cases: dict[str, Maker], *names: str) -> Callable[[Maker], Maker]:
    def wrap(maker: Maker) -> Maker:
        for name in names:
            assert name not in cases, name
            cases[name] = maker
        return maker

    return wrap


class Draw:
    """A model in the making and where its random choices come from."""

    def __init__(self, seed: int, name: str, kind: str = "INT8"):
        self.rng = np.random.default_rng(seed)
        self.name, self.kind = name, kind
        self.graph = GraphSpec()

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, *choices: Any) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def scale(self, low: float = 0.002, high: float = 0.4) -> float:
        return float(np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def zero(self) -> int:
        if self.kind == "INT16":
            return 0
        return self.pick(0, -128, 127, self.integer(-128, 127), self.integer(-20, 20))

    def shape(self, least: int = 1, most: int = 4, size: int = 7) -> tuple[int, ...]:
        return tuple(self.integer(1, size) for _ in range(self.integer(least, most)))

    def image(self, size: int = 9, channels: int = 9) -> tuple[int, int, int, int]:
        return self.pick(1, 1, 1, 2), self.integer(1, size), self.integer(1, size), self.integer(1, channels)

    def broadcast(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast to this one."""
        if self.chance(0.6):
            return tuple(shape), tuple(shape)
        first = self.integer(0, len(shape) - 1) if self.chance() else 0
        other = tuple(1 if self.chance(0.4) else n for n in shape)[first:]
        return (tuple(shape), other) if self.chance() else (other, tuple(shape))

    def numbers(self, shape: Sequence[int]) -> np.ndarray:
        if self.kind == "FLOAT32":
            return self.rng.standard_normal(shape).astype(np.float32)
        low, high = (-128, 127) if self.kind == "INT8" else (-32768, 32767)
        return self.rng.integers(low, high + 1, shape).astype(np.int8 if self.kind == "INT8" else np.int16)

    def affine(self, scale: float | None = None, zero: int | None = None) -> dict[str, Any]:
        if self.kind == "FLOAT32":
            return {}
        return {"scale": self.scale() if scale is None else scale, "zero": self.zero() if zero is None else zero}

    def input(self, shape: Sequence[int], **affine: Any) -> int:
        return self.graph.input(shape, self.kind, **(affine or self.affine()))

    def operand(self, shape: Sequence[int], constant: float = 0.2, **affine: Any) -> int:
        """An input, or sometimes a constant."""
        if self.chance(constant):
            return self.graph.tensor(shape, self.kind, data=self.numbers(shape), **(affine or self.affine()))
        return self.input(shape, **affine)

    def result(self, shape: Sequence[int], kind: str | None = None, **affine: Any) -> int:
        kind = kind or self.kind
        given = affine or (self.affine() if kind == self.kind else {})
        index = self.graph.tensor(shape, kind, **given)
        self.graph.outputs.append(index)
        return index

    def like(self, index: int) -> dict[str, Any]:
        """The scale of another tensor."""
        tensor = self.graph.tensors[index]
        return {"scale": tensor.scale, "zero": tensor.zero}

    def ints(self, data: Any) -> int:
        return self.graph.constant(np.asarray(data, np.int32))

    def activation(self) -> int:
        return self.pick(0, 0, 1, 2, 3)

    def call(self, inputs: Sequence[int], outputs: Sequence[int], name: str | None = None, **options: Any) -> None:
        self.graph.call(name or self.name, inputs, outputs, **options)

    def bytes(self) -> bytes:
        return write_model(self.graph)


def random_model(name: str, seed: int, kind: str = "INT8") -> bytes:
    cases = {"INT8": INT8_CASES, "INT16": INT16_CASES, "FLOAT32": FLOAT_CASES}[kind]
    draw = Draw(seed, name, kind)
    cases[name](draw)
    return draw.bytes()


def both(*names: str) -> Callable[[Maker], Maker]:
    """A case for integers and floats."""

    def wrap(maker: Maker) -> Maker:
        case(FLOAT_CASES, *names)(maker)
        return case(INT8_CASES, *names)(maker)

    return wrap


# ---- dense layers -----------------------------------------------------------------------------------------------


def _windowed(size: int, kernel: int, stride: int, dilation: int, same: bool) -> int:
    reach = (kernel - 1) * dilation + 1
    return -(-size // stride) if same else (size - reach) // stride + 1


def _weights(
    d: Draw, shape: Sequence[int], channels: int, axis: int, per_channel: bool = True
) -> tuple[int, np.ndarray]:
    if d.kind == "FLOAT32":
        return d.graph.constant(d.numbers(shape) / np.float32(np.sqrt(np.prod(shape[1:]) + 1))), np.ones(1)
    count = channels if per_channel and d.chance(0.8) else 1
    scales = np.array([d.scale(0.001, 0.05) for _ in range(count)], np.float32)
    if d.kind == "INT8" and d.chance(0.1):
        data = d.rng.integers(-8, 8, shape).astype(np.int8)
        if not (d.name == "FULLY_CONNECTED" and len(scales) > 1) and d.name != "TRANSPOSE_CONV":
            return d.graph.constant(data, scales, axis=axis, type="INT4"), scales
    data = d.rng.integers(-127, 128, shape).astype(np.int8)
    return d.graph.constant(data, scales, axis=axis), scales


def _bias(d: Draw, channels: int, scale: np.ndarray) -> list[int]:
    if d.chance(0.2):
        return []
    if d.kind == "FLOAT32":
        return [d.graph.constant(d.numbers((channels,)))]
    kind = np.int64 if d.kind == "INT16" else np.int32
    return [d.graph.constant(d.rng.integers(-3000, 3000, channels).astype(kind), scale)]


def _output_scale(d: Draw, x: float, weights: np.ndarray, terms: int) -> float:
    """Such that results fill their range, more or less."""
    if d.kind == "FLOAT32":
        return 1.0
    typical = 70.0 * 70.0 * np.sqrt(terms) * x * float(np.mean(weights)) * (256 if d.kind == "INT16" else 1)
    return float(np.float32(typical / d.pick(20, 60, 100, 300) / (256 if d.kind == "INT16" else 1)))


def _conv(d: Draw) -> None:
    depthwise = d.name == "DEPTHWISE_CONV_2D"
    n, h, w, c = d.image(10, 17)
    kernel = d.integer(1, 4), d.integer(1, 4)
    stride = (d.integer(1, 3),) * 2 if d.chance() else (d.integer(1, 3), d.integer(1, 3))
    dilation = (1, 1) if d.chance(0.8) else (d.integer(1, 2), d.integer(1, 2))
    same = d.chance() or any(n < (k - 1) * a + 1 for n, k, a in zip((h, w), kernel, dilation, strict=True))
    channels = c * d.pick(1, 1, 2, 3) if depthwise else d.integer(1, 17)
    given = c
    if not depthwise and d.chance(0.1) and d.kind != "INT16":
        groups = d.pick(2, 3)
        given, c, channels = c, c * groups, groups * d.integer(1, 4)
    x = d.input((n, h, w, c))
    shape = (1, *kernel, channels) if depthwise else (channels, *kernel, given)
    weights, scales = _weights(d, shape, channels, 3 if depthwise else 0)
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = _bias(d, channels, scales * np.float32(x_scale))
    size = [_windowed(s, k, t, a, same) for s, k, t, a in zip((h, w), kernel, stride, dilation, strict=True)]
    terms = kernel[0] * kernel[1] * (1 if depthwise else given)
    y = d.result((n, *size, channels), **d.affine(_output_scale(d, x_scale, scales, terms)))
    options: dict[str, Any] = {
        "Padding": 0 if same else 1, "StrideH": stride[0], "StrideW": stride[1], "DilationHFactor": dilation[0],
        "DilationWFactor": dilation[1], "FusedActivationFunction": d.activation(),
    }
    if depthwise:
        options["DepthMultiplier"] = channels // c
    kind = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    d.call([x, weights, *bias], [y], options=kind, **options)


both("CONV_2D", "DEPTHWISE_CONV_2D")(_conv)
case(INT16_CASES, "CONV_2D", "DEPTHWISE_CONV_2D")(_conv)


@both("FULLY_CONNECTED")
def _fully_connected(d: Draw) -> None:
    rows, inputs, outputs = d.pick(1, 1, 2, 5), d.integer(1, 70), d.integer(1, 40)
    x = d.input((rows, inputs) if d.chance(0.8) else (rows, 1, inputs))
    weights, scales = _weights(d, (outputs, inputs), outputs, 0, d.chance(0.4))
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = _bias(d, outputs, scales * np.float32(x_scale))
    y = d.result((rows, outputs), **d.affine(_output_scale(d, x_scale, scales, inputs)))
    d.call([x, weights, *(bias or [-1])], [y], options="FullyConnectedOptions", FusedActivationFunction=d.activation())


case(INT16_CASES, "FULLY_CONNECTED")(_fully_connected)


@both("TRANSPOSE_CONV")
def _transpose_conv(d: Draw) -> None:
    n, h, w, c = d.image(5, 9)
    kernel, stride, channels = (d.integer(1, 4), d.integer(1, 4)), (d.integer(1, 3), d.integer(1, 3)), d.integer(1, 9)
    same = d.chance()
    size = [s * t if same else (s - 1) * t + max(k, t) for s, k, t in zip((h, w), kernel, stride, strict=True)]
    shape = d.ints([n, *size, channels])
    weights, scales = _weights(d, (channels, *kernel, c), channels, 0)
    x = d.input((n, h, w, c))
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = _bias(d, channels, scales * np.float32(x_scale))
    y = d.result((n, *size, channels), **d.affine(_output_scale(d, x_scale, scales, kernel[0] * kernel[1] * c)))
    d.call([shape, weights, x, *bias], [y], options="TransposeConvOptions", Padding=0 if same else 1,
           StrideH=stride[0], StrideW=stride[1])


@both("BATCH_MATMUL")
def _batch_matmul(d: Draw) -> None:
    lead = tuple(d.integer(1, 3) for _ in range(d.integer(0, 2)))
    rows, inner, columns = d.integer(1, 6), d.integer(1, 12), d.integer(1, 6)
    turned = d.chance(0.3), d.chance(0.3)
    left = (*lead, inner, rows) if turned[0] else (*lead, rows, inner)
    right = (*lead, columns, inner) if turned[1] else (*lead, inner, columns)
    a, b = d.input(left), d.input(right)
    y = d.result((*lead, rows, columns), **d.affine(
        1.0 if d.kind == "FLOAT32" else float(np.float32(
            d.graph.tensors[a].scale[0] * d.graph.tensors[b].scale[0] * 60 * np.sqrt(inner)))))
    d.call([a, b], [y], options="BatchMatMulOptions", AdjX=turned[0], AdjY=turned[1])


# ---- pooling and resizing ---------------------------------------------------------------------------------------


@both("AVERAGE_POOL_2D", "MAX_POOL_2D")
@case(FLOAT_CASES, "L2_POOL_2D")
def _pool(d: Draw) -> None:
    n, h, w, c = d.image(9, 9)
    kernel, stride = (d.integer(1, 4), d.integer(1, 4)), (d.integer(1, 3), d.integer(1, 3))
    if d.chance(0.2):
        kernel = (h, w)
    same = d.chance() or kernel[0] > h or kernel[1] > w
    x = d.input((n, h, w, c))
    size = [_windowed(s, k, t, 1, same) for s, k, t in zip((h, w), kernel, stride, strict=True)]
    affine = d.like(x) if d.kind != "FLOAT32" else {}
    y = d.graph.tensor((n, *size, c), d.kind, **affine)
    d.graph.outputs.append(y)
    d.call([x], [y], options="Pool2DOptions", Padding=0 if same else 1, StrideH=stride[0], StrideW=stride[1],
           FilterHeight=kernel[0], FilterWidth=kernel[1], FusedActivationFunction=d.activation())


case(INT16_CASES, "AVERAGE_POOL_2D", "MAX_POOL_2D")(_pool)


def _same_scale(d: Draw, x: int, shape: Sequence[int]) -> int:
    y = d.graph.tensor(shape, d.graph.tensors[x].type, **(d.like(x) if d.graph.tensors[x].scale else {}))
    d.graph.outputs.append(y)
    return y


@both("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(d: Draw) -> None:
    n, h, w, c = d.image(6, 5)
    size = d.integer(1, 12), d.integer(1, 12)
    x = d.input((n, h, w, c))
    align = d.chance(0.3)
    kind = "ResizeBilinearOptions" if d.name == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    d.call([x, d.ints(size)], [_same_scale(d, x, (n, *size, c))], options=kind, AlignCorners=align,
           HalfPixelCenters=not align and d.chance())


# ---- element by element -----------------------------------------------------------------------------------------


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
    d.call([a, b], [_same_scale(d, a, np.broadcast_shapes(left, right))])


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
    d.call([chosen, a, b], [_same_scale(d, a, shape)])


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
    d.call([x], [_same_scale(d, x, shape)])


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


# ---- along axes -------------------------------------------------------------------------------------------------


@both("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
def _reduce(d: Draw) -> None:
    shape = d.shape(1, 4)
    count = d.integer(1, len(shape))
    axes = sorted(int(a) for a in d.rng.choice(len(shape), count, replace=False))
    keep = d.chance()
    x = d.input(shape)
    kept = [1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes]
    if d.name in ("REDUCE_MAX", "REDUCE_MIN"):
        y = _same_scale(d, x, kept)
    else:
        factor = np.sqrt(np.prod([shape[a] for a in axes])) if d.name == "SUM" else 0.6
        y = d.result(kept, **d.affine(None if d.kind == "FLOAT32" else float(np.float32(
            d.graph.tensors[x].scale[0] * factor))))
    given = [a - len(shape) if d.chance(0.2) else a for a in axes]
    d.call([x, d.ints(given)], [y], options="ReducerOptions", KeepDims=keep)


case(INT16_CASES, "MEAN", "SUM")(_reduce)


@case(INT8_CASES, "REDUCE_ALL")
def _all(d: Draw) -> None:
    shape = d.shape(1, 3)
    axis = d.integer(0, len(shape) - 1)
    x = d.graph.input(shape, "BOOL")
    y = d.result([n for k, n in enumerate(shape) if k != axis], "BOOL")
    d.call([x, d.ints([axis])], [y], options="ReducerOptions", KeepDims=False)


@both("ARG_MAX", "ARG_MIN")
def _arg(d: Draw) -> None:
    shape = d.shape(1, 4)
    axis = d.integer(0, len(shape) - 1)
    x = d.input(shape)
    y = d.result([n for k, n in enumerate(shape) if k != axis], "INT32")
    d.call([x, d.ints(axis)], [y], options="ArgMaxOptions" if d.name == "ARG_MAX" else "ArgMinOptions", OutputType=2)


@both("SOFTMAX")
def _softmax(d: Draw) -> None:
    shape = d.shape(1, 4, 12)
    beta = d.pick(1.0, 1.0, 0.5, 2.0)
    x = d.input(shape, **d.affine(d.scale(0.01, 0.5)))
    kind = d.kind if d.kind == "FLOAT32" else d.pick("INT8", "INT8", "INT16")
    affine = {"INT8": {"scale": 1 / 256, "zero": -128}, "INT16": {"scale": 1 / 65536, "zero": -32768}}.get(kind, {})
    d.call([x], [d.result(shape, kind, **affine)], options="SoftmaxOptions", Beta=beta)


@both("LOG_SOFTMAX")
def _log_softmax(d: Draw) -> None:
    shape = d.shape(1, 4, 12)
    x = d.input(shape, **d.affine(d.scale(0.01, 0.5)))
    d.call([x], [d.result(shape, **d.affine(16 / 256, 127))], options="LogSoftmaxOptions")


@both("L2_NORMALIZATION")
def _l2_normalization(d: Draw) -> None:
    shape = d.shape(1, 4, 9)
    d.call([d.input(shape)], [d.result(shape, **d.affine(1 / 128, 0))], options="L2NormOptions")


@both("CUMSUM")
def _cumsum(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    scale = None if d.kind == "FLOAT32" else d.graph.tensors[x].scale[0] * d.pick(1.0, 2.0)
    d.call([x, d.ints(d.integer(0, len(shape) - 1))], [d.result(shape, **d.affine(scale))], options="CumsumOptions",
           Exclusive=d.chance(0.3), Reverse=d.chance(0.3))


# ---- moving elements --------------------------------------------------------------------------------------------


@both("RESHAPE")
def _reshape(d: Draw) -> None:
    shape = d.shape(1, 4)
    size = int(np.prod(shape))
    first = d.pick(*(n for n in range(1, size + 1) if size % n == 0))
    wanted = [first, size // first]
    x = d.input(shape)
    y = _same_scale(d, x, wanted)
    if d.chance(0.3):
        d.call([x], [y], options="ReshapeOptions", NewShape=wanted)
    else:
        d.call([x, d.ints(wanted if d.chance() else [first, -1])], [y])


@both("SQUEEZE", "EXPAND_DIMS")
def _dims(d: Draw) -> None:
    shape = d.shape(1, 3)
    axis = d.integer(0, len(shape))
    wide = (*shape[:axis], 1, *shape[axis:])
    if d.name == "SQUEEZE":
        x = d.input(wide)
        d.call([x], [_same_scale(d, x, shape)], options="SqueezeOptions", SqueezeDims=[axis])
    else:
        x = d.input(shape)
        d.call([x, d.ints(axis)], [_same_scale(d, x, wide)])


@both("TRANSPOSE")
def _transpose(d: Draw) -> None:
    shape = d.shape(1, 5, 5)
    perm = [int(p) for p in d.rng.permutation(len(shape))]
    x = d.input(shape)
    d.call([x, d.ints(perm)], [_same_scale(d, x, [shape[p] for p in perm])])


@both("PACK")
def _pack(d: Draw) -> None:
    shape, count = d.shape(1, 3), d.integer(1, 3)
    axis = d.integer(0, len(shape))
    x = d.input(shape)
    more = [d.input(shape, **(d.like(x) if d.kind != "FLOAT32" else {})) for _ in range(count - 1)]
    y = _same_scale(d, x, (*shape[:axis], count, *shape[axis:]))
    d.call([x, *more], [y], options="PackOptions", Axis=axis, ValuesCount=count)


@both("UNPACK")
def _unpack(d: Draw) -> None:
    shape = d.shape(2, 4, 4)
    axis = d.integer(0, len(shape) - 1)
    x = d.input(shape)
    rest = (*shape[:axis], *shape[axis + 1 :])
    d.call([x], [_same_scale(d, x, rest) for _ in range(shape[axis])], options="UnpackOptions", Axis=axis,
           Num=shape[axis])


@both("SPLIT", "SPLIT_V")
def _split(d: Draw) -> None:
    shape = list(d.shape(1, 4, 4))
    axis, parts = d.integer(0, len(shape) - 1), d.integer(1, 4)
    sizes = [d.integer(1, 3)] * parts if d.name == "SPLIT" else [d.integer(1, 3) for _ in range(parts)]
    shape[axis] = sum(sizes)
    x = d.input(shape)
    outputs = [_same_scale(d, x, [size if k == axis else n for k, n in enumerate(shape)]) for size in sizes]
    if d.name == "SPLIT":
        d.call([d.ints([axis]), x], outputs, options="SplitOptions", NumSplits=parts)
    else:
        d.call([x, d.ints(sizes), d.ints([axis])], outputs, options="SplitVOptions", NumSplits=parts)


@both("CONCATENATION")
def _concatenation(d: Draw) -> None:
    shape, count = list(d.shape(1, 4, 5)), d.integer(1, 4)
    axis = d.integer(0, len(shape) - 1)
    sizes = [d.integer(1, 5) for _ in range(count)]
    affine = d.affine()
    parts = [d.input([s if k == axis else n for k, n in enumerate(shape)], **affine) for s in sizes]
    y = _same_scale(d, parts[0], [sum(sizes) if k == axis else n for k, n in enumerate(shape)])
    d.call(parts, [y], options="ConcatenationOptions", Axis=axis - len(shape) if d.chance(0.3) else axis)


@both("SLICE")
def _slice(d: Draw) -> None:
    shape = d.shape(1, 4)
    starts = [d.integer(0, n - 1) for n in shape]
    sizes = [d.integer(1, n - a) for n, a in zip(shape, starts, strict=True)]
    given = [-1 if a + s == n and d.chance() else s for n, a, s in zip(shape, starts, sizes, strict=True)]
    x = d.input(shape)
    d.call([x, d.ints(starts), d.ints(given)], [_same_scale(d, x, sizes)])


@both("STRIDED_SLICE")
def _strided_slice(d: Draw) -> None:
    shape = d.shape(1, 4)
    rows, masks = [], {"BeginMask": 0, "EndMask": 0, "ShrinkAxisMask": 0}
    wanted: list[int] = []
    for axis, size in enumerate(shape):
        step = d.pick(1, 1, 2, 3, -1, -2)
        start, stop = d.integer(0, size - 1), d.integer(0, size)
        if d.chance(0.15):
            masks["ShrinkAxisMask"] |= 1 << axis
            rows.append((start, start + 1, 1))
            continue
        begin_open, end_open = d.chance(0.3), d.chance(0.3)
        found = range(size)[slice(None if begin_open else start, None if end_open else stop, step)]
        if not found:
            begin_open = end_open = True
            found = range(size)[::step]
        masks["BeginMask"] |= int(begin_open) << axis
        masks["EndMask"] |= int(end_open) << axis
        rows.append((start, stop, step))
        wanted.append(len(found))
    x = d.input(shape)
    y = _same_scale(d, x, wanted or [])
    ranges = [d.ints(list(column)) for column in zip(*rows, strict=True)]
    d.call([x, *ranges], [y], options="StridedSliceOptions", **masks)


@both("PAD", "PADV2", "MIRROR_PAD")
def _pad(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    most = 3 if d.name != "MIRROR_PAD" else 0
    pads = [(d.integer(0, most or max(n - 1, 0)), d.integer(0, most or max(n - 1, 0))) for n in shape]
    x = d.input(shape)
    y = _same_scale(d, x, [n + a + b for n, (a, b) in zip(shape, pads, strict=True)])
    inputs = [x, d.ints(pads)]
    if d.name == "PADV2":
        value = d.numbers((1,))
        affine = (d.like(x)["scale"], d.like(x)["zero"]) if d.kind != "FLOAT32" else ()
        inputs.append(d.graph.constant(value, *affine))
    options = {"options": "MirrorPadOptions", "Mode": d.pick(0, 1)} if d.name == "MIRROR_PAD" else {}
    d.call(inputs, [y], **options)


@both("GATHER")
def _gather(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    axis = d.integer(0, len(shape) - 1)
    ids = d.rng.integers(0, shape[axis], d.shape(1, 2, 4)).astype(np.int32)
    x = d.input(shape)
    y = _same_scale(d, x, (*shape[:axis], *ids.shape, *shape[axis + 1 :]))
    d.call([x, d.graph.constant(ids)], [y], options="GatherOptions", Axis=axis)


@both("GATHER_ND")
def _gather_nd(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    depth, rows = d.integer(1, len(shape)), d.integer(1, 4)
    ids = np.stack([d.rng.integers(0, n, rows) for n in shape[:depth]], axis=-1).astype(np.int32)
    x = d.input(shape)
    d.call([x, d.graph.constant(ids)], [_same_scale(d, x, (rows, *shape[depth:]))])


@both("REVERSE_V2")
def _reverse(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    d.call([x, d.ints([d.integer(0, len(shape) - 1)])], [_same_scale(d, x, shape)])


@both("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def _depth(d: Draw) -> None:
    block, (n, h, w, c) = d.pick(2, 3), d.image(3, 4)
    small, large = (n, h, w, c * block * block), (n, h * block, w * block, c)
    there = d.name == "SPACE_TO_DEPTH"
    x = d.input(large if there else small)
    kind = "SpaceToDepthOptions" if there else "DepthToSpaceOptions"
    d.call([x], [_same_scale(d, x, small if there else large)], options=kind, BlockSize=block)


@both("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def _batch(d: Draw) -> None:
    n, h, w, c = d.image(3, 4)
    blocks = d.integer(1, 3), d.integer(1, 3)
    padded = d.name == "BATCH_TO_SPACE_ND"  # TFLM never sets what it pads with
    extra = [(d.integer(0, 1), d.integer(0, 1)) if padded else (0, 0) for _ in blocks]
    inner = [s * b for s, b in zip((h, w), blocks, strict=True)]
    outer = [max(s - sum(e), 1) for s, e in zip(inner, extra, strict=True)]
    extra = [(0, s - o) if s - o < sum(e) else e for s, o, e in zip(inner, outer, extra, strict=True)]
    batched, plain = (n * blocks[0] * blocks[1], h, w, c), (n, *outer, c)
    there = d.name == "SPACE_TO_BATCH_ND"
    x = d.input(plain if there else batched)
    d.call([x, d.ints(blocks), d.ints(extra)], [_same_scale(d, x, batched if there else plain)])


@both("BROADCAST_TO")
def _broadcast_to(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(tuple(1 if d.chance() else n for n in shape))
    d.call([x, d.ints(shape)], [_same_scale(d, x, shape)])


@both("FILL")
def _fill(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(())
    d.call([d.ints(shape), x], [_same_scale(d, x, shape)])


@both("ZEROS_LIKE")
def _zeros_like(d: Draw) -> None:
    shape, kind = d.shape(1, 4), d.pick("FLOAT32", "INT32", "INT64")
    d.call([d.graph.input(shape, kind)], [d.result(shape, kind)])


@both("SVDF")
def _svdf(d: Draw) -> None:
    rows, inputs, rank, units, memory = d.pick(1, 2), d.integer(1, 8), d.integer(1, 2), d.integer(1, 4), d.integer(1, 6)
    filters = rank * units
    if d.kind == "FLOAT32":
        x = d.input((rows, inputs))
        parts = [d.graph.constant(d.numbers(s)) for s in ((filters, inputs), (filters, memory), (units,))]
        state = d.graph.tensor((rows, filters * memory), "FLOAT32", variable=True)
    else:
        x = d.input((rows, inputs))
        kind = d.pick("INT16", "INT8")
        wf, wt, ss = d.scale(0.002, 0.02), d.scale(0.0005, 0.002), 0.0
        ss = float(np.float32(d.graph.tensors[x].scale[0] * wf * 40 * (1 if kind == "INT8" else 0.01)))
        parts = [
            d.graph.constant(d.rng.integers(-127, 128, (filters, inputs)).astype(np.int8), wf),
            d.graph.constant(d.rng.integers(-127, 128, (filters, memory)).astype(kind.lower()), wt),
            d.graph.constant(d.rng.integers(-3000, 3000, units).astype(np.int32), np.float32(ss) * np.float32(wt)),
        ]
        state = d.graph.tensor((rows, filters * memory), kind, ss, 0, variable=True)
    wide = d.graph.tensors[state].type == "INT16"
    scale = 1.0 if d.kind == "FLOAT32" else float(np.float32(ss * wt * (400000 if wide else 4000)))
    d.call([x, *parts, state], [d.result((rows, units), **d.affine(scale))], options="SVDFOptions", Rank=rank,
           FusedActivationFunction=0)


# ---- several operators ------------------------------------------------------------------------------------------


@both("CHAIN")
def _chain(d: Draw) -> None:
    """A small network: convolutions with a shortcut, pooling, a linear layer, softmax."""
    n, h, w, c = 1, d.integer(4, 10), d.integer(4, 10), d.integer(1, 5)
    x = d.input((n, h, w, c))
    value, channels = x, c

    def conv(given: int, depthwise: bool, out: int) -> int:
        nonlocal h, w
        inner = d.graph.tensors[given].shape[3]
        kernel, stride = d.pick(1, 3), d.pick(1, 1, 2)
        shape = (1, kernel, kernel, inner) if depthwise else (out, kernel, kernel, inner)
        weights, scales = _weights(d, shape, inner if depthwise else out, 3 if depthwise else 0)
        s = d.graph.tensors[given].scale[0] if d.kind != "FLOAT32" else 1.0
        bias = _bias(d, inner if depthwise else out, scales * np.float32(s))
        h, w = -(-h // stride), -(-w // stride)
        terms = kernel * kernel * (1 if depthwise else inner)
        affine = d.affine(_output_scale(d, s, scales, terms))
        y = d.graph.tensor((n, h, w, inner if depthwise else out), d.kind, **affine)
        options = {"Padding": 0, "StrideH": stride, "StrideW": stride, "DilationHFactor": 1, "DilationWFactor": 1,
                   "FusedActivationFunction": d.activation()}
        if depthwise:
            options["DepthMultiplier"] = 1
        d.call([given, weights, *bias], [y], "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
               options="DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **options)
        return y

    for _ in range(d.integer(1, 3)):
        channels = d.integer(1, 8)
        value = conv(value, False, channels)
        before, size = value, (h, w)
        value = conv(value, d.chance(), channels)
        if (h, w) == size:
            y = d.graph.tensor((n, h, w, channels), d.kind, **d.affine())
            d.call([before, value], [y], "ADD", options="AddOptions", FusedActivationFunction=d.activation())
            value = y
    mean = d.graph.tensor((n, channels), d.kind, **d.affine(
        None if d.kind == "FLOAT32" else d.graph.tensors[value].scale[0]))
    d.call([value, d.ints([1, 2])], [mean], "MEAN", options="ReducerOptions", KeepDims=False)
    outputs = d.integer(2, 6)
    weights, scales = _weights(d, (outputs, channels), outputs, 0, False)
    s = d.graph.tensors[mean].scale[0] if d.kind != "FLOAT32" else 1.0
    y = d.graph.tensor((n, outputs), d.kind, **d.affine(_output_scale(d, s, scales, channels)))
    d.call([mean, weights, *(_bias(d, outputs, scales * np.float32(s)) or [-1])], [y], "FULLY_CONNECTED",
           options="FullyConnectedOptions", FusedActivationFunction=0)
    d.call([y], [d.result((n, outputs), **d.affine(1 / 256, -128))], "SOFTMAX", options="SoftmaxOptions", Beta=1.0)
