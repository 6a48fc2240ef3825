"""Random networks over time, and whether their stream gives what the eager module gives over the whole recording."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate, evaluate_runs
from pilotlight.graph.streaming import FRAMES, WINDOW
from pilotlight.passes.pipeline import optimize
from pilotlight.stream.reference import window_of


class Causal(nn.Module):
    """A convolution with all of its padding before the first frame."""

    def __init__(self, channels: int, kernel: int, dilation: int):
        super().__init__()
        self.before = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(nn.functional.pad(x, (self.before, 0)))


class Chomp(nn.Module):
    """Padding on both sides, of which the end is cut off again."""

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        self.cut = kernel - 1
        self.conv = nn.Conv1d(channels, channels, kernel, padding=kernel - 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)[..., : -self.cut] if self.cut else self.conv(x)


class Skip(nn.Module):
    """Two ways with unequal delays, added or side by side."""

    def __init__(self, left: nn.Module, right: nn.Module, channels: int, joined: bool):
        super().__init__()
        self.left, self.right = left, right
        self.mix = nn.Conv1d(2 * channels, channels, 1) if joined else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.left(x), self.right(x)
        return a + b if self.mix is None else self.mix(torch.cat([a, b], 1))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], channels: int):
        super().__init__()
        self.layer = kind(channels, channels, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.transpose(1, 2))[0].transpose(1, 2)


class Features(nn.Module):
    """A norm or a softmax over the channels of each frame."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


class Delta(nn.Module):
    """The change from frame to frame."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[..., 1:] - x[..., :-1]


def same_length(channels: int, r: random.Random, exact: bool = False) -> nn.Module:
    """A layer that gives as many frames as it takes; `exact`: also for the first of them when it streams."""
    kernel, dilation = r.choice([1, 2, 3, 5]), r.choice([1, 1, 2, 3])
    odd = kernel | 1
    return r.choice([
        lambda: Causal(channels, kernel, dilation),
        lambda: Chomp(channels, kernel),
        lambda: nn.Conv1d(channels, channels, odd, padding=(odd // 2) * dilation, dilation=dilation),
        lambda: nn.Conv1d(channels, channels, odd, padding=odd // 2, groups=channels),
        lambda: nn.MaxPool1d(3, 1, 1),
        lambda: nn.AvgPool1d(3, 1, 1, count_include_pad=exact or r.random() < 0.5),
        lambda: nn.BatchNorm1d(channels),
        lambda: nn.ReLU(),
        lambda: nn.Sigmoid(),
        lambda: Features(nn.LayerNorm(channels)),
        lambda: Features(nn.Softmax(-1)),
    ])()


def random_net(seed: int, recurrent: bool = False, transposed: bool = False) -> tuple[nn.Module, int]:
    """A network (1, 2, T) → frames, and the stride that its hop must be a multiple of."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    channels, stride, inner = r.choice([2, 3, 4]), 1, 1
    layers: list[nn.Module] = [nn.Conv1d(2, channels, r.choice([1, 3, 4]), stride=(first := r.choice([1, 1, 2, 3])))]
    inner = stride = first
    for _ in range(r.randrange(2, 6)):
        choice = r.random()
        if choice < 0.15:
            step = r.choice([2, 3])
            layers.append(r.choice([
                lambda step=step: nn.MaxPool1d(step), lambda step=step: nn.AvgPool1d(step + 1, step),
                lambda step=step: nn.Conv1d(channels, channels, 3, stride=step, padding=1),
            ])())
            inner *= step
            stride = max(stride, inner)
        elif choice < 0.4:
            layers.append(Skip(same_length(channels, r, recurrent), nn.Sequential(same_length(channels, r, recurrent),
                          same_length(channels, r, recurrent)), channels, r.random() < 0.4))
        elif choice < 0.5 and not recurrent:
            layers.append(Delta())
        elif choice < 0.6 and transposed:
            layers.append(nn.ConvTranspose1d(channels, channels, r.choice([2, 3, 4]), stride=2))
        else:
            layers.append(same_length(channels, r, recurrent))
    if recurrent:
        layers.insert(r.randrange(1, len(layers) + 1), Recurrent(r.choice([nn.GRU, nn.LSTM]), channels))
    net = nn.Sequential(*layers).eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    return net, stride


def quantized(graph: Graph, x: torch.Tensor) -> Graph:
    generator = torch.Generator().manual_seed(1)
    return pl.quantize(graph, [(x,), *((torch.randn(x.shape, generator=generator),) for _ in range(3))])


def steps_of(x: torch.Tensor, hop: int, axis: int = -1) -> list[list[torch.Tensor]]:
    return [[x.narrow(axis, at, hop)] for at in range(0, x.shape[axis] - hop + 1, hop)]


def compared(step: Graph, rows: list[list[torch.Tensor]], whole: list[torch.Tensor]) -> list[tuple[torch.Tensor, ...]]:
    """(streamed, whole) for each output over frames, where both are known and the stream is warm."""
    assert step.streaming is not None
    found = []
    for k, output in enumerate(step.streaming.outputs):
        assert output.kind == FRAMES
        got = torch.cat([row[k] for row in rows], output.axis)
        last = min(got.shape[output.axis] + output.offset, whole[k].shape[output.axis])
        count = last - output.warm
        assert count > 0, "the recording ends before the stream is warm"
        found.append((got.narrow(output.axis, output.warm - output.offset, count),
                      whole[k].narrow(output.axis, output.warm, count)))
    return found


def offline_integers(graph: Graph, x: torch.Tensor) -> list[torch.Tensor]:
    """The quantized model over the whole recording, in the integers of the host reference."""
    return evaluate(optimize(graph.clone()), [x])


def integer_steps(step: Graph, x: torch.Tensor) -> list[list[torch.Tensor]]:
    assert step.streaming is not None
    return evaluate_runs(optimize(step.clone()), steps_of(x, step.streaming.hop, step.streaming.axis))


def every_kind(
    step: Graph, model: Callable[..., Sequence[torch.Tensor]], rows: list[list[torch.Tensor]],
    inputs: Sequence[torch.Tensor], length: int | None = None,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(streamed, the model's) for every output: all frames at once, other answers one by one. A model that takes one
    length alone is asked about recordings of that `length`. What padding makes different on purpose is left out."""
    streaming = step.streaming
    assert streaming is not None
    axis, hop, heard = streaming.axis, streaming.hop, inputs[0].shape[streaming.axis]
    for k, output in enumerate(streaming.outputs):
        if output.kind == FRAMES:
            if length not in (None, heard):
                continue
            whole = model(*inputs)[k]
            got = torch.cat([row[k] for row in rows], output.axis)
            count = got.shape[output.axis] + output.offset - output.unlike - output.warm
            assert output.warm + count <= whole.shape[output.axis]
            if count > 0:
                yield (got.narrow(output.axis, output.warm - output.offset, count),
                       whole.narrow(output.axis, output.warm, count))
            continue
        for n in range(output.warm, len(rows)):
            if output.kind == WINDOW:
                start, size = n * hop + streaming.start, streaming.window
                if streaming.padded or start + size > heard:
                    continue
                assert start >= 0
            else:
                start, size = 0, (n + 1) * hop - output.latency
                assert size > 0
            if length in (None, size):
                try:
                    want = model(*(x.narrow(axis, start, size) for x in inputs))[k]
                except (RuntimeError, IndexError):  # too short for the module
                    continue
                yield rows[n][k], want


def windows(step: Graph, x: torch.Tensor) -> dict[int, list[torch.Tensor]]:
    """The samples of the model's window, for each step that has one and is warm."""
    streaming = step.streaming
    assert streaming is not None
    warm = max(output.warm for output in streaming.outputs if output.kind == WINDOW)
    count = x.shape[streaming.axis] // streaming.hop
    return {n: window_of(streaming, [x[..., : (n + 1) * streaming.hop]], n) for n in range(warm, count)}
