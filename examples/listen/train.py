"""Trains the network on speech of espeak-ng and two voices of flite, from a fixed seed, and writes listen.pt.

    python examples/listen/train.py     # two hours of one core; what was made and learnt is kept in build/listen

First with espeak-ng alone, varied as much as can be understood; then with both, as people and rooms usually are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

import sounds
from model import CHECKPOINT, SAMPLES, WordNet, front_end
from speech import FOLDER, Group, held_out, of_espeak, of_flite
from windows import Conditions, windows

BATCH = 96
KEPT = 0.999  # of the mean weights in each step
Range = tuple[float, float]


def of_both() -> tuple[list[Group], Group]:
    """espeak-ng's speech, and flite's three times, of which there is less."""
    (words, others), (more, more_others) = of_espeak(), of_flite()
    return [a + 3 * b for a, b in zip(words, more, strict=True)], others + 3 * more_others


@dataclass(frozen=True)
class Part:
    """Windows to train with."""

    name: str
    speech: Callable[[], tuple[list[Group], Group]]
    seeds: tuple[int, int]  # of noises and of windows
    counts: tuple[int, int, int]  # windows of each word, of other speech, of none
    snr: Range
    loudness: Range  # dB below full scale
    ring: Range  # seconds
    response: float  # dB of the microphone
    size: Range  # of the speaker

    def data(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Features and classes, made once."""
        file = FOLDER / f"{self.name}.pt"
        if not file.exists():
            words, others = self.speech()
            noises = sounds.Bank(self.seeds[0], sounds.TRAINING, others, seconds=120)
            how = Conditions(noises, self.snr, self.loudness, self.ring, self.response, self.size)
            x, y = windows(self.seeds[1], words, others, SAMPLES, self.counts, how)
            torch.save((features(x), torch.from_numpy(y)), file)
        return torch.load(file, weights_only=True)


@dataclass(frozen=True)
class Stage:
    """What is learnt at a time, and how."""

    name: str
    windows: Part
    epochs: int
    rate: float
    rising: float  # share of the steps in which the rate rises
    strength: float  # of what varies the features


HARD = Part("hard", of_espeak, (5, 3), (6000, 42000, 8000), (-2, 32), (6, 46), (0.08, 0.6), 4.0, (0.82, 1.22))
USUAL = Part("usual", of_both, (7, 8), (4500, 30000, 5000), (4, 35), (8, 40), (0.08, 0.45), 3.0, (0.85, 1.3))
STAGES = (Stage("hard", HARD, 24, 6e-3, 0.15, 1.0), Stage("usual", USUAL, 8, 3e-3, 0.1, 0.6))


def features(samples: np.ndarray) -> torch.Tensor:
    """(N, frames, 40) in float16: what the front end gives."""
    front = front_end()
    with torch.no_grad():
        cut = np.array_split(samples, len(samples) // 256 + 1)
        parts = [front(torch.from_numpy(part).float() / 32768).transpose(1, 2).half() for part in cut]
    return torch.cat(parts)


def to_test() -> tuple[torch.Tensor, torch.Tensor]:
    """Features and classes of voices of espeak-ng that training does not hear."""
    words, others = held_out()
    how = Conditions(sounds.Bank(6, sounds.TRAINING, others), (5, 30), (10, 40), (0.1, 0.4), 3.0, (0.95, 1.05))
    x, y = windows(4, words, others, SAMPLES, (100, 500, 100), how)
    return features(x), torch.from_numpy(y)


def smooth(n: int, *size: int) -> torch.Tensor:
    """(n, size...) of values that change slowly, about one large."""
    points = [max(2, length // 8) for length in size]
    mode = "linear" if len(size) == 1 else "bilinear"
    return F.interpolate(torch.randn(n, 1, *points), size, mode=mode, align_corners=True)[:, 0]


def between(n: int, most: float) -> torch.Tensor:
    """(n, 1) from -most to most."""
    return most * (2 * torch.rand(n, 1) - 1)


def varied(x: torch.Tensor, strength: float) -> torch.Tensor:
    """Each window spoken by somebody else: bands and time stretched unevenly, other microphones, loudness that changes
    from sound to sound, sharper or duller spectra, and parts hidden."""
    n, frames, mels = x.shape
    s = strength
    bands, time = torch.linspace(-1, 1, mels), torch.linspace(-1, 1, frames)
    at_band = bands * (1 + between(n, 0.12 * s)) + between(n, 0.06 * s) + 0.02 * s * smooth(n, mels)
    at_time = time * (1 + between(n, 0.12 * s)) + 0.035 * s * smooth(n, frames)
    place = torch.stack((at_band[:, None].expand(n, frames, mels), at_time[:, :, None].expand(n, frames, mels)), -1)
    x = F.grid_sample(x[:, None], place, padding_mode="border", align_corners=True)[:, 0]
    dull = F.avg_pool1d(x, 5, 1, 2, count_include_pad=False)
    x = dull + (x - dull) * (1 + 0.3 * s * torch.randn(n, 1, 1)).clamp(0, 2)
    x = x + 0.6 * torch.randn(n, 1, 1) + s * (0.7 * torch.randn(n, 1, 1) * bands + 0.8 * smooth(n, mels)[:, None])
    x = x + s * torch.rand(n, 1, 1) * (0.8 * smooth(n, frames)[:, :, None] + 0.8 * smooth(n, frames, mels))
    floor = x.mean((1, 2), keepdim=True)
    for axis, most in ((1, 6), (2, 8)):
        size = x.shape[axis]
        start = torch.randint(0, size, (n, 1))
        hidden = (torch.arange(size) >= start) & (torch.arange(size) < start + torch.randint(0, most, (n, 1)))
        x = torch.where(hidden[:, :, None] if axis == 1 else hidden[:, None], floor, x)
    return x


def accuracy(net: WordNet, x: torch.Tensor, labels: torch.Tensor) -> float:
    with torch.no_grad():
        found = [net(part.float().unsqueeze(1))[:, :, 0, 0].argmax(1) for part in x.split(256)]
    return float((torch.cat(found) == labels).float().mean())


def train(net: WordNet, stage: Stage, held: tuple[torch.Tensor, torch.Tensor]) -> WordNet:
    """The mean of the weights over the last steps. A run that was interrupted goes on after its last epoch."""
    inputs, labels = stage.windows.data()
    print(f"{stage.name}: {len(inputs)} windows", flush=True)
    net = net.to(memory_format=torch.channels_last)
    mean = torch.optim.swa_utils.AveragedModel(
        net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(KEPT), use_buffers=True
    )
    steps = len(inputs) // BATCH
    optimizer = torch.optim.AdamW(net.parameters(), lr=stage.rate, weight_decay=2e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, stage.rate, stage.epochs * steps, pct_start=stage.rising
    )
    parts, first, state = (net, mean, optimizer, schedule), 0, FOLDER / f"{stage.name}-state.pt"
    if state.exists():
        first, *states = torch.load(state, weights_only=True)
        for part, kept in zip(parts, states, strict=True):
            part.load_state_dict(kept)
    for epoch in range(first, stage.epochs):
        torch.manual_seed(epoch + 1)
        net.train()
        order, total = torch.randperm(len(inputs)), 0.0
        for i in range(steps):
            batch = order[i * BATCH : (i + 1) * BATCH]
            x = varied(inputs[batch].float(), stage.strength).unsqueeze(1).contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(net(x)[:, :, 0, 0], labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            mean.update_parameters(net)
            total += loss.item()
        mean.eval()
        right = accuracy(mean.module, *held)
        print(f"epoch {epoch}: loss {total / steps:.3f}, {right:.2%} of unheard voices of espeak-ng", flush=True)
        torch.save([epoch + 1, *(part.state_dict() for part in parts)], state)
    return mean.module


def main() -> None:
    torch.set_num_threads(1)  # the order of sums, and so the weights, must not depend on the machine's cores
    torch.manual_seed(0)
    net, held = WordNet(), to_test()
    for stage in STAGES:
        net = train(net, stage, held)
    torch.save(net.state_dict(), CHECKPOINT)


if __name__ == "__main__":
    main()
