"""The examples' trained networks: they know what they were made for in recordings that training never had."""

from __future__ import annotations

import importlib
import sys
import wave
from collections.abc import Iterable
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Graph
from support.paths import EXAMPLES

MOTION = EXAMPLES / "motion"
SAMPLES, HOP, RATE = 124, 8, 50
CLASSES = ("rest", "walk", "run", "stairs", "shake", "fall")
SPOKEN = ["yes", "left", "stop", "go", "down", "right", "off"]


def load(path: str) -> Graph:
    graph = pl.load(path)
    assert isinstance(graph, Graph)
    return graph


def motion_windows() -> list[tuple[str, torch.Tensor]]:
    """From the middle of each part of the recording: its name, and what one answer is about."""
    with np.load(MOTION / "recordings" / "minute.npz") as data:
        x = torch.from_numpy(data["x"])
    lines = [line.split() for line in (MOTION / "recordings" / "minute.txt").read_text().splitlines()]
    starts = [round(float(start) * RATE) for start, _ in lines] + [x.shape[2]]
    middles = [(a + b - SAMPLES) // 2 for a, b in pairwise(starts)]
    return [(name, x[:, :, at : at + SAMPLES]) for (_, name), at in zip(lines, middles, strict=True)]


def test_motion_in_int8_on_the_host() -> None:
    graph = load(f"{MOTION / 'model.py'}:motion")
    with np.load(MOTION / "recordings" / "calibrate.npz") as data:
        samples = torch.from_numpy(data["x"])
    names, inputs = zip(*motion_windows(), strict=True)
    session = pl.run(pl.compile(pl.quantize(graph, calibration=samples.split(1)), board="host"), list(inputs))
    assert session.match
    found = [CLASSES[int(outputs[0][0, 0].argmax())] for outputs in session.outputs]
    assert found == list(names)


@pytest.fixture
def listen(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """examples/listen/model.py, which imports the modules beside it."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "listen"))
    for name in ("model", "words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("model")


def commands() -> torch.Tensor:
    with wave.open(str(EXAMPLES / "listen" / "recordings" / "commands.wav")) as file:
        assert file.getframerate() == 16000 and file.getnchannels() == 1
        samples = np.frombuffer(file.readframes(1 << 20), "<i2").astype(np.float32) / 32768
    return torch.from_numpy(samples)[None]


def words_of(model: ModuleType, steps: Iterable[int]) -> list[str]:
    return [model.WORDS[k] for k in steps if k >= 0]


def test_listen_finds_words_of_a_synthesizer_that_training_never_heard(listen: ModuleType) -> None:
    """All seven words are found, and none that was not said: README.md has the figures."""
    module, samples = listen.listen()[0], commands()
    with torch.no_grad():
        steps, probable = module(samples)
        silent, _ = module(torch.zeros_like(samples))
    assert probable.shape == (1, 12, steps.shape[1])
    assert words_of(listen, steps[0].tolist()) == SPOKEN
    assert (silent == -1).all()


def test_listen_finds_the_words_in_int8(listen: ModuleType) -> None:
    module, example = listen.listen()
    with np.load(EXAMPLES / "listen" / "recordings" / "calibrate.npz") as data:
        calibration = [[row[None]] for row in torch.from_numpy(data["samples"])]
    graph = pl.quantize(pl.capture(module, example, "listen"), calibration=calibration)
    build = pl.compile(pl.stream(graph, axis=-1, hop=listen.STEP, rate=16000), board="host")
    with pl.open_board("host", build) as board:
        steps = [int(board(step)[0]) for step in commands().split(listen.STEP, 1)]
    heard = listen.SAMPLES + (listen.SMOOTHED + listen.QUIET - 1) * listen.STEP  # what the first answer is about
    assert words_of(listen, steps[(heard - 1) // listen.STEP :]) == SPOKEN


def test_answers_that_come_often_are_those_of_every_other_step(listen: ModuleType) -> None:
    samples = commands()
    with torch.no_grad():
        _, probable = listen.small()[0](samples)
        _, often = listen.small_often()[0](samples)
    every_other = often.flip(2)[:, :, ::2]  # from the end: the same answers, with others between them
    difference = every_other - probable.flip(2)[:, :, : every_other.shape[2]]
    assert often.shape[2] > 1.9 * probable.shape[2] and difference.abs().mean() < 0.02
