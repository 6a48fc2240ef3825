"""Integer operators as graphs: cases of one node each, many in one model, their inputs and what they should give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import ops
from pilotlight.capture.builder import Builder
from pilotlight.graph import FLOAT32, INT8, DType, Graph, Port
from pilotlight.ops.q_binary import make_qadd, make_qmul
from pilotlight.ops.q_concat import make_qconcat, make_qpad
from pilotlight.ops.q_mean import make_qmean
from pilotlight.ops.q_pool import make_qavg_pool2d, make_qmax_pool2d
from pilotlight.ops.q_quantize import make_dequantize, make_quantize
from pilotlight.ops.q_recipe import Affine, Recipe
from pilotlight.ops.q_softmax import OUTPUT, make_qsoftmax
from pilotlight.ops.q_table import make_qtable, make_requantize

Float = Callable[..., torch.Tensor]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A node, its inputs with their scales, and the float operator it stands for."""

    recipe: Recipe
    shapes: tuple[Shape, ...]
    scales: tuple[Affine, ...]
    out: Affine
    real: Float
    steps: int = 1  # how far from the float operator it may be
    dtype: DType = INT8

    def draw(self, rng: np.random.Generator, kind: str) -> list[torch.Tensor]:
        return [torch.from_numpy(draw(rng, self.dtype, s, kind)) for s in self.shapes]


def draw(rng: np.random.Generator, dtype: DType, shape: Shape, kind: str) -> np.ndarray:
    """Random numbers, or nothing but the extremes."""
    if dtype == FLOAT32:
        return (rng.standard_normal(shape) * (1.0 if kind == "random" else 1e9)).astype(np.float32)
    if kind == "random":
        return rng.integers(-128, 128, shape).astype(np.int8)
    if kind == "extreme":
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return np.full(shape, -128 if kind == "low" else 127, np.int8)


KINDS = ("random", "random", "extreme", "low", "high")


def scale(rng: np.random.Generator, low: float = -6.0, high: float = -3.0) -> Affine:
    zero = int(rng.choice([-128, 127, 0, int(rng.integers(-128, 128))]))
    return Affine(float(np.float32(2.0 ** rng.uniform(low, high))), zero)


def near(rng: np.random.Generator, like: Affine) -> Affine:
    """Another scale of about the same size."""
    return Affine(float(np.float32(like.scale * rng.uniform(0.4, 2.5))), scale(rng).zero)


def graph_of(cases: Sequence[Case], name: str = "net") -> Graph:
    """Every case a node of its own, with inputs and outputs of its own."""
    graph = Graph(name)
    b = Builder(graph)
    for k, case in enumerate(cases):
        inputs = []
        for i, shape in enumerate(case.shapes):
            value = graph.fresh(f"x{k}_{i}", case.dtype, shape)
            graph.inputs.append(Port(value.name, value, value.shape))
            inputs.append(value)
        for i, out in enumerate(case.recipe.build(b, *inputs)):
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


def quantized(real: torch.Tensor, out: Affine) -> torch.Tensor:
    return (real.float() * (1.0 / out.scale)).round().add(out.zero).clamp(-128, 127).to(torch.int8)


def dequantized(x: torch.Tensor, s: Affine) -> torch.Tensor:
    return (x.float() - s.zero) * s.scale


# ---- cases -------------------------------------------------------------------------------------------------

Make = Callable[[np.random.Generator], Case]


def quantize(rng: np.random.Generator) -> Case:
    y, shape = scale(rng), (int(rng.integers(1, 40)),)
    return Case(make_quantize(y), (shape,), (), y, lambda x: x, 0, FLOAT32)


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
    y = Affine(near(rng, a).scale * 2, scale(rng).zero)
    return Case(make_qadd(a, b, y, alpha), _broadcast(rng), (a, b), y, lambda p, q: p + alpha * q)


def mul(rng: np.random.Generator) -> Case:
    a, b = scale(rng), scale(rng)
    y = Affine(a.scale * b.scale * float(2.0 ** rng.uniform(0, 8)), scale(rng).zero)
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
    recipe = make_qavg_pool2d(x, y, shape, attrs) if kind == "avg" else make_qmax_pool2d(attrs)
    return Case(recipe, (shape,), (x,), y, real, 1 if kind == "avg" else 0)


def adaptive_pool(rng: np.random.Generator) -> Case:
    kind = str(rng.choice(["adaptive_avg", "adaptive_max"]))
    shape = (1, int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 7)))
    attrs = {"size": tuple(int(rng.integers(1, n + 1)) for n in shape[1:3])}
    x = scale(rng)
    y = near(rng, x) if kind.endswith("avg") else x
    recipe = make_qavg_pool2d(x, y, shape, attrs, True) if kind.endswith("avg") else make_qmax_pool2d(attrs, True)
    return Case(recipe, (shape,), (x,), y, _pool_real(kind, attrs, False), 1 if kind.endswith("avg") else 0)


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
    other = Affine(float(rng.uniform(0.002, 0.01)), int(rng.integers(-128, 0)))
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


MAKERS: dict[str, Make] = {
    "quantize": quantize, "dequantize": dequantize, "table": table, "add": add, "mul": mul, "pool": pool,
    "adaptive_pool": adaptive_pool, "mean": mean, "softmax": softmax, "concat": concat, "pad": pad,
}
