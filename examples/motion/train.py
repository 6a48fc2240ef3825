"""Trains the network on simulated people from a fixed seed and writes motion.pt: a few minutes of one core.

    python examples/motion/train.py
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from model import CHECKPOINT, SAMPLES, MotionNet
from simulate import CLASSES, windows

PEOPLE, HELD_OUT, EACH = 160, 40, 12
EPOCHS, BATCH, RATE = 18, 64, 4e-3


def turned(x: torch.Tensor) -> torch.Tensor:
    """Each window in another orientation: a rotation from a random quaternion."""
    q = F.normalize(torch.randn(len(x), 4), dim=1)
    a, b, c, d = q.unbind(1)
    rows = torch.stack([
        1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c),
        2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b),
        2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c),
    ], 1)  # fmt: skip
    return rows.view(-1, 3, 3) @ x


def main() -> None:
    torch.set_num_threads(1)  # the order of sums, and so the weights, must not depend on the machine's cores
    torch.manual_seed(0)
    x, y = (torch.from_numpy(a) for a in windows(1, PEOPLE, EACH, SAMPLES))
    held_x, held_y = (torch.from_numpy(a) for a in windows(2, HELD_OUT, EACH, SAMPLES))
    print(f"{len(x)} windows of {PEOPLE} simulated people to train with, {len(held_x)} of {HELD_OUT} others")
    net = MotionNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-2)
    steps = len(x) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=EPOCHS * steps)
    for epoch in range(EPOCHS):
        net.train()
        order, total = torch.randperm(len(x)), 0.0
        for i in range(steps):
            batch = order[i * BATCH : (i + 1) * BATCH]
            loss = F.cross_entropy(net(turned(x[batch]))[:, 0], y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1:2}: loss {total / steps:.3f}", flush=True)
    net.eval()
    with torch.no_grad():
        guesses = net(held_x)[:, 0].argmax(1)
    print(f"people it has not seen: {(guesses == held_y).float().mean():.2%} right")
    table = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(table, (held_y.numpy(), guesses.numpy()), 1)
    for name, row in zip(CLASSES, table, strict=True):
        print(f"{name:8}", *(f"{n:5}" for n in row))
    torch.save(net.state_dict(), CHECKPOINT)


if __name__ == "__main__":
    main()
