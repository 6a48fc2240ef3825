"""The examples' trained networks: they know what they were made for in recordings that training never had."""

from __future__ import annotations

import importlib
import sys
import wave
from itertools import pairwise

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Graph
from support.paths import EXAMPLES

MOTION = EXAMPLES / "motion"
SAMPLES, HOP, RATE = 124, 8, 50
CLASSES = ("rest", "walk", "run", "stairs", "shake", "fall")


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


def test_listen_finds_words_of_a_synthesizer_that_training_never_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five of seven words are found, one is missed and one taken for another: README.md has the figures."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "listen"))
    for name in ("model", "words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    model = importlib.import_module("model")
    module, _ = model.listen()
    words = importlib.import_module("words").WORDS
    with wave.open(str(EXAMPLES / "listen" / "recordings" / "commands.wav")) as file:
        assert file.getframerate() == 16000 and file.getnchannels() == 1
        samples = np.frombuffer(file.readframes(1 << 20), "<i2").astype(np.float32) / 32768
    with torch.no_grad():
        steps, probable = module(torch.from_numpy(samples)[None])
    assert probable.shape == (1, 12, steps.shape[1])
    assert [words[int(k)] for k in steps[0] if k >= 0] == ["yes", "left", "stop", "go", "right", "off"]
    silent, _ = module(torch.zeros(1, len(samples)))
    assert (silent == -1).all()
    with torch.no_grad():
        _, often = model.listen_often()[0](torch.from_numpy(samples)[None])
    every_other = often.flip(2)[:, :, ::2]  # from the end: the same answers, with others between them
    difference = every_other - probable.flip(2)[:, :, : every_other.shape[2]]
    assert often.shape[2] > 1.9 * probable.shape[2] and difference.abs().mean() < 0.02
