"""Trains the demo's network from a fixed seed and writes its weights and the images that it did not see.

    python examples/digits/train.py
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from dataset import splits
from pilotlight.demo import IMAGES
from pilotlight.demo.model import CHECKPOINT, DigitsNet

EPOCHS = 30
BATCH = 64


def shifted(images: torch.Tensor) -> torch.Tensor:
    """The batch moved by up to one pixel in each direction: writers do not centre their digits."""
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    return F.pad(images, (1, 1, 1, 1))[:, :, dy : dy + 8, dx : dx + 8]


def train(images: torch.Tensor, labels: torch.Tensor, seed: int = 0) -> DigitsNet:
    torch.manual_seed(seed)
    net = DigitsNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=1e-2)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images))
        for i in range(len(images) // BATCH):
            batch = order[i * BATCH : (i + 1) * BATCH]
            loss = F.cross_entropy(net(shifted(images[batch])), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def accuracy(net: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    with torch.no_grad():
        return float((net(images).argmax(dim=1) == labels).float().mean())


def write_images(images: torch.Tensor, labels: torch.Tensor) -> None:
    """Pixels are whole sixteenths."""
    pixels = (images[:, 0] * 16).to(torch.uint8).numpy()
    np.savez_compressed(IMAGES, images=pixels, labels=labels.to(torch.uint8).numpy())


def main() -> None:
    torch.set_num_threads(1)  # the order of sums, and so the weights, must not depend on the machine's cores
    train_set, held_out = splits()
    net = train(*train_set)
    torch.save(net.state_dict(), CHECKPOINT)
    write_images(*held_out)
    print(f"trained on {len(train_set[0])} images: {accuracy(net, *train_set):.2%} right")
    print(f"held out {len(held_out[0])} images:  {accuracy(net, *held_out):.2%} right")
    print(f"wrote {CHECKPOINT}, {CHECKPOINT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
