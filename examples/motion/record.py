"""Writes the test recording of a person that training does not know, and samples to calibrate int8 with.

    python examples/motion/record.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from model import SAMPLES
from simulate import recording, windows

RECORDINGS = Path(__file__).resolve().with_name("recordings")
PLAN = [
    ("rest", 6.0), ("walk", 10.0), ("stairs", 10.0), ("run", 8.0), ("shake", 6.0), ("rest", 4.0), ("walk", 6.0),
    ("fall", 5.0),
]  # fmt: skip
SEED, CALIBRATION = 31, 3  # people of neither training (1) nor the held-out set (2)


def main() -> None:
    RECORDINGS.mkdir(exist_ok=True)
    np.savez_compressed(RECORDINGS / "minute.npz", x=recording(SEED, PLAN).T[None])  # (1, 3, samples) in g
    starts = np.cumsum([0.0, *(seconds for _, seconds in PLAN)])
    lines = [f"{start:.1f} {name}\n" for start, (name, _) in zip(starts, PLAN, strict=False)]
    (RECORDINGS / "minute.txt").write_text("".join(lines))
    x, _ = windows(CALIBRATION, people=6, each=1, samples=SAMPLES)
    np.savez_compressed(RECORDINGS / "calibrate.npz", x=x)


if __name__ == "__main__":
    main()
