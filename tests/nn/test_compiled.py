"""Modules of pilotlight.nn through the compiler, against themselves run eagerly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight import nn
from pilotlight.graph import INT16, Graph, Port, Quant
from pilotlight.graph.builder import Builder
from pilotlight.graph.evaluate import evaluate
from pilotlight.ops.spectrum.int8 import make_qlog_mel
from support.c_compilers import SANITIZERS


def sound(*shape: int, seed: int = 0, level: float = 0.5) -> torch.Tensor:
    """Tones that come and go, and a little noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(shape[-1]) / 16000
    tones = sum(np.sin(2 * np.pi * rng.uniform(80, 6000) * t + rng.uniform(0, 6)) for _ in range(4)) / 4
    x = tones * np.sin(40 * t + rng.uniform(0, 6)) + rng.normal(0, 0.02, shape)
    return torch.from_numpy((level * x).astype(np.float32))


class Features(torch.nn.Module):
    """Several in one model, of even, odd and prime lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.logs = nn.LogMel(16000, 256, 200, n_mels=12, center=False)
        self.power = nn.Spectrogram(50, 33, 20, power=1.5)
        self.magnitude = nn.Spectrogram(49, power=1.0, center=False, normalized=True)
        self.cepstra = nn.MFCC(16000, 5, melkwargs={"n_fft": 62, "n_mels": 6, "pad_mode": "constant"})

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.logs(x), self.power(x), self.magnitude(x), self.cepstra(x), nn.AmplitudeToDB(top_db=9.0)(x.abs())


class Detector(torch.nn.Module):
    """Everything with state, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.dc = nn.RemoveDC(state=(2,))
        self.filter = nn.Biquad.cascade(nn.Biquad.highpass(16000, 100), nn.Biquad.notch(16000, 50), state=(2,))
        self.frames = nn.Framing(12, 8, state=(2,))
        self.norm = nn.RunningNorm(0.1, state=(2, 2))
        self.pcen = nn.PCEN(state=(2, 2))
        self.posteriors = nn.PosteriorSmoothing(12, 3, 0.09, 2, ignored=(1,), state=(2,))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        frames = self.frames(self.filter(self.dc(x)))
        detected, scores = self.posteriors(torch.softmax(self.norm(frames), -1).mean(1))
        return detected, scores, self.pcen(frames.square()), nn.ClippingDetector(0.4, 2)(x)


@cache
def captured(kind: type[torch.nn.Module], *shape: int) -> Graph:
    return pl.capture(kind(), (sound(*shape),))


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_features(board: str) -> None:
    assert pl.run(captured(Features, 2, 1, 300), board=board).match


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_state_over_calls(board: str) -> None:
    assert pl.run(captured(Detector, 2, 16), board=board).match


@pytest.mark.parametrize("state", [(), (2, 1)], ids=str)
def test_detections_over_calls(state: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    rows = [torch.softmax(3 * torch.randn(*state, 4), -1) for _ in range(30)]
    smoothing = nn.PosteriorSmoothing(4, 3, 0.4, 2, ignored=(1,), state=state)
    build = pl.compile(pl.capture(smoothing, (rows[0],)), board="host")
    found = set()
    with build.open("host", sanitize=SANITIZERS) as running:
        for row in rows:
            (detected, scores), (want, means) = running(row), smoothing(row)
            torch.testing.assert_close((detected, scores), (want, means))
            found |= set(want.reshape(-1).tolist())
    assert found == {-1, 0, 2, 3}


def test_resampled() -> None:
    assert pl.run(pl.capture(nn.Resample(8000, 6000), (sound(3, 100),)), board="host").match


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e20])
def test_what_is_not_finite_spoils_what_it_spoils_in_pytorch(bad: float) -> None:
    module, x = nn.MelSpectrogram(16000, 32, n_mels=3, center=False), sound(1, 64)
    x[0, 40] = bad
    y = pl.compile(pl.capture(module, (sound(1, 64),))).run(x, on="host")
    assert torch.equal(y.isfinite(), module(x).isfinite())


# ---- 16-bit samples in, int8 features out -------------------------------------------------------------------


class Words(torch.nn.Module):
    def __init__(self, features: torch.nn.Module):
        super().__init__()
        self.features, self.conv, self.head = features, torch.nn.Conv1d(10, 4, 3), torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.conv(self.features(x))).mean(-1))


OPTIONS: dict[str, Any] = {"n_fft": 128, "win_length": 100, "hop_length": 64, "n_mels": 10}


def quantized(module: torch.nn.Module, length: int, level: float = 0.5) -> Graph:
    torch.manual_seed(0)
    samples = [(sound(1, length, seed=k, level=level),) for k in range(4)]
    return pl.quantize(pl.capture(module, samples[0]), calibration=samples)


@pytest.mark.parametrize(("center", "level"), [(False, 0.5), (True, 0.5), (True, 20000.0)])
def test_int8_takes_samples_and_computes_no_float(center: bool, level: float) -> None:
    module = Words(nn.LogMel(16000, **OPTIONS, center=center, offset=1e-6 * max(level, 1.0)))
    lowered = pl.lower(quantized(module, 700, level))
    (port,) = lowered.inputs
    assert port.value.dtype == INT16 and port.quant == Quant(1 / 32768 if level < 1 else 1.0, 0)
    assert not lowered.fallbacks and all(v.dtype.kind != "f" for n in lowered.nodes for v in (*n.inputs, *n.outputs))
    assert "qlog_mel" in [node.op for node in lowered.nodes]


class Louder(torch.nn.Module):
    """Samples that are changed before the features, and read by another layer too."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.direct = nn.LogMel(16000, **OPTIONS, center=False), torch.nn.Linear(700, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((self.features(x * 0.25).flatten(1), self.direct(x)), 1)


def test_samples_keep_16_bits_before_features() -> None:
    module = Louder()
    graph, x = quantized(module, 700), sound(1, 700, seed=9)
    lowered = pl.lower(graph)
    assert lowered.inputs[0].value.dtype == INT16 and not lowered.fallbacks
    scale = lowered.outputs[0].quant.scale  # type: ignore[union-attr]
    assert float((pl.compile(graph).run(x, on="host") - module(x).detach()).abs().max()) < 2.5 * scale


class Written(torch.nn.Module):
    """A logarithm that the user takes."""

    def __init__(self, log: Callable[[torch.Tensor], torch.Tensor]):
        super().__init__()
        self.mels, self.log = nn.MelSpectrogram(16000, **OPTIONS, center=False), log

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.log(self.mels(x) + 1e-5)


@pytest.mark.parametrize("log", [torch.log, torch.log10, torch.log2])
def test_a_logarithm_of_mels_is_one_node_too(log: Callable[[torch.Tensor], torch.Tensor]) -> None:
    module = Written(log)
    lowered, x = pl.lower(quantized(module, 700)), sound(1, 700, seed=9)
    assert lowered.nodes[0].op == "qlog_mel" and not lowered.fallbacks
    (y,) = evaluate(lowered, [x])
    scale = lowered.outputs[0].quant.scale  # type: ignore[union-attr]
    assert float((y - module(x)).abs().max()) < 2.5 * scale


def test_what_has_no_integer_form_is_named() -> None:
    for module in (nn.LogMel(16000, **OPTIONS, power=1.0), nn.LogMel(16000, **{**OPTIONS, "n_fft": 127})):
        (fallback, *_) = pl.lower(quantized(module, 700)).fallbacks
        assert fallback.node.op == "spectrum" and "form" in fallback.reason


@pytest.mark.parametrize("level", [1.0, 0.1, 0.01, 0.001, 0.0001, 0.0])
def test_features_of_sound_at_any_level_are_near_float(level: float) -> None:
    """Sound whose bands are at most 50 dB below the loudest: one step, and the bytes of the reference."""
    module = nn.LogMel(16000, 512, 480, 320, n_mels=40, center=False)
    noise = np.random.default_rng(0).normal(0, 0.3, 2000)
    sounds = [noise, np.cumsum(noise) * 0.05, noise * np.linspace(0, 1, 2000) ** 4]
    graph, window, bank = Graph("net"), module.spectrogram.window.numpy(), module.mel_scale.fb.numpy()
    y = Quant(24 / 255, 127 - round(9.5 / 24 * 255))
    x = graph.fresh("x", INT16, (1, 2000))
    graph.inputs.append(Port("x", x, x.shape))
    (out,) = make_qlog_mel(Quant(1 / 32768, 0), y, window, bank, 512, 320, 1e-6).build(Builder(graph), x)
    graph.outputs.append(Port("y", out, out.shape))
    with pl.compile(graph).open("host", sanitize=SANITIZERS) as running:
        for samples in sounds:
            given = torch.from_numpy(np.clip(np.rint(samples * level * 32768), -32768, 32767).astype(np.int16))[None]
            (got,), (wanted,) = running.flat([given]), evaluate(graph, [given])
            assert torch.equal(got, wanted)
            real = module.double()(given.double() / 32768).transpose(-1, -2)
            steps = (real / y.scale).round().add(y.zero_point).clamp(-128, 127)
            assert float((got - steps).abs().max()) <= 1


def test_a_board_gives_the_bytes_of_the_reference() -> None:
    session = pl.run(quantized(Words(nn.LogMel(16000, **OPTIONS, center=False)), 700), board="mps2-an386")
    assert session.match
