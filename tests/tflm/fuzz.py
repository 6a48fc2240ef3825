"""Mutated `.tflite` files through the reader: each is read or refused with a sentence, soon and in little memory.

    python -m tests.tflm.fuzz --count 100000 --seed 0          (make fuzz-tflite)
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
from collections import Counter
from types import FrameType

import numpy as np
import torch
from tests.support.tflite_random import CASES, random_model

from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.errors import PilotlightError

SECONDS = 20  # for one file, on a busy computer
GROWTH = 1 << 20  # kilobytes that the process may grow by
_ODD = np.array([0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1], np.uint64)


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes or words changed, moved, cut or repeated."""
    out = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        if len(out) < 16:
            break
        at = int(rng.integers(0, len(out) - 8))
        match int(rng.integers(0, 8)):
            case 0:
                out[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                out[at] = int(rng.integers(0, 256))
            case 2:
                at &= ~3
                out[at : at + 4] = int(rng.choice(_ODD)).to_bytes(8, "little")[:4]
            case 3:
                at &= ~3
                word = int.from_bytes(out[at : at + 4], "little") + int(rng.integers(-64, 65))
                out[at : at + 4] = (word & 0xFFFFFFFF).to_bytes(4, "little")
            case 4:
                at &= ~1
                out[at : at + 2] = int(rng.integers(0, 40)).to_bytes(2, "little")
            case 5:
                if rng.random() < 0.2:
                    del out[at : at + int(rng.integers(1, 64))]
            case 6:
                there = int(rng.integers(0, len(out) - 8))
                out[at : at + 8] = out[there : there + 8]
            case 7:
                if rng.random() < 0.1:
                    del out[at:]
    return bytes(out)


def bases() -> list[bytes]:
    """One file of every operator of every kind."""
    return [random_model(name, 1, kind) for kind, cases in CASES.items() for name in cases]


def outcome(data: bytes) -> str:
    """"read", or the kind of the refusal; anything else is raised."""
    try:
        lower_tflite(parse_tflite(data, "mutated.tflite"), "model")
    except PilotlightError as error:
        return error.kind
    return "read"


def _late(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def fuzz(count: int, seed: int, say: bool = True) -> Counter[str]:
    """Raises what is not a refusal, with the seed that makes it again."""
    torch.set_num_threads(1)
    files, rows = bases(), Counter[str]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.time()
    signal.signal(signal.SIGALRM, _late)
    for number in range(seed, seed + count):
        rng = np.random.default_rng(number)
        data = mutate(files[int(rng.integers(0, len(files)))], rng)
        signal.alarm(SECONDS)
        try:
            rows[outcome(data)] += 1
        except BaseException as error:
            raise AssertionError(f"seed {number}: {type(error).__name__}: {error}") from error
        finally:
            signal.alarm(0)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if grown > GROWTH:
            raise AssertionError(f"seed {number}: {grown:,} KB more than at the start")
        if say and (number - seed + 1) % 5000 == 0:
            taken = f"{time.time() - start:.0f} s, {grown:,} KB more"
            print(f"{number - seed + 1:,} files, {taken}: {dict(rows)}", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(dict(fuzz(args.count, args.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
