"""Trains the large network on what six synthesizers say, from a fixed seed, then again with other speech that it took
for words, and the small network on what the large one says: listen.pt and small.pt.

    python examples/listen/train.py     # two hours; what was made and learnt is kept in build/listen
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import sounds
from model import LARGE, SAMPLES, SMALL, WordNet, front_end
from speech import FOLDER, Group, held_out, of_accents, of_espeak, of_flite, of_joe, of_kokoro, of_mbrola, of_pico
from windows import Conditions, windows
from words import CLASSES, SILENCE, WORDS

BATCH = 96
KEPT = 0.999  # of the mean weights in each step
Windows = tuple[torch.Tensor, torch.Tensor]  # features and classes


@dataclass(frozen=True)
class Stage:
    """What is learnt at a time, and how."""

    name: str
    epochs: int
    rate: float
    rising: float  # share of the steps in which the rate rises
    strength: float  # of what varies the features


USUAL = Stage("usual", 16, 4e-3, 0.15, 0.8)
HARDER = Stage("harder", 7, 2.5e-3, 0.1, 0.7)
TAUGHT = Stage("taught", 5, 6e-3, 0.15, 0.7)
MILDER = Stage("milder", 4, 3e-3, 0.1, 0.45)
LABELS = 0.3  # share of the labels in what the small network learns; the rest is what the large one says
PARTS = 20  # of the windows, each made alone
COUNTS, MORE = (875, 5600, 875), (875, 7000, 2000)  # windows of each word, of other speech, of none, in a part
TRIED = 14000  # windows of other speech in a part, of which the ones that are taken for words are kept
TAKEN = 0.15  # the probability of a word that does it


def conditions(seed: int, others: Group, snr: tuple[float, float] = (2, 35)) -> Conditions:
    """Rooms, noises and microphones as they usually are."""
    noises = sounds.Bank(seed, sounds.TRAINING, others, seconds=120)
    return Conditions(noises, snr, loudness=(8, 42), ring=(0.08, 0.5), response=3.5, size=(0.86, 1.22))


def usual_windows(k: int) -> Path:
    return _windows(f"windows-{k}", k, COUNTS, (2, 35))


def harder_windows(k: int) -> Path:
    """With more noise, and more without a word."""
    return _windows(f"harder-{k}", 500 + k, MORE, (-3, 25))


def _windows(name: str, seed: int, counts: tuple[int, int, int], snr: tuple[float, float]) -> Path:
    """Features and classes, made once."""
    file = FOLDER / f"{name}.pt"
    if not file.exists():
        words, others = all_speech()
        x, y = windows(200 + seed, words, others, SAMPLES, counts, conditions(100 + seed, others, snr))
        torch.save((features(x), torch.from_numpy(y)), file)
    return file


def mistaken_windows(k: int) -> Path:
    """Other speech that the large network takes for a word."""
    file = FOLDER / f"mistaken-{k}.pt"
    if not file.exists():
        torch.set_num_threads(1)
        words, others = all_speech()
        net = WordNet(LARGE)
        net.load_state_dict(torch.load(FOLDER / f"{USUAL.name}.pt", weights_only=True))
        x, y = windows(400 + k, words, others, SAMPLES, (0, TRIED, 0), conditions(300 + k, others))
        inputs = features(x)
        taken = F.softmax(scores(net.eval(), inputs), 1)[:, : len(WORDS)].amax(1) > TAKEN
        torch.save((inputs[taken], torch.from_numpy(y)[taken]), file)
    return file


def made(make: Callable[[int], Path], parts: int) -> Windows:
    """All parts, two at a time."""
    all_speech()  # before two processes ask for it at once
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        files = list(pool.map(make, range(parts)))
    return joined(*(torch.load(file, weights_only=True) for file in files))


def joined(*parts: Windows) -> Windows:
    inputs, labels = zip(*parts, strict=True)
    return torch.cat(inputs), torch.cat(labels)


@cache
def all_speech() -> tuple[list[Group], Group]:
    """espeak-ng's speech, and that of voices of people several times, of which there is less."""
    words, others = of_espeak()
    more = ((of_flite, 2), (of_pico, 2), (of_kokoro, 4), (of_joe, 3), (of_mbrola, 2), (of_accents, 1))
    for of, times in more:
        its_words, its_others = of()
        words = [a + times * b for a, b in zip(words, its_words, strict=True)]
        others = others + times * its_others
    return words, others


def features(samples: np.ndarray) -> torch.Tensor:
    """(N, frames, 40) in float16: what the front end gives."""
    front = front_end()
    with torch.no_grad():
        cut = np.array_split(samples, len(samples) // 256 + 1)
        parts = [front(torch.from_numpy(part).float() / 32768).transpose(1, 2).half() for part in cut]
    return torch.cat(parts)


def to_test() -> Windows:
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


def noisier(x: torch.Tensor, noises: torch.Tensor) -> torch.Tensor:
    """Half of the windows with the noise of another one, in another colour: energies add."""
    n, _, mels = x.shape
    noise = noises[torch.randint(len(noises), (n,))].float()
    noise = noise - noise.mean((1, 2), keepdim=True) + 1.5 * smooth(n, mels)[:, None]
    loudest = x.amax(1).mean(1)[:, None, None]
    noise = noise + loudest - 1.5 - 6.5 * torch.rand(n, 1, 1)
    return torch.where(torch.rand(n, 1, 1) < 0.5, torch.logaddexp(x, noise), x)


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


def scores(net: WordNet, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([net(part.float().unsqueeze(1))[:, :, 0, 0] for part in x.split(256)])


def train(net: WordNet, stage: Stage, data: Windows, held: Windows, teacher: WordNet | None = None) -> WordNet:
    """The mean of the weights over the last steps. A run that was interrupted goes on after its last epoch."""
    inputs, labels = data
    noises = inputs[labels == SILENCE]
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
            x = varied(noisier(inputs[batch].float(), noises), stage.strength)
            x = x.unsqueeze(1).contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(net(x)[:, :, 0, 0], wished(x, labels[batch], teacher), label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            mean.update_parameters(net)
            total += loss.item()
        mean.eval()
        right = (scores(mean.module, held[0]).argmax(1) == held[1]).float().mean()
        print(f"epoch {epoch}: loss {total / steps:.3f}, {right:.2%} of unheard voices of espeak-ng", flush=True)
        torch.save([epoch + 1, *(part.state_dict() for part in parts)], state)
        torch.save(mean.module.state_dict(), FOLDER / f"{stage.name}.pt")
    return mean.module


def wished(x: torch.Tensor, labels: torch.Tensor, teacher: WordNet | None) -> torch.Tensor:
    """(N, 12) probabilities: the labels, or mostly what a teacher says of the same windows."""
    known = F.one_hot(labels, len(CLASSES)).float()
    if teacher is None:
        return known
    with torch.no_grad():
        return LABELS * known + (1 - LABELS) * F.softmax(teacher(x)[:, :, 0, 0], 1)


def main() -> None:
    torch.set_num_threads(2)  # the order of sums, and so the weights, must not depend on the machine's cores
    torch.manual_seed(0)
    held, usual = to_test(), made(usual_windows, PARTS)
    large = train(WordNet(LARGE), USUAL, usual, held)
    data = joined(usual, made(harder_windows, PARTS), made(mistaken_windows, 12))
    large = train(large, HARDER, data, held)
    torch.save(large.state_dict(), LARGE.checkpoint)
    small = train(WordNet(SMALL), TAUGHT, data, held, teacher=large.eval())
    small = train(small, MILDER, data, held, teacher=large)
    torch.save(small.state_dict(), SMALL.checkpoint)


if __name__ == "__main__":
    main()
