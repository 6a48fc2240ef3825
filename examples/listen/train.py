"""Trains the network on speech of espeak-ng alone, from a fixed seed, and writes listen.pt: ten minutes of one core.

    python examples/listen/train.py            # speech is kept in build/listen
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import sounds
from model import CHECKPOINT, SAMPLES, WordNet, front_end
from voices import ACCENTS, HELD_OUT, Voice, say, variants
from windows import Conditions, windows
from words import WORDS, sentences, word_list

SPEECH, FEATURES = Path("build/listen/speech.npz"), Path("build/listen/features.pt")
EACH, TEXTS = 360, 1500
CYCLES, BATCH, RATE = 5, 32, 4e-3


def spoken(names: list[str], each: int, texts: int, seed: int) -> tuple[list[list[np.ndarray]], list[np.ndarray]]:
    """Every word `each` times, and other speech, in random voices of espeak-ng."""
    rng = np.random.default_rng(seed)

    def voice() -> Voice:
        name = f"{rng.choice(ACCENTS)}+{rng.choice(names)}"
        return Voice("espeak", name, rng.uniform(0.3, 1.9), rng.uniform(0.65, 1.35))

    others = [*word_list(seed, texts), *sentences("GFDL-1.3", "LGPL-2.1", "Artistic")[:texts]]
    lines = [(word, voice()) for word in WORDS for _ in range(each)] + [(text, voice()) for text in others]
    said = say(lines)
    return [said[i * each : (i + 1) * each] for i in range(len(WORDS))], said[each * len(WORDS) :]


def speech() -> tuple[list[list[np.ndarray]], list[np.ndarray], list[list[np.ndarray]], list[np.ndarray]]:
    """Training's words and other speech, then those of voices that it does not hear."""
    if not SPEECH.exists():
        heard = [name for name in variants() if name not in HELD_OUT]
        words, others = spoken(heard, EACH, TEXTS, seed=1)
        held, held_others = spoken(list(HELD_OUT), 40, 150, seed=2)
        flat = [x for group in (*words, others, *held, held_others) for x in group]
        cuts, joined = np.cumsum([len(x) for x in flat]), np.concatenate(flat)
        sizes = [len(group) for group in (*words, others, *held, held_others)]
        SPEECH.parent.mkdir(parents=True, exist_ok=True)
        np.savez(SPEECH, samples=np.rint(joined * 32767).astype(np.int16), cuts=cuts, sizes=sizes)
    with np.load(SPEECH) as data:
        flat = np.split(data["samples"].astype(np.float32) / 32767, data["cuts"][:-1])
        ends = np.cumsum(data["sizes"])
    groups = [flat[end - size : end] for end, size in zip(ends, np.diff([0, *ends]), strict=True)]
    n = len(WORDS)
    return groups[:n], groups[n], groups[n + 1 : 2 * n + 1], groups[2 * n + 1]


def features(samples: np.ndarray) -> torch.Tensor:
    """(N, frames, 40) in float16: what the front end gives."""
    front = front_end()
    with torch.no_grad():
        cut = np.array_split(samples, len(samples) // 256 + 1)
        parts = [front(torch.from_numpy(part).float() / 32768) for part in cut]
    return torch.cat(parts).transpose(1, 2).half()


def varied(x: torch.Tensor) -> torch.Tensor:
    """Each window with its bands stretched (another vocal tract), through another microphone, and parts hidden."""
    n, frames, mels = x.shape
    grid = torch.linspace(-1, 1, mels).expand(n, mels)
    bend = grid * (1 + 0.15 * (2 * torch.rand(n, 1) - 1)) + 0.08 * (2 * torch.rand(n, 1) - 1)
    at = torch.linspace(-1, 1, frames).view(1, frames, 1).expand(n, frames, mels)
    place = torch.stack((bend[:, None].expand(n, frames, mels), at), -1)
    x = F.grid_sample(x[:, None], place, padding_mode="border", align_corners=True)[:, 0]
    response = F.interpolate(torch.randn(n, 1, 7), mels, mode="linear", align_corners=True)
    x = x + response + 0.6 * torch.randn(n, 1, 1) + 0.6 * torch.randn(n, 1, 1) * grid[:, None]
    floor = x.mean((1, 2), keepdim=True)
    for axis, most in ((1, 8), (2, 8)):
        size = x.shape[axis]
        start = torch.randint(0, size, (n, 1))
        hidden = (torch.arange(size) >= start) & (torch.arange(size) < start + torch.randint(0, most, (n, 1)))
        x = torch.where(hidden[:, :, None] if axis == 1 else hidden[:, None], floor, x)
    return x


def data() -> tuple[torch.Tensor, ...]:
    """Features and classes to train with, then those of voices that training does not hear."""
    if FEATURES.exists():
        return torch.load(FEATURES, weights_only=True)
    words, others, held_words, held_others = speech()
    print(f"{sum(map(len, words))} words and {len(others)} other texts", flush=True)
    noises = sounds.Bank(5, sounds.TRAINING, others)
    hard = Conditions(noises, (-2, 30), (8, 46), (0.08, 0.6), 0.0, (0.82, 1.25))
    easier = Conditions(noises, (5, 30), (10, 40), (0.1, 0.4), 3.0, (0.95, 1.05))
    x, y = windows(3, words, others, SAMPLES, (2200, 8500, 1500), hard)
    held_x, held_y = windows(4, held_words, held_others, SAMPLES, (60, 250, 60), easier)
    made = features(x), torch.from_numpy(y), features(held_x), torch.from_numpy(held_y)
    torch.save(made, FEATURES)
    return made


def train(net: WordNet, inputs: torch.Tensor, labels: torch.Tensor, cycle: int) -> None:
    """One cycle: a long one that warms up first, then short ones that start ever more slowly and end at rest."""
    epochs, rate = (3, RATE) if cycle == 0 else (1, 0.6 * RATE * 0.85**cycle)
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=2e-2)
    steps = len(inputs) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=rate, total_steps=epochs * steps, pct_start=0.3 if cycle == 0 else 0.05
    )
    net.train()
    for _ in range(epochs):
        order, total = torch.randperm(len(inputs)), 0.0
        for i in range(steps):
            batch = order[i * BATCH : (i + 1) * BATCH]
            x = varied(inputs[batch].float()).unsqueeze(1).contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(net(x)[:, :, 0, 0], labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"cycle {cycle}: loss {total / steps:.3f}", flush=True)
    net.eval()


def main() -> None:
    torch.set_num_threads(1)  # the order of sums, and so the weights, must not depend on the machine's cores
    inputs, labels, held, held_labels = data()
    print(f"{len(inputs)} windows to train with", flush=True)
    torch.manual_seed(0)
    net = WordNet().to(memory_format=torch.channels_last)
    for cycle in range(CYCLES):
        kept = FEATURES.with_name(f"cycle{cycle}.pt")
        if kept.exists():
            net.load_state_dict(torch.load(kept, weights_only=True))
            continue
        if cycle:
            torch.manual_seed(cycle)  # a run that was interrupted goes on as if it had not been
        train(net, inputs, labels, cycle)
        with torch.no_grad():
            right = (net(held.float().unsqueeze(1))[:, :, 0, 0].argmax(1) == held_labels).float().mean()
        print(f"cycle {cycle}: {right:.2%} of unheard voices of espeak-ng", flush=True)
        torch.save(net.state_dict(), kept)
    torch.save(net.state_dict(), CHECKPOINT)


if __name__ == "__main__":
    main()
