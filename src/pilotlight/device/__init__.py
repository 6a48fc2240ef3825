"""Devices: things that run a built model.

    with device.open(board, build, timeout=120.0, count=True) as dev:
        outputs = dev.run([array, ...])    # numpy, in metadata's c_shape and dtype; one boot, many runs
        dev.reset()                        # state starts over
    dev.counts                             # device.counts.Counts: .totals per run, .runs per run and step; or None
    dev.counts_reason                      # why there are no counts
    dev.stack                              # deepest painted stack in bytes, None on host

`build` comes from toolchain.build_model for the same board. A board that hangs, crashes or is missing its
emulator raises PilotlightError (kinds board-hangs, board-crashed, missing-tool).
"""

from __future__ import annotations

from pilotlight.boards import Board
from pilotlight.device.device import Device
from pilotlight.device.emulator import EmulatedDevice
from pilotlight.device.host import HostDevice
from pilotlight.errors import PilotlightError
from pilotlight.toolchain import BuildInfo

__all__ = ["Device", "open"]


def open(board: Board, build: BuildInfo, timeout: float = 120.0, count: bool = True) -> Device:
    if board != build.board:
        raise PilotlightError(
            f"the model was built for {build.board.name}, not for {board.name}", kind="wrong-board"
        )
    if board.is_host:
        return HostDevice(build, timeout)
    if board.emulator is not None:
        return EmulatedDevice(build, timeout, count)
    raise PilotlightError(
        f"{board.name} is not emulated and cannot be run from here",
        hint="an emulated board with the same kind of core gives the same results",
        kind="not-runnable",
    )
