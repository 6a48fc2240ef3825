"""Integer operators as graphs: cases of one node each, many in one model, their inputs and what they should give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import ops
from pilotlight.graph import BOOL, FLOAT32, INT8, INT16, DType, Graph, Port, Quant
from pilotlight.graph.builder import Builder
from pilotlight.ops.attention.int8 import make_qattention
from pilotlight.ops.concat.int8 import make_qconcat, make_qpad
from pilotlight.ops.conv_transpose.int8 import make_qconv_transpose2d
from pilotlight.ops.matmul.int8 import make_qmatmul
from pilotlight.ops.norm.int8 import make_qnorm
from pilotlight.ops.pointwise.int8 import make_qadd, make_qmul
from pilotlight.ops.pointwise.table_int8 import make_qtable, make_requantize
from pilotlight.ops.pool.int8 import make_qavg_pool2d, make_qmax_pool2d
from pilotlight.ops.quantize import make_dequantize, make_quantize
from pilotlight.ops.recurrent.int8 import make_qgru, make_qlstm
from pilotlight.ops.reduce.int8 import make_qmean
from pilotlight.ops.resize.float import _scale as resize_scale
from pilotlight.ops.resize.int8 import make_qresize2d
from pilotlight.ops.softmax.int8 import OUTPUT, make_qsoftmax
from pilotlight.ops.spec import NodeSpec

Float = Callable[..., torch.Tensor]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A node, its inputs with their scales, and the float operator it stands for."""

    spec: NodeSpec
    shapes: tuple[Shape, ...]
    scales: tuple[Quant, ...]
    out: Quant
    real: Float
    steps: int = 1  # how far from the float operator it may be
    dtypes: tuple[DType, ...] = ()  # of the inputs; int8 where none are given

    @property
    def types(self) -> tuple[DType, ...]:
        return self.dtypes or (INT8,) * len(self.shapes)

    def draw(self, rng: np.random.Generator, kind: str) -> list[torch.Tensor]:
        return [torch.from_numpy(draw(rng, t, s, kind)) for t, s in zip(self.types, self.shapes, strict=True)]


def draw(rng: np.random.Generator, dtype: DType, shape: Shape, kind: str) -> np.ndarray:
    """Random numbers, or nothing but the extremes."""
    if dtype == FLOAT32:
        return (rng.standard_normal(shape) * (1.0 if kind == "random" else 1e9)).astype(np.float32)
    if dtype == BOOL:
        return rng.random(shape) < {"random": 0.7, "extreme": 0.2, "low": 0.0, "high": 1.0}[kind]
    if dtype == INT16:
        return draw(rng, INT8, shape, kind).astype(np.int16) * 256
    if kind == "random":
        return rng.integers(-128, 128, shape).astype(np.int8)
    if kind == "extreme":
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return np.full(shape, -128 if kind == "low" else 127, np.int8)


KINDS = ("random", "random", "extreme", "low", "high")


def scale(rng: np.random.Generator, low: float = -6.0, high: float = -3.0) -> Quant:
    zero = int(rng.choice([-128, 127, 0, int(rng.integers(-128, 128))]))
    return Quant(float(np.float32(2.0 ** rng.uniform(low, high))), zero)


def near(rng: np.random.Generator, like: Quant) -> Quant:
    """Another scale of about the same size."""
    return Quant(float(np.float32(like.scale * rng.uniform(0.4, 2.5))), scale(rng).zero_point)


def graph_of(cases: Sequence[Case], name: str = "net") -> Graph:
    """Every case a node of its own, with inputs and outputs of its own."""
    graph = Graph(name)
    b = Builder(graph)
    for k, case in enumerate(cases):
        inputs = []
        for i, shape in enumerate(case.shapes):
            value = graph.fresh(f"x{k}_{i}", case.types[i], shape)
            graph.inputs.append(Port(value.name, value, value.shape))
            inputs.append(value)
        for i, out in enumerate(case.spec.build(b, *inputs)):
            graph.outputs.append(Port(f"y{k}_{i}", out, out.shape))
    return graph


def expected(graph: Graph, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What the operators' references give, node by node."""
    values = {v: torch.from_numpy(v.data) for v in graph.constants()}
    values |= {p.value: x for p, x in zip(graph.inputs, inputs, strict=True)}
    for node in graph.nodes:
        results = ops.get(node.op).reference(node, [values[v] for v in node.inputs])
        results = results if isinstance(results, tuple | list) else (results,)
        values.update(zip(node.outputs, results, strict=True))
    return [values[p.value] for p in graph.outputs]


def quantized(real: torch.Tensor, out: Quant) -> torch.Tensor:
    return (real.float() * (1.0 / out.scale)).round().add(out.zero_point).clamp(-128, 127).to(torch.int8)


def dequantized(x: torch.Tensor, s: Quant) -> torch.Tensor:
    return (x.float() - s.zero_point) * s.scale


# ---- cases -------------------------------------------------------------------------------------------------

Make = Callable[[np.random.Generator], Case]


def quantize(rng: np.random.Generator) -> Case:
    y, shape = scale(rng), (int(rng.integers(1, 40)),)
    return Case(make_quantize(y), (shape,), (), y, lambda x: x, 0, (FLOAT32,))


def dequantize(rng: np.random.Generator) -> Case:
    x, shape = scale(rng), (int(rng.integers(1, 40)),)
    return Case(make_dequantize(x), (shape,), (x,), x, lambda v: v, 0)


FUNCTIONS: list[Float] = [
    torch.relu, F.relu6, F.hardswish, F.hardsigmoid, torch.sigmoid, torch.tanh, F.gelu, F.silu, F.leaky_relu, torch.log,
]


def table(rng: np.random.Generator) -> Case:
    x, shape = scale(rng), (int(rng.integers(1, 12)), int(rng.integers(1, 6)))
    function = FUNCTIONS[int(rng.integers(len(FUNCTIONS) - 1))]
    y = near(rng, x)
    if rng.random() < 0.3:
        return Case(make_requantize(x, y), (shape,), (x,), y, lambda v: v, 0)
    return Case(make_qtable(x, y, function), (shape,), (x,), y, function, 0)


def _broadcast(rng: np.random.Generator) -> tuple[Shape, Shape]:
    full = tuple(int(n) for n in rng.integers(1, 6, 3))
    kinds = [(full, full), (full, full[2:]), ((1, full[1], 1), full), (full, (1,)), (full, (full[0], 1, full[2]))]
    return kinds[int(rng.integers(len(kinds)))]


def add(rng: np.random.Generator) -> Case:
    a = scale(rng)
    b, alpha = near(rng, a), float(rng.choice([1.0, 1.0, -1.0, 2.0]))
    y = Quant(near(rng, a).scale * 2, scale(rng).zero_point)
    return Case(make_qadd(a, b, y, alpha), _broadcast(rng), (a, b), y, lambda p, q: p + alpha * q)


def mul(rng: np.random.Generator) -> Case:
    a, b = scale(rng), scale(rng)
    y = Quant(a.scale * b.scale * float(2.0 ** rng.uniform(0, 8)), scale(rng).zero_point)
    return Case(make_qmul(a, b, y), _broadcast(rng), (a, b), y, lambda p, q: p * q)


def _pool_real(kind: str, pool: dict[str, object], ceil: bool) -> Float:
    def real(x: torch.Tensor) -> torch.Tensor:
        x = x.permute(0, 3, 1, 2)
        if kind == "max":
            y = F.max_pool2d(x, pool["kernel"], pool["stride"], pool["pad"], pool["dilation"], ceil_mode=ceil)
        elif kind == "avg":
            y = F.avg_pool2d(x, pool["kernel"], pool["stride"], pool["pad"], ceil, bool(pool["count_padding"]),
                             pool["divisor"] or None)
        else:
            function = F.adaptive_avg_pool2d if kind == "adaptive_avg" else F.adaptive_max_pool2d
            y = function(x, pool["size"])
        return y.permute(0, 2, 3, 1)

    return real


def pool(rng: np.random.Generator) -> Case:
    kind = str(rng.choice(["avg", "max"]))
    shape = (int(rng.integers(1, 3)), int(rng.integers(3, 8)), int(rng.integers(3, 8)), int(rng.integers(1, 7)))
    kernel, stride = tuple(int(v) for v in rng.integers(1, 4, 2)), tuple(int(v) for v in rng.integers(1, 4, 2))
    dilation = (1, 1) if kind == "avg" or rng.random() < 0.6 or max(kernel) == 3 else (2, 2)
    attrs = {
        "kernel": kernel, "stride": stride, "pad": tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel),
        "dilation": dilation, "count_padding": bool(rng.random() < 0.5),
        "divisor": int(rng.choice([0, 0, 0, 5])) if kind == "avg" else 0,
    }
    ceil = bool(rng.random() < 0.5)
    x = scale(rng)
    y = near(rng, x) if kind == "avg" else x
    real = _pool_real(kind, attrs, ceil)
    attrs["size"] = tuple(real(torch.zeros(shape)).shape[1:3])
    spec = make_qavg_pool2d(x, y, shape, attrs) if kind == "avg" else make_qmax_pool2d(attrs)
    return Case(spec, (shape,), (x,), y, real, 1 if kind == "avg" else 0)


def adaptive_pool(rng: np.random.Generator) -> Case:
    kind = str(rng.choice(["adaptive_avg", "adaptive_max"]))
    shape = (1, int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 7)))
    attrs = {"size": tuple(int(rng.integers(1, n + 1)) for n in shape[1:3])}
    x = scale(rng)
    y = near(rng, x) if kind.endswith("avg") else x
    spec = make_qavg_pool2d(x, y, shape, attrs, True) if kind.endswith("avg") else make_qmax_pool2d(attrs, True)
    return Case(spec, (shape,), (x,), y, _pool_real(kind, attrs, False), 1 if kind.endswith("avg") else 0)


def mean(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(1, 8, 4))
    first = int(rng.integers(0, 4))
    axes = tuple(range(first, int(rng.integers(first, 4)) + 1))
    x = scale(rng)
    y = near(rng, x)
    return Case(make_qmean(x, y, shape, axes), (shape,), (x,), y, lambda v: v.mean(axes, keepdim=True))


def softmax(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 37])), int(rng.choice([1, 1, 3])))
    x = scale(rng, -8, 1)
    other = Quant(float(rng.uniform(0.002, 0.01)), int(rng.integers(-128, 0)))
    y = OUTPUT if rng.random() < 0.7 else other
    return Case(make_qsoftmax(x, y, shape[1], 1), (shape,), (x,), y, lambda v: torch.softmax(v, 1), 2)


def concat(rng: np.random.Generator) -> Case:
    y = scale(rng)
    parts = tuple(y if rng.random() < 0.5 else near(rng, y) for _ in range(int(rng.integers(2, 4))))
    at = int(rng.integers(0, 3))
    common = tuple(int(v) for v in rng.integers(1, 5, 3))
    shapes = tuple((*common[:at], int(rng.integers(1, 5)), *common[at + 1 :]) for _ in parts)
    return Case(make_qconcat(parts, y, at), shapes, parts, y, lambda *v: torch.cat(v, at), 0)


def pad(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(2, 5, 3))
    x = scale(rng)
    before, after = (tuple(int(v) for v in rng.integers(-1, 3, 3)) for _ in range(2))
    before = tuple(max(b, 0) if a < 0 else b for a, b in zip(after, before, strict=True))
    flat = [v for pair in reversed(list(zip(before, after, strict=True))) for v in pair]
    return Case(make_qpad(x, before, after), (shape,), (x,), x, lambda v: F.pad(v, flat), 0)


def norm(rng: np.random.Generator) -> Case:
    rows, n = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 17, 64, 200]))
    x, y = scale(rng), scale(rng)
    weight, bias = rng.standard_normal(n), rng.standard_normal(n)
    eps, center = float(rng.choice([1e-5, 1e-2])), bool(rng.random() < 0.7)
    tensors = [torch.from_numpy(v) for v in (weight, bias)]

    def real(v: torch.Tensor) -> torch.Tensor:
        if center:
            return F.layer_norm(v.double(), (n,), *tensors, eps)
        return F.rms_norm(v.double(), (n,), tensors[0], eps) + tensors[1]

    return Case(make_qnorm(x, y, n, eps, weight, bias, center), ((rows, n),), (x,), y, real, 2)


def resizing(rng: np.random.Generator) -> tuple[Shape, dict[str, Any], Float]:
    """The shape of an image, the attributes of a resize, and the resize."""
    shape = (int(rng.integers(1, 3)), *(int(v) for v in rng.integers(1, 6, 2)), int(rng.integers(1, 4)))
    mode, align = str(rng.choice(["nearest", "nearest-exact", "bilinear", "bilinear"])), bool(rng.random() < 0.5)
    out = tuple(int(v) for v in rng.integers(1, 9, 2))
    align = align and mode == "bilinear"
    steps = tuple(resize_scale(s, o, align, None) for s, o in zip(shape[1:3], out, strict=True))
    corners = align if mode == "bilinear" else None

    def real(v: torch.Tensor) -> torch.Tensor:
        return F.interpolate(v.permute(0, 3, 1, 2), out, mode=mode, align_corners=corners).permute(0, 2, 3, 1)

    return shape, {"mode": mode, "out": out, "align": align, "scale": steps, "factors": None}, real


def resize(rng: np.random.Generator) -> Case:
    shape, attrs, real = resizing(rng)
    x, bilinear = scale(rng), attrs["mode"] == "bilinear"
    y = near(rng, x) if bilinear else x
    return Case(make_qresize2d(x, y, shape, attrs), (shape,), (x,), y, real, int(bilinear))


def matmul(rng: np.random.Generator) -> Case:
    m, k, n = (int(v) for v in rng.integers(1, 8, 3))
    lead = [((2, 3), (2, 3)), ((2,), (1,)), ((1, 1), (2, 2)), ((), ())][int(rng.integers(4))]
    transposed = bool(rng.random() < 0.5)
    a, b = scale(rng), scale(rng)
    y = Quant(a.scale * b.scale * float(2.0 ** rng.uniform(3, 10)), scale(rng).zero_point)
    shapes = ((*lead[0], m, k), (*lead[1], n, k) if transposed else (*lead[1], k, n))

    def real(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return p @ (q.transpose(-1, -2) if transposed else q)

    return Case(make_qmatmul(a, b, y, k, transposed), shapes, (a, b), y, real)


def conv_transpose(rng: np.random.Generator) -> Case:
    groups, per_in, per_out = (int(v) for v in rng.integers(1, 4, 3))
    kernel, stride = tuple(int(v) for v in rng.integers(1, 4, 2)), tuple(int(v) for v in rng.integers(1, 4, 2))
    dilation = tuple(int(v) for v in rng.integers(1, 3, 2))
    pad = tuple(int(rng.integers(0, d * (k - 1) // 2 + 1)) for k, d in zip(kernel, dilation, strict=True))
    extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation, strict=True))
    channels = groups * per_out
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "extra": extra, "dilation": dilation, "groups": groups,
             "channels": channels}
    shape = (1, *(int(v) for v in rng.integers(3, 6, 2)), groups * per_in)
    x = scale(rng)
    weight = rng.integers(-127, 128, (groups * per_in, *kernel, per_out)).astype(np.int8)
    scales, bias = 2.0 ** rng.uniform(-9, -6, channels), rng.standard_normal(channels)
    y = Quant(x.scale * float(2.0 ** rng.uniform(-1, 2)), scale(rng).zero_point)
    w = torch.from_numpy(weight.astype(np.float64) * scales.reshape(groups, 1, 1, 1, per_out).repeat(per_in, 1)
                         .reshape(groups * per_in, 1, 1, per_out)).permute(0, 3, 1, 2)

    def real(v: torch.Tensor) -> torch.Tensor:
        y = F.conv_transpose2d(v.permute(0, 3, 1, 2).double(), w, torch.from_numpy(bias), stride, pad, extra, groups,
                               dilation)
        return y.permute(0, 2, 3, 1)

    spec = make_qconv_transpose2d(x, y, weight, scales, bias, attrs)
    return Case(spec, (shape,), (x,), y, real)


def attention(rng: np.random.Generator) -> Case:
    n, groups, share, rows, keys, width, depth = (int(v) for v in rng.integers(1, 5, 7))
    keys *= int(rng.choice([1, 9]))
    q, k, v = scale(rng), scale(rng), scale(rng)
    causal, masked = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
    y = Quant(v.scale * float(2.0 ** rng.uniform(-1, 0.5)), scale(rng).zero_point)
    factor = float(rng.uniform(0.2, 1.0))
    shapes: tuple[Shape, ...] = (
        (n, groups * share, rows, width), (n, groups, keys, width), (n, groups, keys, depth)
    )
    dtypes: tuple[DType, ...] = (INT8, INT8, INT8)
    if masked:
        masks: list[Shape] = [(n, 1, rows, keys), (rows, keys), (1, 1, 1, keys)]
        shapes, dtypes = (*shapes, masks[int(rng.integers(3))]), (*dtypes, BOOL)

    def real(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, keep: torch.Tensor | None = None) -> torch.Tensor:
        seen = torch.ones(rows, keys).tril() if causal else torch.ones(rows, keys)
        seen = seen.bool() if keep is None else seen.bool() & keep
        b, c = b.repeat_interleave(share, 1), c.repeat_interleave(share, 1)
        scores = (a @ b.transpose(-1, -2) * factor).masked_fill(~seen, -torch.inf)
        return torch.softmax(scores, -1).nan_to_num(0.0) @ c

    spec = make_qattention(q, k, v, y, width, keys, factor, causal)
    return Case(spec, shapes, (q, k, v), y, real, 1, dtypes)


def _recurrent(rng: np.random.Generator, kind: str) -> Case:
    steps, batch, width, hidden = (int(v) for v in rng.integers(1, 7, 4))
    gates = 4 if kind == "lstm" else 3
    x, y = scale(rng), Quant(1 / 128, int(rng.integers(-8, 9)))
    w_x, w_h = (rng.standard_normal((gates * hidden, n)) / np.sqrt(n) for n in (width, hidden))
    biases = rng.standard_normal((2, gates * hidden)) / 2 if rng.random() < 0.8 else None
    options = {key: bool(rng.random() < 0.5) for key in ("reverse", "batch_first", "initial")}
    make = make_qlstm if kind == "lstm" else make_qgru
    spec = make(x, y, w_x, w_h, biases, **options)
    shapes: tuple[Shape, ...] = ((batch, steps, width) if options["batch_first"] else (steps, batch, width),)
    scales: tuple[Quant, ...] = (x,)
    if options["initial"]:
        shapes, scales = (*shapes, (batch, hidden)), (*scales, y)
        if kind == "lstm":
            shapes, scales = (*shapes, (batch, hidden)), (*scales, Quant(2.0**-11, 0))

    def real(v: torch.Tensor, *initial: torch.Tensor) -> torch.Tensor:
        time = 1 if options["batch_first"] else 0
        v = v.flip(time) if options["reverse"] else v
        states = [s.unsqueeze(0) for s in initial] or [torch.zeros(1, batch, hidden)] * (2 if kind == "lstm" else 1)
        weights = [torch.from_numpy(w).float() for w in (w_x, w_h, *([] if biases is None else biases))]
        rest = (biases is not None, 1, 0.0, False, False, options["batch_first"])
        out = torch.lstm(v, states, weights, *rest) if kind == "lstm" else torch.gru(v, states[0], weights, *rest)
        return out[0].flip(time) if options["reverse"] else out[0]

    dtypes = (INT8, INT8, INT16)[: len(shapes)]
    return Case(spec, shapes, scales, y, real, 16, dtypes)


def lstm(rng: np.random.Generator) -> Case:
    return _recurrent(rng, "lstm")


def gru(rng: np.random.Generator) -> Case:
    return _recurrent(rng, "gru")


MAKERS: dict[str, Make] = {
    "quantize": quantize, "dequantize": dequantize, "table": table, "add": add, "mul": mul, "pool": pool,
    "adaptive_pool": adaptive_pool, "mean": mean, "softmax": softmax, "concat": concat, "pad": pad,
    "norm": norm, "resize": resize, "matmul": matmul, "conv_transpose": conv_transpose,
    "attention": attention, "lstm": lstm, "gru": gru,
}


def large() -> list[Case]:
    """Sizes at which sums of 32 bits would overflow first."""
    rng = np.random.default_rng(9)
    s, t, y = Quant(0.05, -128), Quant(0.04, 127), Quant(0.07, 100)
    pooled = {"kernel": (30, 30), "stride": (30, 30), "pad": (0, 0), "dilation": (1, 1), "count_padding": True,
              "divisor": 0, "size": (2, 2)}
    gates = [rng.standard_normal((n, w)) / w**0.5 for n, w in ((400, 300), (400, 100), (300, 300), (300, 100))]
    hidden = Quant(1 / 128, 3)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q.double(), k.double(), v.double(), scale=0.1)

    def recur(kind: str, *weights: np.ndarray) -> Float:
        def real(x: torch.Tensor) -> torch.Tensor:
            parts = [torch.from_numpy(w).float() for w in weights]
            states = [torch.zeros(1, 1, 100)] * 2
            layer = torch.lstm if kind == "lstm" else torch.gru
            start = states if kind == "lstm" else states[0]
            return layer(x, start, parts, False, 1, 0.0, False, False, False)[0]

        return real

    flat = tuple(range(1, 3))
    return [
        Case(make_qmean(s, y, (1, 200, 200, 3), flat), ((1, 200, 200, 3),), (s,), y, lambda v: v.mean(flat, True)),
        Case(make_qavg_pool2d(s, y, (1, 60, 60, 5), pooled), ((1, 60, 60, 5),), (s,), y,
             _pool_real("avg", pooled, False)),
        Case(make_qsoftmax(s, OUTPUT, 5000, 1), ((2, 5000),), (s,), OUTPUT, lambda v: torch.softmax(v, 1), 2),
        Case(make_qsoftmax(s, Quant(1e-5, -128), 5000, 1), ((1, 5000),), (s,), Quant(1e-5, -128),
             lambda v: torch.softmax(v.double(), 1), 2),
        Case(make_qnorm(s, y, 4096, 1e-5), ((2, 4096),), (s,), y, lambda v: F.layer_norm(v.double(), (4096,)), 2),
        Case(make_qnorm(t, y, 32768, 1e-5, center=False), ((1, 32768),), (t,), y,
             lambda v: F.rms_norm(v.double(), (32768,), None, 1e-5), 2),
        Case(make_qmatmul(s, t, Quant(8.0, 0), 9000), ((3, 9000), (9000, 2)), (s, t), Quant(8.0, 0),
             lambda a, b: a.double() @ b.double()),
        Case(make_qattention(s, t, t, y, 64, 700, 0.1), ((1, 2, 3, 64), (1, 1, 700, 64), (1, 1, 700, 8)), (s, t, t), y,
             lambda q, k, v: attend(q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1))),
        Case(make_qlstm(s, hidden, *gates[:2], None), ((3, 1, 300),), (s,), hidden, recur("lstm", *gates[:2]), 16),
        Case(make_qgru(s, hidden, *gates[2:], None), ((3, 1, 300),), (s,), hidden, recur("gru", *gates[2:]), 24),
    ]
