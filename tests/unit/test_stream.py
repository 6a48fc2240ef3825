"""A stream gives what the eager module gives over the whole recording, or over each of its windows."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.graph.streaming import LATEST, WINDOW
from pilotlight.passes.pipeline import optimize
from pilotlight.stream import stream
from support.streaming import (
    compared,
    integer_steps,
    offline_integers,
    quantized,
    random_net,
    steps_of,
    windows,
)


def near(got: torch.Tensor, want: torch.Tensor) -> bool:
    return got.shape == want.shape and bool((got - want).abs().max() <= 2e-5 * want.abs().max().clamp_min(1e-6))


def streamed(step, x: torch.Tensor) -> list[list[torch.Tensor]]:
    return evaluate_runs(optimize(step.clone()), steps_of(x, step.streaming.hop, step.streaming.axis))


@pytest.mark.parametrize("seed", [0, 1, 2, 7, 9])  # `make fuzz-streams` has more
def test_random_networks_in_float(seed: int) -> None:
    net, stride = random_net(seed, recurrent=seed % 3 == 0, transposed=seed % 4 == 1)
    hop = stride * (1 + seed % 3)
    x = torch.randn(1, 2, hop * (150 // hop + 2))
    step = stream(pl.capture(net, (x,)), -1, hop)
    for got, want in compared(step, streamed(step, x), [net(x).detach()]):
        assert near(got, want)


@pytest.mark.parametrize("seed", [2, 103])
def test_random_networks_in_int8_give_the_same_bytes(seed: int) -> None:
    net, stride = random_net(seed, recurrent=seed > 100)
    x = torch.randn(1, 2, stride * 2 * (100 // (2 * stride)))
    graph = quantized(pl.capture(net, (x,)), x)
    step = stream(graph, -1, 2 * stride)
    for got, want in compared(step, integer_steps(step, x), offline_integers(graph, x)):
        assert torch.equal(got, want)


class Classifier(nn.Module):
    """Ends with an average over the window."""

    def __init__(self, padding: int = 0):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 5, stride=2, padding=padding)
        self.more = nn.Conv1d(4, 4, 3)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.more(torch.relu(self.conv(x)))).mean(-1))


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv1d(1, 2, 4, stride=3), nn.Linear(2 * 13, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.conv(x)).flatten(1))


@pytest.mark.parametrize(("net", "hop", "exact"), [
    (Classifier(), 4, False), (Classifier(), 6, True), (Classifier(2), 4, True), (Flat(), 3, False), (Flat(), 6, True),
])
def test_answers_are_those_of_each_window(net: nn.Module, hop: int, exact: bool) -> None:
    net = net.eval()
    x = torch.randn(1, 1, 120)
    step = stream(pl.capture(net, (x[..., :40],)), -1, hop, exact=exact)
    assert step.streaming.outputs[0].kind == WINDOW and not step.streaming.padded
    got, seen = streamed(step, x), windows(step, x)
    assert len(seen) > 5
    for n, window in seen.items():
        assert near(got[n][0], net(*window).detach())


def test_padding_inside_a_window_is_said() -> None:
    step = stream(pl.capture(Classifier(2).eval(), (torch.randn(1, 1, 40),)), -1, 4)
    assert len(step.streaming.padded) == 1 and step.streaming.padded[0].startswith("conv (test_stream.py:")


def test_int8_windows_give_the_same_bytes() -> None:
    x = torch.randn(1, 1, 120)
    graph = quantized(pl.capture(Classifier().eval(), (x[..., :40],)), x[..., :40])
    step = stream(graph, -1, 4)
    got = integer_steps(step, x)
    for n, window in windows(step, x).items():
        assert torch.equal(got[n][0], offline_integers(graph, *window)[0])


class LastOfAll(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.gru, self.head = nn.Conv1d(1, 4, 4, stride=2), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, h = self.gru(self.conv(x).transpose(1, 2))
        return self.head(y[:, -1]), h[0]


def test_the_last_state_is_that_of_everything_up_to_now() -> None:
    net, x = LastOfAll().eval(), torch.randn(1, 1, 64)
    step = stream(pl.capture(net, (x,)), -1, 8)
    assert [output.kind for output in step.streaming.outputs] == [LATEST, LATEST]
    late = step.streaming.outputs[0].latency
    assert late == 6  # three of four frames: the state waits for whole steps
    for n, row in enumerate(streamed(step, x)):
        if n >= step.streaming.outputs[0].warm:
            for got, want in zip(row, net(x[..., : 8 * n + 8 - late]), strict=True):
                assert near(got, want.detach())


class Framed(nn.Module):
    """Windows of samples, a product with each, and logarithms."""

    def __init__(self):
        super().__init__()
        self.register_buffer("basis", torch.randn(16, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log((x.unfold(-1, 16, 8) @ self.basis).square() + 1e-3)


@pytest.mark.parametrize("hop", [8, 24])
def test_framing_keeps_the_samples_that_frames_share(hop: int) -> None:
    net, x = Framed().eval(), torch.randn(1, 96)
    step = stream(pl.capture(net, (x,)), -1, hop)
    ((got, want),) = compared(step, streamed(step, x), [net(x)])
    assert near(got, want) and got.shape[step.streaming.outputs[0].axis] > 8
    assert step.streaming.state_bytes == 8 * 4


class TimeFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.lstm = nn.Linear(3, 4), nn.LayerNorm(4), nn.LSTM(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(torch.tanh(self.norm(self.a(x))).unsqueeze(1))[0].squeeze(1)


def test_time_may_be_any_dimension() -> None:
    net, x = TimeFirst().eval(), torch.randn(30, 3)
    step = stream(pl.capture(net, (x,)), 0, 5)
    ((got, want),) = compared(step, streamed(step, x), [net(x).detach()])
    assert near(got, want)


class Named(nn.Module):
    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return y[0] if isinstance(y, tuple) else y


class Attention(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


class Nearby(nn.Module):
    """Attention to frames before and after, with or without numbers for how far they are."""

    def __init__(self, past: int, ahead: int, real: bool):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3)
        apart = torch.arange(22)[None, :] - torch.arange(22)[:, None]
        seen = (apart >= -past) & (apart <= ahead)
        mask = torch.where(seen, -0.1 * apart.abs(), -torch.inf) if real else seen
        self.register_buffer("mask", mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(y, y, y, self.mask)


@pytest.mark.parametrize(("past", "ahead", "real", "hop"), [(5, 0, False, 2), (6, 1, True, 4), (3, 2, False, 3)])
def test_attention_to_a_bounded_past(past: int, ahead: int, real: bool, hop: int) -> None:
    net, x = Nearby(past, ahead, real).eval(), torch.randn(1, 4, 24)
    step = stream(pl.capture(net, (x,)), -1, hop)
    ((got, want),) = compared(step, streamed(step, x), [net(x).detach()])
    assert near(got, want)
    assert stream(pl.capture(net, (x,)), -1, hop, exact=True).streaming.outputs[0].kind == WINDOW


@pytest.mark.parametrize(("layer", "axis", "reason"), [
    (nn.GRU(4, 4, batch_first=True, bidirectional=True), 1, "bidirectional"),
    (nn.Softmax(1), 1, "softmax over all time"),
    (Attention(), 1, "attention over all time"),
    (nn.LayerNorm([12, 4]), 1, "normalizes over all time"),
    (nn.InstanceNorm1d(12), 2, "over all time"),
])
def test_what_cannot_stream_is_refused_by_name(layer: nn.Module, axis: int, reason: str) -> None:
    net, x = Named(layer).eval(), torch.randn(1, 12, 4)
    graph = pl.capture(net, (x,))
    with pytest.raises(PilotlightError) as found:
        stream(graph, axis, 2)
    assert reason in found.value.message and "exact" in found.value.hint
    step = stream(graph, axis, 2, exact=True)
    long = torch.cat([x, torch.randn(1, 12, 4)], axis)
    got = streamed(step, long)
    for n, window in windows(step, long).items():
        assert near(got[n][0], net(*window).detach())


def test_wrong_hops_are_refused_with_those_that_would_do() -> None:
    graph = pl.capture(nn.Sequential(nn.Conv1d(1, 2, 3, stride=3), nn.MaxPool1d(2)).eval(), (torch.randn(1, 1, 60),))
    with pytest.raises(PilotlightError, match="hop 20 is not a multiple of the stride 6") as found:
        stream(graph, -1, 20)
    assert found.value.hint == "use 18 or 24"
    with pytest.raises(PilotlightError, match="longer than the 60 samples"):
        stream(graph, -1, 66)
    with pytest.raises(PilotlightError, match="no dimension 3"):
        stream(graph, 3, 6)
    with pytest.raises(PilotlightError, match="shorter than the hop"):
        stream(graph, -1, 6, buffer=5)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("where", torch.randn(1, 1, 24))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.where


def test_numbers_that_belong_to_positions_are_refused() -> None:
    with pytest.raises(PilotlightError, match="position in the window"):
        stream(pl.capture(Positions(), (torch.randn(1, 1, 24),)), -1, 4)


def test_the_arena_does_not_grow_with_the_number_of_layers() -> None:
    """Each layer's frames are kept for the next step as soon as they are known, not at the end of the step."""

    def arena(layers: int) -> int:
        net = nn.Sequential(*(nn.Conv1d(8, 8, 9) for _ in range(layers)))
        step = stream(pl.capture(net, (torch.randn(1, 8, 100),)), -1, 4)
        return pl.compile(step).plan.arena.size

    assert arena(6) == arena(3)
