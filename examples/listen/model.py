"""The network that listens: from samples to the words, made to run on a stream.

Nothing is padded in time, so that a stream gives the same answers as a recording: each step of 640 samples adds two
frames to the front end, one row to each layer and one answer at the end, which is about the last second. With the same
weights it can also answer after each frame, every 320 samples: what was the next row is the one after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from pilotlight.nn import LogMel
from words import CLASSES, WORDS

FOLDER = Path(__file__).resolve().parent
WINDOW, HOP, MELS = 480, 320, 40
STEP = 2 * HOP  # samples from one answer to the next: 40 ms
STEPS = 10  # rows that are averaged
SMOOTHED = 14  # answers that are averaged
QUIET = 5  # steps of 40 ms in which a word is not probable, before it is found again
SEEN = 1 + 3 * 2 + 2 * 4  # rows that a row of scores is about
FRAMES = 2 * (STEPS + SEEN - 1 - 1) + 4
SAMPLES = HOP * (FRAMES - 1) + 512  # what one score is about: a second


@dataclass(frozen=True)
class Size:
    """Channels while there are bands, and after that; the trained weights, and how probable a word that is found is."""

    channels: int
    wide: int
    checkpoint: Path
    threshold: float


LARGE, SMALL = Size(128, 192, FOLDER / "listen.pt", 0.55), Size(64, 72, FOLDER / "small.pt", 0.6)


class Layer(nn.Module):
    """Convolution, batch norm, ReLU."""

    def __init__(self, cin: int, cout: int, kernel: tuple[int, int], groups: int = 1, **options: object) -> None:
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, groups=groups, bias=False, **options)
        self.norm = nn.BatchNorm2d(cout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.conv(x)))


def separable(n: int, apart: int, stride: int = 1) -> nn.Sequential:
    """3 rows x 3 bands of each of n channels, then all channels of a place; padded in frequency only."""
    depthwise = Layer(n, n, (3, 3), n, stride=(1, stride), padding=(0, 1), dilation=(apart, 1))
    return nn.Sequential(depthwise, Layer(n, n, (1, 1)))


def in_time(n: int, apart: int) -> nn.Sequential:
    """3 rows of each of n channels, with one left out between them, then all channels of a row."""
    return nn.Sequential(Layer(n, n, (3, 1), n, dilation=(2 * apart, 1)), Layer(n, n, (1, 1)))


class WordNet(nn.Module):
    """(N, 1, frames, 40) log mel energies to (N, 12, steps, 1) scores, each of a second, `often` in two frames."""

    def __init__(self, size: Size, often: int = 1) -> None:
        super().__init__()
        n, wide = size.channels, size.wide
        self.rows = STEPS * often
        self.stem = Layer(1, n, (4, 8), stride=(2 // often, 4))  # 9 bands
        self.blocks = nn.Sequential(separable(n, often, stride=2), *(separable(n, often) for _ in range(2)))  # 5 bands
        self.bands = nn.Sequential(Layer(n, n, (1, 5), n), Layer(n, wide, (1, 1)))
        self.later = nn.Sequential(in_time(wide, often), in_time(wide, often))
        self.dropout = nn.Dropout(0.1)
        self.scores = nn.Conv2d(wide, len(CLASSES), 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.scores(self.dropout(self.later(self.bands(self.blocks(self.stem(x))))))  # of each row
        return F.avg_pool2d(scores, (self.rows, 1), stride=1)


def front_end() -> LogMel:
    """40 log mel energies of 30 ms every 20 ms."""
    return LogMel(16000, 512, WINDOW, HOP, f_min=20.0, n_mels=MELS, center=False)


class Listen(nn.Module):
    """(N, samples) in -1..1 to the word that is found in each step, or -1, and how probable each class is.

    A word is found in the step in which it becomes probable, if it has not been for `QUIET` steps: int64 (N, steps) and
    (N, 12, steps), averages over the last few steps. `often`: 1 for steps of 640 samples, 2 for 320.
    """

    def __init__(self, size: Size, often: int = 1) -> None:
        super().__init__()
        self.features = front_end()
        self.net = WordNet(size, often)
        self.smoothed, self.quiet, self.threshold = SMOOTHED * often, QUIET * often, size.threshold

    def forward(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.net(self.features(samples).transpose(1, 2).unsqueeze(1))
        probable = F.avg_pool1d(F.softmax(scores, 1).squeeze(3), self.smoothed, stride=1)
        words = probable[:, : len(WORDS)]
        lately = F.max_pool1d(words, self.quiet, stride=1)[:, :, :-1]  # of the steps before
        new = torch.where(lately < self.threshold, words[:, :, self.quiet :], 0.0)
        best, word = new.max(1)  # (N, steps)
        return torch.where(best >= self.threshold, word, -1), probable[:, :, self.quiet :]


def trained(size: Size, often: int = 1) -> tuple[Listen, tuple[torch.Tensor]]:
    """A trained network and two seconds of silence."""
    module = Listen(size, often)
    module.net.load_state_dict(torch.load(size.checkpoint, weights_only=True))
    return module.eval(), (torch.zeros(1, SAMPLES + (SMOOTHED + QUIET + 10) * STEP),)


def listen() -> tuple[Listen, tuple[torch.Tensor]]:
    """The large network, an answer every 640 samples, 40 ms."""
    return trained(LARGE)


def small() -> tuple[Listen, tuple[torch.Tensor]]:
    """The small network, an answer every 640 samples."""
    return trained(SMALL)


def small_often() -> tuple[Listen, tuple[torch.Tensor]]:
    """The small network, an answer every 320 samples, 20 ms."""
    return trained(SMALL, 2)
