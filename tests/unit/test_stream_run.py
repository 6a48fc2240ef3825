"""Streams on the host and on an emulated board, from the command line, and through the C interface."""

from __future__ import annotations

import re
import struct
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture.rates import sample_rate
from pilotlight.errors import PilotlightError
from pilotlight.report.streaming import timeline_tables
from pilotlight.report.waves import stream_pictures
from pilotlight.session.streaming import features
from pilotlight.stream import stream
from support.c_compilers import STRICT, compile_c
from support.command_line import call_error, call_json
from support.streaming import steps_of

NET = '''
import torch
from torch import nn

class Heard(nn.Module):
    def __init__(self, padding=0):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.more = nn.Conv1d(1, 6, 8, stride=4), nn.Conv1d(6, 6, 3, padding=padding)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(torch.relu(self.more(torch.relu(self.conv(x)))).mean(-1))
'''


def write_wav(path: Path, samples: int, rate: int = 8000, channels: int = 1) -> Path:
    numbers = (8000 * np.sin(np.arange(samples) * 0.1)).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.repeat(numbers, channels).tobytes())
    return path


@pytest.fixture
def heard(tmp_path: Path) -> list[str]:
    (tmp_path / "heard.py").write_text(NET)
    return [f"{tmp_path / 'heard.py'}:Heard", "--input", "1x1x80", "--stream", "hop=8"]


def test_a_recording_on_a_board(heard: list[str], tmp_path: Path) -> None:
    sound = write_wav(tmp_path / "sound.wav", 203)
    page = tmp_path / "page.html"
    found = call_json("run", *heard, "--rate", "8000", "--inputs", sound, "--report", page)
    assert found["match"] and found["compared_with"] == "PyTorch"
    costs = found["stream"]
    assert costs["unit"] == "cycles" and costs["worst_step"] > 0 and 0 < costs["load"] < 1 and costs["latency"] == 0
    assert costs["macs_second"] * 5 < costs["macs_second_window"]
    line = found["timeline"]
    assert line["samples"][-1] == 200 and len(line["answers"]) == len(line["truth"]) == len(line["samples"])
    drawn = stream_pictures(found)
    assert drawn is not None and drawn["features"].startswith("data:image/png") and drawn["wave"] in page.read_text()
    found["board"] = "the board"
    (table,) = timeline_tables(found)
    assert list(table.columns[0].cells)[-1] == "0.025 s" and str(table.columns[2].header) == "PyTorch"


def test_a_time_line_tells_when_a_frame_comes_out(tmp_path: Path) -> None:
    """Frame k needs the samples up to 4 k + 20, as soon as the step of 8 samples that has the last of them is there."""
    torch.manual_seed(0)
    net = nn.Conv1d(1, 2, 20, stride=4).eval()
    session = pl.run(stream(pl.capture(net, (torch.randn(1, 1, 80),)), -1, 8), board="host")
    assert session.match and session.timeline is not None
    assert session.timeline["samples"] == [-(-(4 * k + 20) // 8) * 8 for k in range(16)]


def test_features_are_those_of_the_first_layer() -> None:
    """What a picture shows is computed without the layers after it, which have states of their own."""
    torch.manual_seed(0)
    first = nn.Conv1d(1, 6, 8, stride=4)
    net = nn.Sequential(first, nn.ReLU(), nn.Conv1d(6, 2, 3), nn.ReLU(), nn.Conv1d(2, 2, 5)).eval()
    sound = torch.randn(1, 1, 160)
    build = pl.compile(stream(pl.capture(net, (sound,)), -1, 8), board="host")
    rows = features(build, [[part] for part in sound.split(8, -1)])
    assert rows is not None
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(rows)[1:], first(sound)[0].T, atol=1e-5, rtol=1e-5)


def test_padding_in_a_window_is_a_warning_that_names_the_layer(heard: list[str]) -> None:
    padded = [*heard, "--init", "padding=1", "--board", "host"]
    found = call_json("run", *padded)
    assert found["match"] and found["compared_with"] == "the same stream on the host"
    assert "more (heard.py" in found["warnings"][0] and "exact" in found["warnings"][0]
    found = call_json("run", *padded[:-4], "--init", "padding=1", "--stream", "hop=8,exact", "--board", "host")
    assert found["match"] and found["compared_with"] == "PyTorch" and not found["warnings"]


def test_wrong_recordings_are_refused(heard: list[str], tmp_path: Path) -> None:
    board = ["--board", "host"]
    error = call_error("run", *heard, *board, "--inputs", write_wav(tmp_path / "stereo.wav", 99, channels=2))
    assert "two channels (stereo)" in error["message"] and "mix it down" in error["hint"]
    error = call_error("run", *heard, *board, "--rate", "16000", "--inputs", write_wav(tmp_path / "slow.wav", 99))
    assert "8,000 samples a second; the model takes 16,000" in error["message"]
    error = call_error("run", *heard, *board, "--inputs", write_wav(tmp_path / "short.wav", 40))
    assert "too short" in error["message"]
    for data in (b"RIFF0000", b"hello", b""):
        (tmp_path / "broken.wav").write_bytes(data)
        error = call_error("run", *heard, *board, "--inputs", tmp_path / "broken.wav")
        assert error["kind"] == "broken-file" and re.search(r"broken\.wav cannot be read: \w", error["message"])
    whole = write_wav(tmp_path / "cut.wav", 1000).read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole[:901])
    error = call_error("run", *heard, *board, "--inputs", tmp_path / "cut.wav")
    assert error["message"].endswith("cut.wav is cut short: expected 1,000 samples, got 428")
    (tmp_path / "cut.wav").write_bytes(whole.replace(struct.pack("<I", 2000), struct.pack("<I", 0xFFFFFFFF))[:901])
    found = call_json("run", *heard, *board, "--inputs", tmp_path / "cut.wav")  # as a program leaves it in a pipe
    assert found["match"] and found["timeline"]["samples"][-1] == 424
    assert "hop=320" in call_error("run", *heard[:-2], *board, "--inputs", tmp_path / "slow.wav")["hint"]
    assert "has no hop" in call_error("inspect", *heard[:-1], "exact")["message"]
    assert "'pace=3'" in call_error("inspect", *heard[:-1], "hop=8,pace=3")["message"]
    assert "--stream" in call_error("inspect", *heard[:-2], "--rate", "8000")["hint"]
    assert "not supported" in call_error("compare", *heard, *board)["message"]


def test_mel_filters_say_the_rate() -> None:
    """Also that of the quantized model; a `Resample` on the way leaves it open."""
    features = pl.nn.LogMel(8000, n_fft=64, hop_length=32, n_mels=8, center=False)
    net = nn.Sequential(features, nn.Conv1d(8, 2, 3)).eval()
    sound = torch.randn(1, 800, generator=torch.Generator().manual_seed(0)) * 0.1
    graph = pl.capture(net, (sound,), "net")
    for model in (graph, pl.quantize(graph, calibration=[[sound]])):
        streaming = stream(model, -1, 64).streaming
        assert streaming is not None and streaming.rate == 8000
        with pytest.raises(PilotlightError, match=r"filters of net were made for 8,000 samples a second, not 16,000"):
            stream(model, -1, 64, rate=16000)
    resampled = pl.capture(nn.Sequential(pl.nn.Resample(16000, 8000), *net), (sound,))
    assert resampled.rate is None
    pooled = stream(pl.capture(nn.Sequential(nn.AvgPool1d(2), *net).eval(), (sound,)), -1, 64, rate=16000).streaming
    assert pooled is not None and pooled.rate == 16000
    twice = nn.ModuleList([features, pl.nn.MelScale(8, 16000, n_stft=33)])
    assert sample_rate(twice) is None and sample_rate(nn.ReLU()) is None and sample_rate(features) == 8000


MAIN = r"""
#include <stdio.h>
#include "pushed.h"
static uint8_t arena[PUSHED_ARENA_SIZE] PUSHED_ALIGNED;
static uint8_t state[PUSHED_STATE_SIZE] PUSHED_ALIGNED;
static {T} samples[] = {{{samples}}};
int main(void)
{{
    const pushed_t model = {{PUSHED_WEIGHTS, arena, state}};
    const size_t sizes[] = {{1, 5, 2, 7, 0, 3}};
    const size_t all = sizeof(samples) / sizeof(samples[0]) / {width};
    pushed_reset(&model);
    for (size_t at = 0, k = 0; at < all; k++) {{
        const size_t n = sizes[k % 6] < all - at ? sizes[k % 6] : all - at;
        size_t ready = pushed_push(&model, &samples[at * {width}], n);
        at += n;
        for (; pushed_next(&model) != 0u; ready--) {{
            for (int i = 0; i < {count}; i++) {{
                printf("%.9g\n", (double)pushed_output_0(&model)[i]);
            }}
        }}
        if (ready != 0u) {{
            return 1;
        }}
    }}
    if (pushed_lost(&model) != 0u || pushed_push(&model, samples, 20) != 3u || pushed_lost(&model) != {left}u) {{
        return 2;
    }}
    return 0;
}}
"""


def _ran(folder: Path, *sources: str) -> str:
    """What a program prints that ends with 0."""
    compile_c(["gcc", *STRICT, "-O1", *sources, "-o", "program"], folder)
    return subprocess.run([folder / "program"], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("torch_layout", [False, True])
def test_samples_are_pushed_in_any_number(tmp_path: Path, torch_layout: bool) -> None:
    """Two channels; in PyTorch's layout the samples of a channel are neighbours, in a push those of a time are."""
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Conv1d(2, 3, 5), nn.Tanh()).eval(), torch.randn(1, 2, 44)
    step = stream(pl.capture(net, (x,)), -1, 4, buffer=12)
    build = pl.compile(step, "host", name="pushed", torch_layout=torch_layout)
    build.write(tmp_path)
    numbers = ", ".join(f"{v:.9g}f" for v in x[0].T.reshape(-1).tolist())
    text = MAIN.format(T="float", samples=numbers, width=2, count=12, left=20 - 12)
    (tmp_path / "main.c").write_text(text)
    sources = [f for f in build.module.files if f.endswith((".c", ".S")) and f != "example_main.c"]
    got = torch.tensor([float(word) for word in _ran(tmp_path, "main.c", *sources).split()])
    with build.open() as running:
        want = [running(*row) for row in steps_of(x, 4)]
    order = [y if torch_layout else y.transpose(1, 2) for y in want]
    assert torch.equal(got, torch.stack(order).reshape(-1))
    _ran(tmp_path, "example_main.c", *sources)


def test_int8_streams_on_a_board_give_the_bytes_of_the_whole_recording() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv1d(8, 4, 3, padding=1)).eval()
    x = torch.randn(1, 1, 96)
    graph = pl.quantize(pl.capture(net, (x,)), [(x,)])
    session = pl.run(stream(graph, -1, 8), [(x,)], board="mps2-an386")
    assert session.match and session.compared_with == "the integer reference" and not session.matches[0].limit


def test_a_time_line_shows_where_answers_change() -> None:
    quiet = [[-1.0] for _ in range(250)]
    heard = [list(row) for row in quiet]
    heard[40], heard[101] = [3.0], [5.0]
    line = {"samples": [640 * k for k in range(250)], "rate": 16000, "answers": heard, "truth": quiet}
    (table,) = timeline_tables({"board": "host", "timeline": line})
    assert table.row_count == 24
    cells = [list(column.cells) for column in table.columns]
    assert [row[1:] for row in zip(*cells, strict=True) if row[3] != "0"] == [("3", "-1", "4"), ("5", "-1", "6")]
