"""How well the network hears voices and noises that training never heard.

    python examples/listen/evaluate.py                 # PyTorch's float model; makes an hour and a half of sound first
    python examples/listen/evaluate.py --int8          # the stream in int8, as it was compiled for this computer
    python examples/listen/evaluate.py --small         # the small network
    python examples/listen/evaluate.py --choosing      # on the voices that the thresholds were chosen with
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import pilotlight as pl
import unheard
from model import STEP, Listen, WordNet, front_end, listen, small
from words import WORDS

WINDOW = listen()[1][0].shape[1]
FIRST = WINDOW - 11 * STEP  # samples that the first answer is about
LATE = 2.0  # seconds after its end in which a word must be found
CALIBRATION = Path(__file__).resolve().with_name("recordings") / "calibrate.npz"

Answers = Callable[[torch.Tensor], list[int]]  # to samples (1, n): the word of each step that is complete, or -1


def class_of(net: WordNet, samples: np.ndarray) -> np.ndarray:
    """The most probable class of each window."""
    front, found = front_end(), []
    with torch.no_grad():
        for part in np.array_split(samples, len(samples) // 64 + 1):
            features = front(torch.from_numpy(part).float() / 32768).transpose(1, 2).unsqueeze(1)
            found.append(net(features)[:, :, 0, 0].argmax(1).numpy())
    return np.concatenate(found)


def in_float(module: Listen) -> Answers:
    def answers(samples: torch.Tensor) -> list[int]:
        with torch.no_grad():
            return module(samples)[0][0].tolist()

    return answers


def in_int8(module: Listen) -> Answers:
    """The compiled stream, one step after another; it starts anew for each recording."""
    with np.load(CALIBRATION) as data:
        calibration = [[row[None]] for row in torch.from_numpy(data["samples"])]
    graph = pl.quantize(pl.capture(module, (torch.zeros(1, WINDOW),), "listen"), calibration=calibration)
    build = pl.compile(pl.stream(graph, axis=-1, hop=STEP, rate=16000), board="host")

    def answers(samples: torch.Tensor) -> list[int]:
        with pl.open_board("host", build) as board:
            words = [int(board(step)[0]) for step in samples.split(STEP, 1) if step.shape[1] == STEP]
        return words[FIRST // STEP - (FIRST % STEP == 0) :]

    return answers


def found_in(answers: Answers, samples: np.ndarray, seconds: int = 60) -> list[tuple[float, str]]:
    """(second, word) of everything that is found, minute by minute as in one stream."""
    found, length = [], seconds * 16000 // STEP * STEP
    for start in range(0, len(samples) - FIRST, length):
        part = torch.from_numpy(samples[start : start + length + FIRST - STEP]).float()[None] / 32768
        if part.shape[1] < FIRST:
            break
        found += [((start + FIRST + k * STEP) / 16000, WORDS[w]) for k, w in enumerate(answers(part)) if w >= 0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--int8", "--small", "--choosing"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    module, _ = small() if given.small else listen()
    data = unheard.kept(given.choosing)
    if not given.int8:
        windows(module.net, data)
    answers = in_int8(module) if given.int8 else in_float(module)
    found = found_in(answers, data["commands"])
    spoken = list(zip(data["ends"].tolist(), data["words"].tolist(), strict=True))
    hits = sum(any(-0.2 <= at - end <= LATE and word == said for at, word in found) for end, said in spoken)
    print(f"in a stream: {hits} of {len(spoken)} words found, {len(found)} reported")
    for kind in ("conversation", "noise"):
        hours = len(data[kind]) / 16000 / 3600
        print(f"{kind}: {len(found_in(answers, data[kind])) / hours:.1f} false alarms an hour, of {hours:.1f} hours")


def windows(net: WordNet, data: dict[str, np.ndarray]) -> None:
    """One word in each second."""
    for kind in ("quiet", "noisy"):
        right = class_of(net, data[kind]) == data["labels"]
        words = data["labels"] < len(WORDS)
        print(f"{kind}: {right[words].mean():.1%} of {words.sum()} words, {right[~words].mean():.1%} of others")
        for voice in np.unique(data["voices"]):
            print(f"    {voice:32} {right[words & (data['voices'] == voice)].mean():.1%}")


if __name__ == "__main__":
    main()
