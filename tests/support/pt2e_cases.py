"""Layers of random shapes and ranges side by side in one model, to be quantized through PT2E together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

Shape = tuple[int, ...]
Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Branch:
    """A layer and the shapes of its inputs."""

    layer: Callable[..., torch.Tensor]
    shapes: tuple[Shape, ...]


Make = Callable[[np.random.Generator], Branch]


class Branches(nn.Module):
    """Every layer with inputs and an output of its own."""

    def __init__(self, branches: list[Branch]):
        super().__init__()
        self.branches = branches
        self.modules_of = nn.ModuleList([b.layer for b in branches if isinstance(b.layer, nn.Module)])

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest = iter(inputs)
        return tuple(b.layer(*(next(rest) for _ in b.shapes)) for b in self.branches)


def draw(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def spread(layer: nn.Module, rng: np.random.Generator) -> nn.Module:
    """Filters of different sizes, some of them tiny, and biases."""
    with torch.no_grad():
        for name, p in layer.named_parameters():
            sizes = 2.0 ** rng.uniform(-4, 2, (p.shape[0], *[1] * (p.ndim - 1)))
            p.mul_(torch.from_numpy(sizes).float())
            if name.endswith("bias"):
                p.mul_(float(2.0 ** rng.uniform(-3, 3)))
    return layer


def followed(layer: nn.Module, rng: np.random.Generator) -> nn.Module:
    """Half of the layers are followed by an activation that becomes part of them."""
    return nn.Sequential(layer, [nn.ReLU(), nn.ReLU6()][draw(rng, 0, 1)]) if rng.random() < 0.5 else layer


def conv(rng: np.random.Generator) -> Branch:
    flat, groups = rng.random() < 0.25, [1, 1, 2, 3][draw(rng, 0, 3)]
    ic, oc, k = groups * draw(rng, 1, 5), groups * draw(rng, 1, 6), draw(rng, 1, 4)
    oc = ic if rng.random() < 0.3 else oc
    groups = ic if oc == ic and rng.random() < 0.5 else groups if oc % groups == 0 else 1
    kind = nn.Conv1d if flat else nn.Conv2d
    layer = kind(ic, oc, k, draw(rng, 1, 3), draw(rng, 0, k // 2), draw(rng, 1, 2), groups, bool(rng.random() < 0.8))
    size = (draw(rng, 8, 14),) if flat else (draw(rng, 7, 10), draw(rng, 7, 10))
    return Branch(followed(spread(layer, rng), rng), ((1, ic, *size),))


def transposed(rng: np.random.Generator) -> Branch:
    ic, oc, k = draw(rng, 1, 5), draw(rng, 1, 6), draw(rng, 1, 4)
    layer = nn.ConvTranspose2d(ic, oc, k, draw(rng, 1, 3), draw(rng, 0, k // 2))
    return Branch(layer, ((1, ic, draw(rng, 3, 6), draw(rng, 3, 6)),))


def linear(rng: np.random.Generator) -> Branch:
    i, o = draw(rng, 1, 60), draw(rng, 1, 20)
    return Branch(followed(spread(nn.Linear(i, o, bool(rng.random() < 0.8)), rng), rng), ((draw(rng, 1, 4), i),))


def _pair(rng: np.random.Generator) -> tuple[Shape, Shape]:
    n, c, h, w = (draw(rng, 1, 5) for _ in range(4))
    return (n, c, h, w), [(n, c, h, w), (1, c, 1, 1), (w,), (n, 1, h, w)][draw(rng, 0, 3)]


def add(rng: np.random.Generator) -> Branch:
    function = [torch.add, torch.sub, lambda a, b: F.relu(a + b), lambda a, b: F.relu6(a + b)][draw(rng, 0, 3)]
    return Branch(function, _pair(rng))


def mul(rng: np.random.Generator) -> Branch:
    return Branch(torch.mul, _pair(rng))


def pool(rng: np.random.Generator) -> Branch:
    k, s = draw(rng, 1, 4), draw(rng, 1, 3)
    layers: list[nn.Module] = [
        nn.AvgPool2d(k, s, draw(rng, 0, k // 2), count_include_pad=bool(rng.random() < 0.5)),
        nn.MaxPool2d(k, s, draw(rng, 0, k // 2)), nn.AdaptiveAvgPool2d((draw(rng, 1, 5), draw(rng, 1, 5))),
    ]
    layer: Callable[..., torch.Tensor] = layers[draw(rng, 0, 2)] if rng.random() < 0.8 else lambda x: x.mean((2, 3))
    return Branch(layer, ((draw(rng, 1, 2), draw(rng, 1, 9), draw(rng, 4, 9), draw(rng, 4, 9)),))


FUNCTIONS = [
    torch.relu, F.relu6, F.hardswish, F.hardsigmoid, torch.sigmoid, torch.tanh, F.gelu, F.silu, F.leaky_relu,
]


def table(rng: np.random.Generator) -> Branch:
    return Branch(FUNCTIONS[draw(rng, 0, len(FUNCTIONS) - 1)], ((draw(rng, 1, 5), draw(rng, 3, 40)),))


def softmax(rng: np.random.Generator) -> Branch:
    axis = draw(rng, 0, 2)
    return Branch(lambda x: F.softmax(x, axis), (tuple(draw(rng, 1, 20) for _ in range(3)),))


def norm(rng: np.random.Generator) -> Branch:
    n = draw(rng, 4, 60)
    layer: nn.Module = nn.LayerNorm(n) if rng.random() < 0.6 else nn.RMSNorm(n, eps=1e-5)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.from_numpy(rng.standard_normal(n)))
    return Branch(layer, ((draw(rng, 1, 5), n),))


def matmul(rng: np.random.Generator) -> Branch:
    b, m, k, n = (draw(rng, 1, 9) for _ in range(4))
    return Branch(torch.matmul, ((b, m, k), (b, k, n)))


def attention(rng: np.random.Generator) -> Branch:
    h, m, n, d = draw(rng, 1, 4), draw(rng, 2, 8), draw(rng, 2, 20), draw(rng, 2, 12)
    return Branch(F.scaled_dot_product_attention, ((1, h, m, d), (1, h, n, d), (1, h, n, d)))


class Sequence(nn.Module):
    """The outputs of a recurrent layer."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def lstm(rng: np.random.Generator) -> Branch:
    i = draw(rng, 2, 12)
    return Branch(Sequence(nn.LSTM(i, draw(rng, 2, 12), batch_first=True)), ((draw(rng, 1, 2), draw(rng, 2, 12), i),))


def gru(rng: np.random.Generator) -> Branch:
    i = draw(rng, 2, 12)
    return Branch(Sequence(nn.GRU(i, draw(rng, 2, 12), batch_first=True)), ((draw(rng, 1, 2), draw(rng, 2, 12), i),))


def inputs(branches: list[Branch], count: int, rng: np.random.Generator, ordinary: bool = False) -> list[Tensors]:
    """Rows of inputs; each input has a size and a centre of its own, unless they should be ordinary."""
    shapes = [shape for branch in branches for shape in branch.shapes]
    sizes = [1.0 if ordinary else float(2.0 ** rng.uniform(-5, 5)) for _ in shapes]
    centres = [0.0 if ordinary else float(rng.uniform(-2, 2)) for _ in shapes]
    return [
        [torch.from_numpy(((rng.standard_normal(s) + c) * size).astype(np.float32))
         for s, size, c in zip(shapes, sizes, centres, strict=True)]
        for _ in range(count)
    ]
