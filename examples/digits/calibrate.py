"""Writes build/digits.npz, the samples that int8 is calibrated with: `python examples/digits/calibrate.py`."""

import sys
from pathlib import Path

import numpy as np

from dataset import splits

(images, _), _ = splits()
target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/digits.npz")
target.parent.mkdir(parents=True, exist_ok=True)
np.savez(target, x=images[:200].numpy())  # one array for each input of the model, samples along the first axis
