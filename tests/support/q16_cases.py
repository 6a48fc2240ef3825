"""Integer operators of 16-bit activations: cases of one node each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import INT8, INT16, DType, Node, Quant
from pilotlight.ops.conv_transpose.int16 import make_transposed
from pilotlight.ops.dense.int16 import make_dense
from pilotlight.ops.matmul.int16 import make_qmatmul16
from pilotlight.ops.norm.int16 import make_qnorm16
from pilotlight.ops.pointwise.int16 import make_qadd16, make_qmul16
from pilotlight.ops.pointwise.table_int16 import ERROR, make_qtable16
from pilotlight.ops.pool.int16 import make_qavg_pool16, make_qmax_pool16
from pilotlight.ops.reduce.int16 import make_qmean16
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.resize.int16 import make_qresize16
from pilotlight.ops.softmax.int16 import OUTPUT, make_qsoftmax16
from pilotlight.ops.spec import NodeSpec
from support import q_cases
from support.q_cases import Make


@dataclass(frozen=True)
class Case(q_cases.Case):
    """A node whose inputs have 16 bits by default."""

    @property
    def types(self) -> tuple[DType, ...]:
        return self.dtypes or (INT16,) * len(self.shapes)

    def draw(self, rng: np.random.Generator, kind: str) -> list[torch.Tensor]:
        return [torch.from_numpy(draw(rng, t, s, kind)) for t, s in zip(self.types, self.shapes, strict=True)]


def draw(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if dtype != INT16:
        return q_cases.draw(rng, dtype, shape, kind)
    ends = np.array([-32768, 32767], np.int16)
    if kind == "random":
        return rng.integers(-32768, 32768, shape).astype(np.int16)
    return rng.choice(ends, shape) if kind == "extreme" else np.full(shape, ends[int(kind == "high")])


def scale(rng: np.random.Generator, low: float = -14.0, high: float = -11.0) -> Quant:
    return Quant(float(np.float32(2.0 ** rng.uniform(low, high))), 0)


def near(rng: np.random.Generator, like: Quant) -> Quant:
    return Quant(float(np.float32(like.scale * rng.uniform(0.4, 2.5))), 0)


def requantize(rng: np.random.Generator) -> Case:
    """From 8 to 16 bits, from 16 to 16, from 16 to 8."""
    x, shape = scale(rng), (int(rng.integers(1, 40)),)
    kind = int(rng.integers(3))
    if kind == 0:
        x = q_cases.scale(rng)
        y = Quant(x.scale, 0) if rng.random() < 0.5 else Quant(x.scale * float(rng.uniform(0.004, 0.02)), 0)
        return Case(make_rescale(x, y, 16), (shape,), (x,), y, torch.clone, 1, (INT8,))
    y = near(rng, x) if kind == 1 else Quant(x.scale * float(rng.uniform(100, 300)), q_cases.scale(rng).zero_point)
    return Case(make_rescale(x, y, 16 if kind == 1 else 8), (shape,), (x,), y, torch.clone)


def table(rng: np.random.Generator) -> Case:
    x, shape = scale(rng), (int(rng.integers(1, 12)), int(rng.integers(1, 6)))
    function = q_cases.FUNCTIONS[int(rng.integers(len(q_cases.FUNCTIONS) - 1))]
    y = Quant(float(function(torch.linspace(-1, 1, 999) * 32768 * x.scale).abs().max()) / 32767, 0)
    spec = make_qtable16(x, y, function)
    assert spec is not None, function
    return Case(spec, (shape,), (x,), y, lambda v: function(v.double()), ERROR)


def add(rng: np.random.Generator) -> Case:
    a = scale(rng)
    b, alpha = near(rng, a), float(rng.choice([1.0, 1.0, -1.0, 2.0]))
    y = Quant(near(rng, a).scale * 2, 0)
    return Case(make_qadd16(a, b, y, alpha), q_cases._broadcast(rng), (a, b), y,
                lambda p, q: p.double() + alpha * q.double())


def mul(rng: np.random.Generator) -> Case:
    a, b = scale(rng), scale(rng)
    y = Quant(a.scale * b.scale * float(2.0 ** rng.uniform(10, 17)), 0)
    return Case(make_qmul16(a, b, y), q_cases._broadcast(rng), (a, b), y, lambda p, q: p.double() * q.double())


def pool(rng: np.random.Generator) -> Case:
    """The windows of an int8 case."""
    like = q_cases.pool(rng) if rng.random() < 0.6 else q_cases.adaptive_pool(rng)
    (shape,), adaptive, x = like.shapes, "adaptive" in like.spec.op, scale(rng)
    average = "avg" in like.spec.op or "mean" in like.spec.op
    if "mean" in like.spec.op:
        return Case(make_qmean16(x, x, shape, (1, 2)), (shape,), (x,), x, lambda v: v.double().mean((1, 2), True))
    y = near(rng, x) if average else x
    pool = {k: v for k, v in like.spec.attrs.items()
            if k in ("kernel", "stride", "pad", "dilation", "count_padding", "divisor", "size")}
    spec = make_qavg_pool16(x, y, shape, pool, adaptive) if average else make_qmax_pool16(pool, adaptive)
    return Case(spec, (shape,), (x,), y, lambda v: like.real(v.double()), int(average))


def mean(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(1, 8, 4))
    first = int(rng.integers(0, 4))
    axes = tuple(range(first, int(rng.integers(first, 4)) + 1))
    x = scale(rng)
    y = near(rng, x)
    return Case(make_qmean16(x, y, shape, axes), (shape,), (x,), y, lambda v: v.double().mean(axes, keepdim=True))


def softmax(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 37])), int(rng.choice([1, 1, 3])))
    x = scale(rng, -16, -7)
    y = OUTPUT if rng.random() < 0.7 else Quant(float(rng.uniform(1, 3)) / 32767, 0)
    return Case(make_qsoftmax16(x, y, shape[1], 1), (shape,), (x,), y, lambda v: torch.softmax(v.double(), 1), 3)


def norm(rng: np.random.Generator) -> Case:
    rows, n = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 17, 64, 200]))
    x = scale(rng)
    weight, bias = rng.uniform(0.2, 2.0, n), rng.standard_normal(n)
    y = Quant(float(np.max(weight * min(4.0, n**0.5) + np.abs(bias))) / 32767, 0)
    eps, center = float(rng.choice([1e-5, 1e-2])), bool(rng.random() < 0.7)
    tensors = [torch.from_numpy(v) for v in (weight, bias)]

    def real(v: torch.Tensor) -> torch.Tensor:
        if center:
            return F.layer_norm(v.double(), (n,), *tensors, eps)
        return F.rms_norm(v.double(), (n,), tensors[0], eps) + tensors[1]

    return Case(make_qnorm16(x, y, n, eps, weight, bias, center), ((rows, n),), (x,), y, real, 3)


def resize(rng: np.random.Generator) -> Case:
    shape, attrs, real = q_cases.resizing(rng)
    x, bilinear = scale(rng), attrs["mode"] == "bilinear"
    y = near(rng, x) if bilinear else x
    # a weight is rounded to 2^-11: over the whole range of neighbours that is up to 16 steps per axis
    return Case(make_qresize16(x, y, shape, attrs), (shape,), (x,), y, real, 80 * int(bilinear))


def matmul(rng: np.random.Generator) -> Case:
    m, n = (int(v) for v in rng.integers(1, 8, 2))
    k = int(rng.choice([1, 2, 3, 7, 40]))
    lead = [((2, 3), (2, 3)), ((2,), (1,)), ((1, 1), (2, 2)), ((), ())][int(rng.integers(4))]
    transposed = bool(rng.random() < 0.5)
    a, b = scale(rng), scale(rng)
    y = Quant(a.scale * b.scale * float(2.0 ** rng.uniform(13, 18)), 0)
    shapes = ((*lead[0], m, k), (*lead[1], n, k) if transposed else (*lead[1], k, n))

    def real(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return p.double() @ (q.transpose(-1, -2) if transposed else q).double()

    return Case(make_qmatmul16(a, b, y, k, transposed), shapes, (a, b), y, real)


def _dense(rng: np.random.Generator, real: q_cases.Float, shape: tuple[int, ...], w: tuple[int, ...], attrs: dict,
           op: str) -> Case:
    """A layer with random scales: of those, some need accumulators of 64 bits."""
    x, channels = scale(rng), w[0]
    taps = int(np.prod(w[1:]))
    weight = rng.uniform(-1, 1, w) * 2.0 ** rng.uniform(-4, 0, (channels,) + (1,) * (len(w) - 1))
    if rng.random() < 0.3:
        weight = np.sign(weight) * np.abs(weight).max()
    bias = rng.standard_normal(channels) * float(rng.choice([0.1, 1.0, 1000.0]))
    scales = np.abs(weight).reshape(channels, -1).max(axis=1) / 127
    y = Quant(x.scale * float(np.abs(weight).max()) * taps**0.5 * float(rng.uniform(0.3, 3)), 0)
    narrow = bool(rng.random() < 0.25)
    if taps < 20 and not narrow and rng.random() < 0.3:  # a scale beyond one half
        y, bias = Quant(x.scale * float(scales.max()) * float(rng.uniform(0.5, 1.9)), 0), bias * 1e-6
    if narrow:
        y = Quant(y.scale * 256, q_cases.scale(rng).zero_point)
    integers, offset, m = make_dense(Node(op, [], []), x.scale, y.scale, weight, scales, bias)
    floor = np.maximum(scales, np.abs(bias) / (x.scale * 2.0**30))
    lo, hi = (-128, 127) if narrow else (-32768, 32767)
    if rng.random() < 0.3:
        lo = y.zero_point
    numbers = {"channels": channels, "zy": y.zero_point, "shift": m.shift, "down": m.down, "lo": lo, "hi": hi}
    spec = NodeSpec(op, {**attrs, **numbers, "narrow": narrow}, (integers, offset, m.value))
    shaped = floor.reshape((-1,) + (1,) * (len(w) - 1))
    dequantized = torch.from_numpy(integers * shaped), torch.from_numpy(offset * x.scale * floor)

    def limited(v: torch.Tensor) -> torch.Tensor:
        return real(v.double(), *dequantized).clamp((lo - y.zero_point) * y.scale, (hi - y.zero_point) * y.scale)

    return Case(spec, (shape,), (x,), y, limited)


def linear(rng: np.random.Generator) -> Case:
    n, i, o = int(rng.choice([1, 1, 3])), int(rng.choice([1, 3, 4, 9, 30, 600, 1100, 1500])), int(rng.integers(1, 8))
    return _dense(rng, F.linear, (n, i), (o, i), {}, "qlinear_s16")


def conv(rng: np.random.Generator) -> Case:
    groups, per_in, per_out = (int(v) for v in rng.integers(1, 5, 3))
    if rng.random() < 0.3:
        groups, per_in, per_out = int(rng.integers(2, 9)), 1, 1
    elif rng.random() < 0.2:
        groups, per_in, per_out = 1, int(rng.choice([64, 130, 200])), 2
    kernel, stride = tuple(int(v) for v in rng.integers(1, 4, 2)), tuple(int(v) for v in rng.integers(1, 3, 2))
    dilation = tuple(int(v) for v in rng.integers(1, 3, 2))
    pad = tuple(int(v) for v in rng.integers(0, 3, 4))  # top, left, bottom, right
    shape = (int(rng.integers(1, 3)), *(int(v) for v in rng.integers(5, 9, 2)), groups * per_in)
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "dilation": dilation, "groups": groups}

    def real(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        top, left, bottom, right = pad
        image = F.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
        return F.conv2d(image, w.permute(0, 3, 1, 2), b, stride, 0, dilation, groups).permute(0, 2, 3, 1)

    return _dense(rng, real, shape, (groups * per_out, *kernel, per_in), attrs, "qconv2d_s16")


def conv_transpose(rng: np.random.Generator) -> Case:
    """The shape of an int8 case."""
    like = q_cases.conv_transpose(rng)
    a = {k: like.spec.attrs[k] for k in ("kernel", "stride", "pad", "extra", "dilation", "groups", "channels")}
    x, channels, groups = scale(rng), a["channels"], a["groups"]
    (shape,) = like.shapes
    w = rng.uniform(-1, 1, (shape[3], *a["kernel"], channels // groups))
    bias = rng.standard_normal(channels) * float(rng.choice([0.1, 1000.0]))
    scales = np.full(channels, 1 / 127)
    y = Quant(x.scale * float(rng.uniform(0.5, 2)), 0)
    spec = make_transposed(Node("conv", [], []), x.scale, y.scale, w, scales, bias, a, (-32768, 32767))
    floor = np.maximum(scales, np.abs(bias) / (x.scale * 2.0**30))
    weight = torch.from_numpy(spec.constants[0] * floor[:, None, None, None])  # (O, KH, KW, I / groups)
    weight = weight.reshape(groups, -1, *weight.shape[1:]).permute(0, 4, 1, 2, 3).flatten(0, 1)
    offset = torch.from_numpy(spec.constants[1] * x.scale * floor)

    def real(v: torch.Tensor) -> torch.Tensor:
        image = v.double().permute(0, 3, 1, 2)
        z = F.conv_transpose2d(image, weight, offset, a["stride"], a["pad"], a["extra"], groups, a["dilation"])
        return z.permute(0, 2, 3, 1)

    return Case(spec, (shape,), (x,), y, real)


MAKERS: dict[str, Make] = {
    "requantize": requantize, "table": table, "add": add, "mul": mul, "pool": pool, "mean": mean, "softmax": softmax,
    "norm": norm, "resize": resize, "matmul": matmul, "linear": linear, "conv": conv,
    "conv_transpose": conv_transpose,
}
