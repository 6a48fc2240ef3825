"""scikit-learn's handwritten digits: 1,797 images of 8x8, split once and for all; nothing is downloaded."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HELD_OUT = 360

Split = tuple[torch.Tensor, torch.Tensor]


def splits() -> tuple[Split, Split]:
    """(images, labels) to train on and the 360 held out: (N, 1, 8, 8) float32 in 0..1 and (N,) int64."""
    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    train_x, test_x, train_y, test_y = train_test_split(
        images, torch.tensor(labels), test_size=HELD_OUT, random_state=0, stratify=labels
    )
    return (train_x, train_y), (test_x, test_y)
