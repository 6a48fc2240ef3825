"""Random ONNX models: chains of operators with random shapes and attributes, and small quantized networks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

Shape = list[int]


class Chain:
    """Nodes one after another; `value` is the last result, of `shape`."""

    def __init__(self, seed: int, shape: Shape):
        self.chance, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.value, self.start, self.shape = "x", list(shape), list(shape)

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def noise(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((self.numbers.standard_normal(shape) * scale).astype(np.float32))

    def add(self, op: str, *more: str, inputs: list[str] | None = None, outputs: int = 1, **attributes: object) -> str:
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs or [self.value, *more], names, **attributes))
        self.value = names[0]
        return self.value

    def one_of(self, *choices: object) -> object:
        return self.chance.choice(choices)

    def model(self, opset: int = 21) -> onnx.ModelProto:
        result = helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", 1, self.start)], [result],
                                  self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        return onnx.shape_inference.infer_shapes(made)


def _function(c: Chain) -> None:
    op = str(c.one_of("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSwish", "HardSigmoid", "Softplus", "Softsign",
                      "Selu", "Celu", "Gelu", "Mish", "Erf", "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Sin"))
    c.add(op, **({"alpha": c.chance.uniform(0.01, 0.9)} if op in ("LeakyRelu", "Elu", "Celu") else {}))


def _binary(c: Chain) -> None:
    shape = [n if c.chance.random() < 0.6 else 1 for n in c.shape][c.chance.randrange(len(c.shape) + 1):]
    op = str(c.one_of("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"))
    array = c.numbers.standard_normal(shape).astype(np.float32)
    array = np.abs(array) + np.float32(0.5) if op == "Div" else np.float32(2) + 0 * array if op == "Pow" else array
    name = c.constant(array)
    c.add(op, inputs=[name, c.value] if op in ("Sub", "Max") and c.chance.random() < 0.5 else [c.value, name])


def _transpose(c: Chain) -> None:
    perm = c.chance.sample(range(len(c.shape)), len(c.shape))
    c.add("Transpose", perm=perm)
    c.shape = [c.shape[p] for p in perm]


def _reshape(c: Chain) -> None:
    total, shape = int(np.prod(c.shape)), []
    for _ in range(c.chance.randrange(1, 4)):
        size = c.chance.choice([d for d in range(1, total + 1) if total % d == 0])
        shape.append(size)
        total //= size
    c.shape = [*shape, total]
    given = list(c.shape)
    if c.chance.random() < 0.5:
        given[c.chance.randrange(len(given))] = -1
    c.add("Reshape", c.constant(np.array(given, np.int64)))


def _slice(c: Chain) -> None:
    axis = c.chance.randrange(len(c.shape))
    n = c.shape[axis]
    step = c.chance.choice([-2, -1, 1, 2])
    a, b = sorted(c.chance.sample(range(n + 1), 2))
    taken = range(n)[a:b:step] if step > 0 else range(n)[b - 1 : (a - 1 if a else None) : step]
    if not len(taken):
        return
    start, end = (a, b) if step > 0 else (b - 1, a - 1 if a else -(1 << 40))
    if step > 0 and end == n and c.chance.random() < 0.5:
        end = (1 << 62)
    arrays = [np.array([k], np.int64) for k in (start, end, axis - len(c.shape) * c.chance.randrange(2), step)]
    c.add("Slice", *map(c.constant, arrays))
    c.shape[axis] = len(taken)


def _pad(c: Chain) -> None:
    mode = str(c.one_of("constant", "reflect", "edge", "wrap"))
    most = [min(2, n - 1) if mode == "reflect" else min(2, n) for n in c.shape]
    before, after = ([c.chance.randrange(m + 1) for m in most] for _ in range(2))
    pads = c.constant(np.array(before + after, np.int64))
    c.add("Pad", pads, *([c.constant(np.float32(c.chance.uniform(-1, 1)))] if mode == "constant" else []), mode=mode)
    c.shape = [b + n + a for b, n, a in zip(before, c.shape, after, strict=True)]


def _reduce(c: Chain) -> None:
    axes = sorted(c.chance.sample(range(len(c.shape)), c.chance.randrange(1, len(c.shape) + 1)))
    keep = int(c.chance.random() < 0.5 or len(axes) == len(c.shape))
    given = c.constant(np.array([a - len(c.shape) * c.chance.randrange(2) for a in axes], np.int64))
    c.add(str(c.one_of("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                       "ReduceLogSumExp")), given, keepdims=keep)
    c.shape = [1 if k in axes else n for k, n in enumerate(c.shape) if keep or k not in axes]


def _along(c: Chain) -> None:
    axis = c.chance.randrange(-len(c.shape), len(c.shape))
    kind = c.one_of("Softmax", "LogSoftmax", "CumSum", "LpNormalization", "TopK", "Gather", "Split")
    n = c.shape[axis]
    if kind == "CumSum":
        c.add("CumSum", c.constant(np.array(axis, np.int64)), exclusive=c.chance.randrange(2),
              reverse=c.chance.randrange(2))
    elif kind == "LpNormalization":
        c.add("LpNormalization", axis=axis, p=c.chance.choice([1, 2]))
    elif kind == "TopK":
        count = c.chance.randrange(1, n + 1)
        c.add("TopK", c.constant(np.array([count], np.int64)), outputs=2, axis=axis, largest=c.chance.randrange(2))
        c.shape[axis] = count
    elif kind == "Gather":
        rows = c.numbers.integers(-n, n, c.chance.randrange(1, 4))
        c.add("Gather", c.constant(rows.astype(np.int64)), axis=axis)
        c.shape[axis] = len(rows)
    elif kind == "Split":
        parts = min(2, n)
        c.add("Split", outputs=parts, axis=axis, num_outputs=parts)
        c.add("Concat", inputs=[f"v{len(c.nodes) - 1}_{k}" for k in reversed(range(parts))], axis=axis)
    else:
        c.add(str(kind), axis=axis)


def _tile(c: Chain) -> None:
    if int(np.prod(c.shape)) > 2000:
        return
    repeats = [c.chance.choice([1, 1, 2]) for _ in c.shape]
    c.add("Tile", c.constant(np.array(repeats, np.int64)))
    c.shape = [n * r for n, r in zip(c.shape, repeats, strict=True)]


def _matmul(c: Chain) -> None:
    outputs = c.chance.randrange(1, 7)
    if len(c.shape) == 2 and c.chance.random() < 0.5:
        c.add("Gemm", c.noise(outputs, c.shape[1]), *([c.noise(outputs)] if c.chance.random() < 0.5 else []),
              transB=1, alpha=c.chance.choice([1.0, 0.5]))
    else:
        c.add("MatMul", c.noise(c.shape[-1], outputs))
    c.shape[-1] = outputs


def _norm(c: Chain) -> None:
    if len(c.shape) < 3:
        c.add("LayerNormalization", c.noise(c.shape[-1]), c.noise(c.shape[-1]))
    elif c.chance.random() < 0.5:
        axis = c.chance.randrange(1, len(c.shape))
        c.add("LayerNormalization", c.noise(*c.shape[axis:]), axis=axis, epsilon=1e-3)
    else:
        n = c.shape[1]
        c.add("BatchNormalization", c.noise(n), c.noise(n), c.noise(n),
              c.constant((0.5 + c.numbers.random(n)).astype(np.float32)))


def _window(c: Chain) -> None:
    """Convolutions and pools over images."""
    dims = len(c.shape) - 2
    if dims not in (1, 2) or min(c.shape[2:]) < 3:
        return
    kernel = [c.chance.choice([1, 2, 3]) for _ in range(dims)]
    strides = [c.chance.choice([1, 1, 2]) for _ in range(dims)]
    kind = c.one_of("Conv", "Conv", "MaxPool", "AveragePool", "LpPool", "ConvTranspose", "GlobalAveragePool")
    if kind == "GlobalAveragePool":
        c.add(str(kind))
    elif kind == "ConvTranspose":
        c.add("ConvTranspose", c.noise(c.shape[1], 3, *kernel, scale=0.3), strides=strides, kernel_shape=kernel)
    else:
        common: dict[str, object] = {"kernel_shape": kernel, "strides": strides}
        if c.chance.random() < 0.3:
            common["auto_pad"] = c.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
        else:
            common["pads"] = [c.chance.randrange(k) for k in kernel * 2]
        if kind == "Conv":
            group = c.shape[1] if c.chance.random() < 0.3 else 1
            outputs = group * c.chance.randrange(1, 4)
            if c.chance.random() < 0.3 and "pads" in common:
                common["dilations"] = [2 if n > 5 else 1 for n in c.shape[2:]]
            c.add("Conv", c.noise(outputs, c.shape[1] // group, *kernel, scale=0.3), c.noise(outputs), group=group,
                  **common)
        elif kind == "AveragePool":
            c.add("AveragePool", count_include_pad=c.chance.randrange(2), ceil_mode=c.chance.randrange(2), **common)
        else:
            c.add(str(kind), **common, **({"ceil_mode": c.chance.randrange(2)} if kind == "MaxPool" else {}))
    _measure(c)


def _resize(c: Chain) -> None:
    if len(c.shape) != 4 or max(c.shape[2:]) > 12:
        return
    mode = str(c.one_of("nearest", "linear", "cubic"))
    sizes = [*c.shape[:2], *(c.chance.randrange(2, 2 * n + 2) for n in c.shape[2:])]
    way = str(c.one_of("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"))
    more = {"nearest_mode": str(c.one_of("floor", "round_prefer_floor"))} if mode == "nearest" else {}
    c.add("Resize", "", "", c.constant(np.array(sizes, np.int64)), mode=mode, coordinate_transformation_mode=way,
          **more)
    c.shape = sizes


def _measure(c: Chain) -> None:
    """The shape that ONNX infers."""
    kind = c.model().graph.output[0].type.tensor_type
    c.shape = [int(d.dim_value) for d in kind.shape.dim]


STEPS: list[Callable[[Chain], None]] = [
    _function, _function, _binary, _binary, _transpose, _reshape, _slice, _pad, _reduce, _along, _along, _tile, _matmul,
    _norm, _window, _window, _resize,
]


def float_model(seed: int) -> onnx.ModelProto:
    chance = random.Random(seed)
    rank = chance.choice([2, 3, 4, 4])
    shape = [chance.randrange(1, 3), *(chance.randrange(1, 9) for _ in range(rank - 1))]
    if rank == 4:
        shape = [1, chance.randrange(1, 5), chance.randrange(3, 10), chance.randrange(3, 10)]
    chain = Chain(seed, shape)
    while len(chain.nodes) < 3 + seed % 5:
        chance.choice(STEPS)(chain)
        if not chain.shape or int(np.prod(chain.shape)) > 20000 or min(chain.shape) < 1:
            break
    return chain.model()


class Noise(CalibrationDataReader):
    """A few inputs to calibrate with."""

    def __init__(self, shape: Shape, seed: int, count: int = 6):
        chance = np.random.default_rng(seed)
        self.rows = [{"x": chance.standard_normal(shape).astype(np.float32)} for _ in range(count)]
        self.left = iter(self.rows)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.left, None)


def _layer(c: Chain, kind: str) -> None:
    """One layer that quantization makes integer."""
    channels = c.shape[1]
    if kind == "Conv":
        kernel, group = c.chance.choice([1, 3]), c.chance.choice([1, 1, channels])
        outputs = group * c.chance.randrange(1, 3) if group > 1 else c.chance.randrange(2, 9)
        pad = kernel // 2
        c.add("Conv", c.noise(outputs, channels // group, kernel, kernel, scale=1 / kernel), c.noise(outputs),
              pads=[pad] * 4, strides=[c.chance.choice([1, 2])] * 2, group=group)
        if c.chance.random() < 0.6:
            c.add("Relu")
        _measure(c)
    elif kind in ("Add", "Mul"):
        held = c.value
        c.add("Relu" if c.chance.random() < 0.5 else "Sigmoid")
        c.add(kind, inputs=[held, c.value])
    elif kind == "Concat":
        held = c.value
        c.add("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        c.add("Concat", inputs=[held, c.value], axis=1)
        c.shape[1] *= 2
    elif kind == "Pool":
        if min(c.shape[2:]) > 3:
            c.add(str(c.one_of("AveragePool", "MaxPool")), kernel_shape=[2, 2], strides=[2, 2])
            _measure(c)
    else:
        c.add(kind, **({"alpha": 0.1} if kind == "LeakyRelu" else {}))


LAYERS = ("Conv", "Conv", "Conv", "Add", "Mul", "Concat", "Pool", "Sigmoid", "LeakyRelu")


def quantized_model(seed: int, folder: Path, layers: int | None = None) -> tuple[onnx.ModelProto, int, str]:
    """A network that ONNX Runtime's own tools quantized, how many layers it has, and how it was quantized."""
    chance = random.Random(seed)
    chain = Chain(seed, [1, chance.randrange(1, 5), chance.randrange(4, 11), chance.randrange(4, 11)])
    count = layers or chance.randrange(1, 6)
    for k in range(count):
        _layer(chain, "Conv" if k == 0 else chance.choice(LAYERS))
    if chance.random() < 0.5:
        chain.add("GlobalAveragePool")
        chain.add("Flatten")
        outputs = chance.randrange(2, 8)
        chain.add(*("Gemm", chain.noise(outputs, chain.shape[1]), chain.noise(outputs)), transB=1)
    model = chain.model(opset=17)
    form = chance.choice(["QDQ", "QOperator"])
    activations = chance.choice(["QInt8", "QUInt8", *(["QInt16"] if form == "QDQ" else [])])
    per_channel = chance.random() < 0.5
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    source.write_bytes(model.SerializeToString())
    quantize_static(
        source, target, Noise(chain.start, seed), quant_format=QuantFormat[form], per_channel=per_channel,
        activation_type=QuantType[activations], weight_type=QuantType.QInt8, reduce_range=chance.random() < 0.3,
        extra_options={"ActivationSymmetric": activations == "QInt16" or chance.random() < 0.3,
                       "WeightSymmetric": True},
    )
    held = sum(n.op_type not in ("QuantizeLinear", "DequantizeLinear") for n in onnx.load(target).graph.node)
    return onnx.load(target), held, f"{form} {activations}{' per channel' if per_channel else ''}"
