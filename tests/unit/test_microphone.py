"""`pilotlight listen`, with a microphone that is a recording."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.session.microphone import listen
from support.command_line import call_error, call_json

RATE, HOP = 1000, 8


class Net(nn.Module):
    """Channels of a sum over the last samples."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.conv = nn.Conv1d(1, 3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def source() -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Net().eval(), (torch.zeros(1, 1, 32),)


class FakeStream:
    """Reads a recording, and says once that samples were lost."""

    def __init__(self, samples: np.ndarray, asked: dict[str, object]):
        self.samples, self.asked, self.at = samples, asked, 0

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def read(self, count: int) -> tuple[np.ndarray, bool]:
        if self.at >= len(self.samples):
            raise KeyboardInterrupt
        self.at += count
        return self.samples[self.at - count : self.at], self.at == 2 * count


@pytest.fixture
def microphone(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, dict[str, object]]:
    samples = np.random.default_rng(1).standard_normal((10 * HOP, 1)).astype(np.float32)
    asked: dict[str, object] = {}
    fake = types.ModuleType("sounddevice")

    def opened(**options: object) -> FakeStream:
        asked.update(options)
        if options["device"] == "none":
            raise ValueError("no such device")
        return FakeStream(samples, asked)

    fake.InputStream, fake.PortAudioError = opened, type("PortAudioError", (Exception,), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    return samples, asked


def test_a_microphone_gives_what_the_module_gives_over_the_recording(microphone) -> None:  # type: ignore[no-untyped-def]
    samples, asked = microphone
    net, example = source()
    build = pl.compile(pl.stream(pl.capture(net, example), hop=HOP, rate=RATE))
    got: list[torch.Tensor] = []
    done = listen(build, lambda at, outputs: got.append(outputs[0]))
    assert asked == {"samplerate": RATE, "blocksize": HOP, "channels": 1, "dtype": "float32", "device": None}
    assert (done.samples, done.steps, done.lost) == (10 * HOP, 10, 1)
    whole = net(torch.from_numpy(samples.T[None].copy())).detach()
    frames = torch.cat(got, -1)
    assert torch.allclose(frames[..., -whole.shape[-1] :], whole, atol=1e-5)


def test_the_command_says_what_was_heard(microphone) -> None:  # type: ignore[no-untyped-def]
    model = f"{__file__}:source"
    options = ("--board", "host", "--stream", f"hop={HOP}", "--rate", str(RATE), "--seconds", "0.04")
    said = call_json("listen", model, *options)
    assert said["steps"] == 5 and said["seconds"] == 0.04 and said["lost"] == 1
    assert said["answers"] and all(len(answer["answer"]) == 3 for answer in said["answers"])
    refused = call_error("listen", model, *options, "--microphone", "none")["message"]
    assert "cannot be opened with 1 channel of 1000 samples a second: no such device" in refused
    assert "only a streaming model listens" in call_error("listen", model, "--board", "host")["message"]


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    net, example = source()
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    build = pl.compile(pl.stream(pl.capture(net, example), hop=HOP, rate=RATE))
    with pytest.raises(PilotlightError, match="sounddevice") as error:
        listen(build, lambda at, outputs: None)
    assert "pip install 'pilotlight[microphone]'" in str(error.value)
    with pytest.raises(PilotlightError, match="samples a second are not known"):
        listen(pl.compile(pl.stream(pl.capture(net, example), hop=HOP)), lambda at, outputs: None)
