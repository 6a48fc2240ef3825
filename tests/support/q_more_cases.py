"""More integer operators as cases: norms of groups, logarithms, sums, quotients, lines, bicubic resizing, masks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import BOOL, INT8, INT16, Quant
from pilotlight.ops.attention.bias_int8 import STEP, make_qattention_bias
from pilotlight.ops.cosine_similarity import OUTPUT as COSINES
from pilotlight.ops.cosine_similarity import make_qcosine_similarity
from pilotlight.ops.norm.group_int8 import make_qgroup_norm
from pilotlight.ops.pointwise.div_int8 import make_qdiv
from pilotlight.ops.pointwise.scale_int8 import make_qscale
from pilotlight.ops.reduce.int8 import make_qsum
from pilotlight.ops.resize.bicubic_int8 import make_qbicubic2d
from pilotlight.ops.resize.float import _scale as resize_scale
from pilotlight.ops.scan.int8 import make_qcumsum
from pilotlight.ops.softmax.int8 import OUTPUT
from pilotlight.ops.softmax.log_int8 import make_qlog_softmax
from pilotlight.ops.softmax.masked_int8 import make_qmasked_softmax
from pilotlight.ops.spectrum.int8 import make_qlog_mel
from support.q_cases import Case, _broadcast, near, scale


def group_norm(rng: np.random.Generator) -> Case:
    n, pixels = int(rng.integers(1, 3)), int(rng.choice([2, 3, 20]))
    groups, width = (int(v) for v in rng.integers(1, 5, 2))
    shape = (n, pixels, groups * width)
    x, y = scale(rng), scale(rng)
    weight, bias = rng.standard_normal((2, groups * width))
    eps = float(rng.choice([1e-5, 1e-2]))
    tensors = [torch.from_numpy(v) for v in (weight, bias)]

    def real(v: torch.Tensor) -> torch.Tensor:
        return F.group_norm(v.double().movedim(-1, 1), groups, *tensors, eps).movedim(1, -1)

    return Case(make_qgroup_norm(x, y, shape, groups, eps, weight, bias), (shape,), (x,), y, real, 2)


def log_softmax(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 37])), int(rng.choice([1, 1, 3])))
    x = scale(rng, -8, 0)
    y = Quant(float(np.float32(x.scale * rng.uniform(0.5, 2.0))), int(rng.integers(0, 128)))
    return Case(make_qlog_softmax(x, y, shape[1], 1), (shape,), (x,), y, lambda v: torch.log_softmax(v.double(), 1), 1)


def lines(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(1, 6, 3))
    first = int(rng.integers(0, 3))
    last = int(rng.integers(first + 1, 4))
    x = scale(rng)
    y = near(rng, x)
    below, above, offset = rng.standard_normal((3, *shape[first:last]))
    inner = (..., *(None,) * (3 - last))
    slopes = [torch.from_numpy(v)[inner] for v in (below, above, offset)]

    def real(v: torch.Tensor) -> torch.Tensor:
        v = v.double()
        return torch.where(v < 0, v * slopes[0], v * slopes[1]) + slopes[2]

    return Case(make_qscale(x, y, (first, last), below, above, offset), (shape,), (x,), y, real)


def cumsum(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(1, 9, 3))
    at = int(rng.integers(0, 3))
    x = scale(rng)
    y = Quant(near(rng, x).scale * 4, scale(rng).zero_point)
    return Case(make_qcumsum(x, y, shape, at), (shape,), (x,), y, lambda v: v.cumsum(at))


def total(rng: np.random.Generator) -> Case:
    shape = tuple(int(v) for v in rng.integers(1, 8, 4))
    first = int(rng.integers(0, 4))
    axes = tuple(range(first, int(rng.integers(first, 4)) + 1))
    x = scale(rng)
    y = Quant(near(rng, x).scale * 4, scale(rng).zero_point)
    return Case(make_qsum(x, y, shape, axes), (shape,), (x,), y, lambda v: v.sum(axes, keepdim=True))


def div(rng: np.random.Generator) -> Case:
    a, b = scale(rng), scale(rng)
    y = Quant(float(np.float32(a.scale / b.scale * 2.0 ** rng.uniform(-5, 2))), scale(rng).zero_point)

    def real(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(p.double() / q.double(), nan=0.0, posinf=1e6, neginf=-1e6)

    return Case(make_qdiv(a, b, y), _broadcast(rng), (a, b), y, real)


def bicubic(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 3)), *(int(v) for v in rng.integers(1, 6, 2)), int(rng.integers(1, 4)))
    out, align = tuple(int(v) for v in rng.integers(1, 9, 2)), bool(rng.random() < 0.5)
    x = scale(rng)
    y = near(rng, x)
    steps = tuple(resize_scale(s, o, align, None) for s, o in zip(shape[1:3], out, strict=True))
    attrs = {"mode": "bicubic", "out": out, "align": align, "scale": steps, "factors": None}

    def real(v: torch.Tensor) -> torch.Tensor:
        return F.interpolate(v.permute(0, 3, 1, 2), out, mode="bicubic", align_corners=align).permute(0, 2, 3, 1)

    return Case(make_qbicubic2d(x, y, shape, attrs), (shape,), (x,), y, real)


def biased_attention(rng: np.random.Generator) -> Case:
    n, groups, share, rows, keys, width, depth = (int(v) for v in rng.integers(1, 5, 7))
    keys *= int(rng.choice([1, 9]))
    q, k, v = scale(rng), scale(rng), scale(rng)
    causal = bool(rng.random() < 0.3)
    y = Quant(v.scale * float(2.0 ** rng.uniform(-1, 0.5)), scale(rng).zero_point)
    factor = float(rng.uniform(0.05, 0.5))
    heads = groups * share
    mask = [(rows, keys), (n, 1, 1, keys), (heads, rows, 1), (n, heads, rows, keys)][int(rng.integers(4))]
    shapes = ((n, heads, rows, width), (n, groups, keys, width), (n, groups, keys, depth), mask)

    def real(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        seen = torch.ones(rows, keys).tril().bool() if causal else torch.ones(rows, keys).bool()
        b, c = b.repeat_interleave(share, 1), c.repeat_interleave(share, 1)
        bias = torch.where(bias <= -32, -torch.inf, bias.double())
        scores = (a.double() @ b.double().transpose(-1, -2) * factor + bias).masked_fill(~seen, -torch.inf)
        return torch.softmax(scores, -1).nan_to_num(0.0) @ c.double()

    spec = make_qattention_bias(q, k, v, y, width, keys, factor, causal)
    return Case(spec, shapes, (q, k, v, Quant(STEP, 0)), y, real, 1, (INT8, INT8, INT8, INT16))


def masked_softmax(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 37])), int(rng.choice([1, 1, 3])))
    x = scale(rng, -8, 1)
    hidden = shape[int(rng.choice([0, 1])) :]

    def real(v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.softmax(v.masked_fill(mask, -1e9), 1)

    return Case(make_qmasked_softmax(x, OUTPUT, shape[1], 1), (shape, hidden), (x,), OUTPUT, real, 2, (INT8, BOOL))


def cosine_similarity(rng: np.random.Generator) -> Case:
    shape = (int(rng.integers(1, 5)), int(rng.choice([1, 2, 10, 37])), int(rng.choice([1, 1, 3])))
    other = shape if rng.random() < 0.6 else (1, *shape[1:])
    x, z = scale(rng), scale(rng)
    y = COSINES if rng.random() < 0.7 else Quant(float(rng.uniform(0.004, 0.02)), int(rng.integers(-128, 128)))
    eps = float(rng.choice([1e-8, 0.5, 10.0]))

    def real(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.cosine_similarity(v.double(), w.double(), 1, eps).unsqueeze(1)

    return Case(make_qcosine_similarity(x, z, y, shape[1], 1, eps), (shape, other), (x, z), y, real)


def log_mel(rng: np.random.Generator) -> Case:
    """Of an offset that covers what 16-bit transforms lose, or of a small one: then only bytes are compared."""
    n = int(rng.choice([2, 4, 6, 10, 16, 24, 30, 32, 64, 128]))
    length, hop, mels = int(rng.integers(1, n + 1)), int(rng.integers(1, n + 4)), int(rng.integers(1, 7))
    shape = (*(int(v) for v in rng.integers(1, 3, int(rng.integers(0, 3)))), n + int(rng.integers(0, 3 * n)))
    window = rng.uniform(0.1, 1.0, length).astype(np.float32) * np.float32(rng.choice([1.0, 0.3, -2.0]))
    bins = np.arange(n // 2 + 1)[:, None]
    bank = np.maximum(0, 1 - np.abs(bins - rng.uniform(0, n / 2, mels)) / rng.uniform(0.5, n / 2, mels))
    bank[rng.integers(0, n // 2 + 1), rng.integers(0, mels)] += 0.1
    bank = (bank * rng.choice([1.0, 7.0, 1e-3])).astype(np.float32)
    x = Quant(float(2.0 ** int(rng.choice([-15, -15, -14, 0]))), 0)
    covered = bool(rng.random() < 0.6)
    full = (length * x.scale * 32768 * np.abs(window).max()) ** 2 * float(bank.max())
    offset = float(full * (10 ** rng.uniform(-4, 0) if covered else 10 ** rng.uniform(-14, -5)))
    y = Quant(float(rng.uniform(0.05, 0.2)), int(rng.integers(-128, 128)))
    tensors = [torch.from_numpy(v).double() for v in (window, bank)]

    def real(v: torch.Tensor) -> torch.Tensor:
        return torch.ops.pilotlight.spectrum(v.double(), *tensors, n, hop, 1.0, 2.0, offset)

    spec = make_qlog_mel(x, y, window, bank, n, hop, offset)
    return Case(spec, (shape,), (x,), y, real, 1 if covered else 255, (INT16,))


MAKERS: dict[str, Callable[[np.random.Generator], Case]] = {
    "group_norm": group_norm, "log_softmax": log_softmax, "lines": lines, "cumsum": cumsum, "sum": total, "div": div,
    "bicubic": bicubic, "biased_attention": biased_attention, "masked_softmax": masked_softmax,
    "cosine_similarity": cosine_similarity, "log_mel": log_mel,
}


def large() -> list[Case]:
    """Sizes at which sums of 32 bits would overflow first."""
    s, y = Quant(0.05, -128), Quant(0.07, 100)
    logs, sums = Quant(0.15, 127), Quant(200.0, -128)
    return [
        Case(make_qgroup_norm(s, y, (1, 64, 64, 16), 2, 1e-5), ((1, 64, 64, 16),), (s,), y,
             lambda v: F.group_norm(v.double().movedim(-1, 1), 2).movedim(1, -1), 2),
        Case(make_qlog_softmax(s, logs, 5000, 1), ((2, 5000),), (s,), logs, lambda v: torch.log_softmax(v.double(), 1)),
        Case(make_qcumsum(s, sums, (2, 40000), 1), ((2, 40000),), (s,), sums, lambda v: v.double().cumsum(1)),
        Case(make_qsum(s, sums, (1, 200, 200, 3), (1, 2)), ((1, 200, 200, 3),), (s,), sums,
             lambda v: v.double().sum((1, 2), True)),
        Case(make_qcosine_similarity(s, s, COSINES, 33000, 0), ((33000,), (33000,)), (s, s), COSINES,
             lambda v, w: torch.cosine_similarity(v.double(), w.double(), 0)[None]),
    ]
