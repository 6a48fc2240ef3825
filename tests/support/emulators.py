"""Emulators in tests: the one that boots at once, and whether they agree."""

from __future__ import annotations

import shutil

import numpy as np

from pilotlight import boards, device
from pilotlight.compiler import Build
from pilotlight.graph.ports import to_memory
from pilotlight.options import Options


def quickest(board: str) -> Options:
    """In this process, which boots at once, where the core allows."""
    return Options(emulator="unicorn" if boards.load(board).in_process else None)


def runs_here(board: str) -> bool:
    """Whether an emulator of it is installed."""
    known = boards.load(board)
    return known.in_process or (known.emulator is not None and shutil.which(known.emulator.program) is not None)


def assert_emulators_agree(build: Build) -> None:
    """The same image gives the same bytes, the same instructions of every operator and the same stack in both. Where
    there is no QEMU, the tests of the emulators themselves are skipped and say so."""
    if device.chosen_emulator(build.board) != "qemu":
        return
    image = build.runnable_info
    arrays = [to_memory(port, x) for port, x in zip(build.lowered.inputs, build.graph.truth.example, strict=True)]
    found = []
    for emulator in ("qemu", "unicorn"):
        with device.open(image.board, image, 300.0, emulator=emulator) as dev:
            outputs = [np.ascontiguousarray(y).tobytes() for y in dev.run(arrays)]
        assert dev.counts is not None
        found.append((outputs, dev.counts.runs, dev.stack))
    assert found[0] == found[1]
