"""How well the network hears voices and noises that training never heard: PyTorch's float model.

    python examples/listen/evaluate.py [checkpoint.pt]         # makes an hour and a half of sound first
"""

from __future__ import annotations

import sys

import numpy as np
import torch

import model
import unheard
from model import STEP, Listen, WordNet, front_end, listen
from words import WORDS

WINDOW = listen()[1][0].shape[1]
FIRST = WINDOW - 11 * STEP  # samples that the first answer is about
LATE = 2.0  # seconds after its end in which a word must be found


def class_of(net: WordNet, samples: np.ndarray) -> np.ndarray:
    """The most probable class of each window."""
    front, found = front_end(), []
    with torch.no_grad():
        for part in np.array_split(samples, len(samples) // 64 + 1):
            features = front(torch.from_numpy(part).float() / 32768).transpose(1, 2).unsqueeze(1)
            found.append(net(features)[:, :, 0, 0].argmax(1).numpy())
    return np.concatenate(found)


def found_in(module: Listen, samples: np.ndarray, seconds: int = 60) -> list[tuple[float, str]]:
    """(second, word) of everything that is found, minute by minute as in one stream."""
    found, length = [], seconds * 16000 // STEP * STEP
    with torch.no_grad():
        for start in range(0, len(samples) - FIRST, length):
            part = torch.from_numpy(samples[start : start + length + FIRST - STEP]).float()[None] / 32768
            if part.shape[1] < FIRST:
                break
            words = module(part)[0][0].tolist()
            found += [((start + FIRST + k * STEP) / 16000, WORDS[w]) for k, w in enumerate(words) if w >= 0]
    return found


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        model.CHECKPOINT = sys.argv[1]
    module, _ = listen()
    data = unheard.kept()
    for kind in ("quiet", "noisy"):
        right = class_of(module.net, data[kind]) == data["labels"]
        words = data["labels"] < len(WORDS)
        print(f"{kind}: {right[words].mean():.1%} of {words.sum()} words, {right[~words].mean():.1%} of others")
        for voice in np.unique(data["voices"]):
            print(f"    {voice:32} {right[words & (data['voices'] == voice)].mean():.1%}")
    found = found_in(module, data["commands"])
    spoken = list(zip(data["ends"].tolist(), data["words"].tolist(), strict=True))
    hits = sum(any(-0.2 <= at - end <= LATE and word == said for at, word in found) for end, said in spoken)
    print(f"in a stream: {hits} of {len(spoken)} words found, {len(found)} reported")
    for kind in ("conversation", "noise"):
        hours = len(data[kind]) / 16000 / 3600
        print(f"{kind}: {len(found_in(module, data[kind])) / hours:.1f} false alarms an hour, of {hours:.1f} hours")


if __name__ == "__main__":
    main()
