"""Random small networks for property tests: a list of numbers becomes layers, so that failures shrink."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import nn

Gene = tuple[int, int, int]
Layer = Callable[[list[torch.Tensor]], torch.Tensor]


class RandomNet(nn.Module):
    """Each gene is (kind, which, how): a layer that reads earlier tensors and appends one.

    Genes that do not fit their operand (a pooling larger than the image) are left out.
    """

    def __init__(self, genes: list[Gene], shape: tuple[int, ...], outputs: int):
        super().__init__()
        self.outputs, self.shape = outputs, shape
        self.parts = nn.ModuleList()
        self.layers: list[Layer] = []
        tensors = [torch.randn(shape), torch.randn(shape)]
        for kind, which, how in genes:
            make = KINDS[kind % len(KINDS)]
            layer = make(self, tensors, which % len(tensors), how)
            if layer is not None:
                with torch.no_grad():
                    result = layer(tensors)
                if 0 < result.numel() <= 20_000:
                    self.layers.append(layer)
                    tensors.append(result)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        tensors = [x, y]
        for layer in self.layers:
            tensors.append(layer(tensors))
        return tuple(tensors[-self.outputs :])

    def own(self, part: nn.Module) -> nn.Module:
        self.parts.append(part.eval())
        return part


def _conv(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer | None:
    x = tensors[k]
    kernel, stride, dilation = 1 + how % 3, 1 + how // 3 % 2, 1 + how // 6 % 2
    padding = how // 12 % (kernel + 1)
    groups = x.shape[1] if how % 5 == 0 else 2 if how % 5 == 1 and x.shape[1] % 2 == 0 else 1
    out = groups * (1 + how % 4)
    reach = dilation * (kernel - 1) + 1
    if min(x.shape[2:]) + 2 * padding < reach:
        return None
    layer = net.own(nn.Conv2d(x.shape[1], out, kernel, stride, padding, dilation, groups, bias=how % 2 == 0))
    return lambda t: layer(t[k])


def _batch_norm(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    norm = nn.BatchNorm2d(tensors[k].shape[1])
    with torch.no_grad():
        for values in (norm.running_mean, norm.weight, norm.bias):
            values.normal_()
        norm.running_var.uniform_(0.5, 2.0)
    layer = net.own(norm)
    return lambda t: layer(t[k])


def _pool(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer | None:
    size, stride = 2 + how % 2, 1 + how // 2 % 2
    if min(tensors[k].shape[2:]) < size:
        return None
    pool = F.max_pool2d if how % 3 else F.avg_pool2d
    return lambda t: pool(t[k], size, stride, padding=how // 4 % 2)


def _linear(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    x = tensors[k]
    if how % 2:
        layer = net.own(nn.Linear(x.shape[3], 1 + how % 7))
        return lambda t: layer(t[k])
    flat = net.own(nn.Linear(x[0].numel(), 6))
    return lambda t: flat(t[k].flatten(1)).reshape(-1, 2, 3, 1)


def _pointwise(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    functions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        F.relu, F.relu6, torch.sigmoid, F.hardswish, torch.tanh, torch.neg, lambda x: x.clamp(-0.5, 0.25),
        lambda x: x * 1.5 - 0.25, lambda x: 1.0 - x, lambda x: torch.where(x > 0, x, x * 0.1), torch.abs,
        lambda x: x.clamp(max=0.5), F.gelu, lambda x: x / 3.0, lambda x: x.clone(),
    ]
    function = functions[how % len(functions)]
    return lambda t: function(t[k])


def _add(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    """Two tensors where their shapes go together, else one with its own mean over some dimensions."""
    j = how % len(tensors)
    function = (torch.add, torch.mul, torch.sub, torch.maximum)[how // 5 % 4]
    try:
        torch.broadcast_shapes(tensors[k].shape, tensors[j].shape)
    except RuntimeError:
        dims = [(2, 3), (1,), (3,)][how % 3]
        return lambda t: function(t[k], t[k].mean(dims, keepdim=True))
    return lambda t: function(t[k], t[j])


def _concat(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    dim = how % 4
    fits = [i for i, t in enumerate(tensors) if _but(t.shape, dim) == _but(tensors[k].shape, dim)]
    chosen = [k, *fits[: 1 + how // 4 % 3]]
    return lambda t: torch.cat([t[i] for i in chosen], dim)


def _but(shape: torch.Size, dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def _move(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    n, c, h, w = tensors[k].shape
    moves: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: x.permute(0, 1, 3, 2), lambda x: x.flip(how % 4), lambda x: x[:, : max(1, c // 2)],
        lambda x: x[:, :, ::2], lambda x: x.reshape(n, h, w, c), lambda x: x.reshape(n, c * h, 1, w),
        lambda x: F.pad(x, (1, 2, 0, 1)), lambda x: F.pad(x, (0, 1, 1, 0), value=-1.0),
        lambda x: x.permute(0, 2, 3, 1), lambda x: F.interpolate(x, scale_factor=2), lambda x: x.roll(1, how % 4),
        lambda x: x.reshape(n, c, -1, 1), lambda x: x.transpose(1, 2), lambda x: x[:, -1:], lambda x: x[..., 1:]
        if w > 1 else x + 1,
    ]
    move = moves[how % len(moves)]
    return lambda t: move(t[k])


def _reduce(net: RandomNet, tensors: list[torch.Tensor], k: int, how: int) -> Layer:
    dim = how % 4
    reductions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: torch.softmax(x, dim), lambda x: x.mean(dim, keepdim=True), lambda x: x.amax(dim, keepdim=True),
        lambda x: x.sum((2, 3), keepdim=True), lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: x.cumsum(dim),
        lambda x: F.layer_norm(x, x.shape[-1:]),
    ]
    function = reductions[how // 4 % len(reductions)]
    return lambda t: function(t[k])


KINDS = (_conv, _pointwise, _add, _move, _concat, _batch_norm, _pool, _linear, _conv, _pointwise, _reduce)

NUMBER = st.integers(0, 119)
GENES = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), NUMBER, NUMBER), min_size=1, max_size=9)
SHAPES = st.tuples(st.sampled_from([1, 1, 1, 2]), st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))


@st.composite
def networks(draw: st.DrawFn) -> RandomNet:
    """A network with two inputs of one shape and one to three outputs."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw(st.integers(0, 99)))
        return RandomNet(draw(GENES), draw(SHAPES), draw(st.integers(1, 3))).eval()


def example(net: RandomNet, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(net.shape, generator=generator), torch.randn(net.shape, generator=generator)
