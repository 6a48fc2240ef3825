"""What a model does at the end of a recording, and with its length: streamed as the module does it, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from fuzz.streams import apart_in_graphs
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.graph.streaming import FRAMES, LATEST, WINDOW
from pilotlight.passes.pipeline import optimize
from pilotlight.stream import stream
from support.streaming import every_kind

Function = Callable[..., torch.Tensor]


class Computes(nn.Module):
    def __init__(self, function: Function, *parts: nn.Module):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, *self.parts)


def example(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def made(function: Function, *parts: nn.Module, shape: Sequence[int] = (1, 2, 40)) -> pl.Graph:
    return pl.capture(Computes(function, *parts).eval(), (example(*shape),), "net")


def check(
    function: Function, *parts: nn.Module, kind: str, hop: int = 4, exact: bool = False, **shape: Sequence[int]
) -> None:
    """All that comes out of three examples' length is what the module gives."""
    torch.manual_seed(0)
    graph = made(function, *parts, **shape)
    step = stream(graph, -1, hop, exact=exact)
    (output,) = step.streaming.outputs
    assert output.kind == kind
    x = example(*graph.inputs[0].shape[:-1], 3 * graph.inputs[0].shape[-1] // hop * hop)
    rows = evaluate_runs(optimize(step.clone()), [[part] for part in x.split(hop, -1)])
    module = Computes(function, *parts).eval()
    with torch.no_grad():
        pairs = list(every_kind(step, lambda given: [module(given)], rows, [x]))
    assert pairs
    for got, want in pairs:
        torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-5)


def by_gru(x: torch.Tensor, gru: nn.Module) -> torch.Tensor:
    return gru(x.transpose(1, 2))[1]


CUT_THEN_PADDED: list[tuple[Function, tuple[nn.Module, ...]]] = [
    (lambda x: F.pad(x[..., :-2], (0, 2))[..., -1], ()),
    (lambda x, conv: conv(x[..., :-1])[..., -1], (nn.Conv1d(2, 2, 3, padding=1),)),
    (lambda x: F.max_pool1d(x, 3, ceil_mode=True).mean(-1), ()),
    (lambda x: F.avg_pool1d(x, 3, 2, ceil_mode=True)[..., -1], ()),
    (lambda x, conv: conv(x[..., :-3])[..., 1:-1].mean(-1), (nn.ConvTranspose1d(2, 2, 4, stride=2),)),
]


@pytest.mark.parametrize(("function", "parts"), CUT_THEN_PADDED)
def test_borders_at_the_end_of_a_window_are_said_or_computed(
    function: Function, parts: tuple[nn.Module, ...]
) -> None:
    """A frame that padding changed is not the newest one, though as many were cut as were padded."""
    streaming = stream(made(function, *parts), -1, 6).streaming
    assert streaming.outputs[0].kind == WINDOW and streaming.padded
    check(function, *parts, kind=WINDOW, hop=6, exact=True)


def test_padding_that_is_cut_off_again_leaves_the_newest_frame() -> None:
    for function, part in [
        (lambda x, conv: conv(x)[..., :-4][..., -1], nn.Conv1d(2, 2, 3, padding=4, dilation=2)),
        (lambda x, conv: conv(x)[..., :-2][..., -1], nn.ConvTranspose1d(2, 2, 4, stride=2)),
        (lambda x, conv: conv(F.pad(x, (0, 2))[..., :-2])[..., -1], nn.Conv1d(2, 2, 3)),
    ]:
        check(function, part, kind=LATEST)


def test_state_after_padding_in_front_is_late() -> None:
    check(lambda x, gru: by_gru(F.pad(x, (10, 0)), gru), nn.GRU(2, 3, batch_first=True), kind=LATEST)
    with pytest.raises(PilotlightError, match="its last frames have not arrived"):
        stream(made(lambda x, gru: by_gru(F.pad(x[..., :-2], (0, 2)), gru), nn.GRU(2, 3, batch_first=True)), -1, 4)


def test_frames_after_a_cut_come_when_more_samples_follow() -> None:
    for function in (lambda x: x[..., :-3], lambda x: F.pad(x[..., :-3], (1, 2)), lambda x: x[..., 1:-1].diff(dim=-1)):
        check(function, kind=FRAMES)
    step = stream(made(lambda x: x[..., :-3]), -1, 4)
    assert step.streaming.outputs[0].unlike == 3 and pl.run(step, board="host").match


def test_indices_in_a_row_are_a_slice() -> None:
    check(lambda x: x.index_select(-1, torch.arange(3, x.shape[-1])), kind=FRAMES)
    check(lambda x: x.index_select(-1, torch.arange(3, x.shape[-1] - 2)) * 2, kind=FRAMES)
    streaming = stream(made(lambda x: x.index_select(-1, torch.arange(x.shape[-1] - 2))[..., -1]), -1, 4).streaming
    assert streaming.outputs[0].kind == WINDOW  # the newest sample is not the last one that is taken


def test_one_window_is_no_frame_of_time() -> None:
    """The example has one window of five samples, so the dimension that counts them has size 1."""
    check(lambda x: x.unfold(-1, 5, 2), kind=WINDOW, shape=(1, 2, 5))


def test_complex_frames_and_products_with_still_matrices() -> None:
    check(lambda x: torch.stft(x, 32, 8, window=torch.hann_window(32), center=False, return_complex=True), kind=FRAMES,
          hop=16, shape=(1, 400))
    graph = pl.capture(Computes(lambda x: torch.bmm(x, torch.ones(40, 3, 5))), (example(40, 2, 3),))
    step, x = stream(graph, 0, 4), example(12, 2, 3)
    got = torch.cat([row[0] for row in evaluate_runs(optimize(step), [[part] for part in x.split(4)])])
    torch.testing.assert_close(got, x @ torch.ones(3, 5))


DEPENDS = "output 0 of net cannot stream: it depends on how long the recording is"


@pytest.mark.parametrize("function", [
    lambda x: x / x.shape[-1],
    lambda x: F.adaptive_avg_pool1d(x, 40),
    lambda x: x.chunk(2, -1)[0] - x.chunk(2, -1)[1],
    lambda x: x[..., -3:],
])
@pytest.mark.parametrize("exact", [False, True])
def test_frames_that_depend_on_the_length_are_refused(function: Function, exact: bool) -> None:
    with pytest.raises(PilotlightError, match=rf"{DEPENDS}; (its frames are others|of \d+ samples it has \d+ frames)"):
        stream(made(function), -1, 2, exact=exact)


@pytest.mark.parametrize("function", [
    lambda x: F.max_pool1d(x, 3, 2, ceil_mode=True)[..., -1],  # which 39 samples do not show
    lambda x: (x * x.shape[-1])[..., -1],
])
def test_last_frames_that_depend_on_the_length_are_refused(function: Function) -> None:
    graph = made(function, shape=(1, 2, 39))
    with pytest.raises(PilotlightError, match=f"{DEPENDS}; after [246] samples it is another one"):
        stream(graph, -1, 2)
    check(function, kind=WINDOW, hop=2, exact=True, shape=(1, 2, 39))


def test_the_number_of_outputs_must_not_depend_on_the_length() -> None:
    net = Computes(lambda x: (x * 2, x[..., -1]) if x.shape[-1] == 40 else (x * 2,))
    with pytest.raises(PilotlightError, match=f"{DEPENDS}; of 44 samples it gives 1 tensors, not 2"):
        stream(pl.capture(net, (example(1, 2, 40),), "net"), -1, 4)


def test_last_frames_in_int8_are_those_of_the_float_model() -> None:
    x = example(1, 2, 40)
    graph = made(lambda x, conv: (conv(x) / x.shape[-1])[..., -1], nn.Conv1d(2, 3, 3))
    with pytest.raises(PilotlightError, match=DEPENDS):
        stream(pl.quantize(graph, [(x,), (x.flip(-1),)]), -1, 4)
    with pytest.raises(PilotlightError, match=DEPENDS):  # the example is one hop
        stream(graph, -1, 40)


def test_a_crop_of_fixed_length_is_no_stream_of_frames() -> None:
    with pytest.raises(PilotlightError, match=f"{DEPENDS}; of 44 samples it has 38 frames; expected at least 42"):
        stream(made(lambda x, conv: conv(x[..., :40]), nn.Conv1d(2, 3, 3)), -1, 4)


def test_rounding_is_no_dependence_on_the_length() -> None:
    """A high-pass near 0 Hz, and small differences of large numbers: float32 has few digits left."""
    for seed in range(4):
        torch.manual_seed(seed)
        high = Computes(lambda x, part: part(x)[..., -1], pl.nn.Biquad.highpass(48000, 20))
        assert stream(pl.capture(high, (torch.randn(1, 4800) * 0.1,)), -1, 480).streaming.outputs[0].kind == LATEST
        pressure = Computes(lambda x, conv: conv(x).diff(dim=-1)[..., -1], nn.Conv1d(1, 4, 8, bias=False))
        step = stream(pl.capture(pressure, (101325 + torch.randn(1, 1, 100) * 0.1,)), -1, 4)
        assert step.streaming.outputs[0].kind == LATEST


def test_a_look_ahead_may_be_longer_than_the_example() -> None:
    check(lambda x, conv: conv(x), nn.Conv1d(2, 2, 101, padding=50), kind=FRAMES)


@pytest.mark.parametrize(("seed", "int8", "recurrent", "exact"), [
    *((seed, False, seed % 2 == 0, False) for seed in (11, 12, 13, 14, 15, 16)), (17, False, False, True),
    (640, True, False, False), (18, True, False, False),
])
def test_tangled_modules(seed: int, int8: bool, recurrent: bool, exact: bool) -> None:
    """`make fuzz-streams FUZZ_ARGS=--graphs` has more."""
    found, allowed = apart_in_graphs(seed, int8, recurrent, exact)
    assert found <= allowed


def test_slices_of_integers_are_integers_in_rings() -> None:
    """A difference of neighbours in int8: both were dequantized before they were cut."""
    torch.manual_seed(0)
    x = example(1, 2, 40)
    graph = made(lambda x, conv: conv(x).diff(dim=-1) + conv(x)[..., 1:], nn.Conv1d(2, 3, 3))
    step = optimize(stream(pl.quantize(graph, [(x,), (x.flip(-1),)]), -1, 4))
    assert {state.value.dtype.name for state in step.states} == {"int8"}
