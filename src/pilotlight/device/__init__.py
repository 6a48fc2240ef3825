"""Devices: things that run a built model.

    with device.open(board, build, timeout=120.0, count=True) as dev:
        outputs = dev.run([array, ...])    # numpy, in metadata's c_shape and dtype; one boot, many runs
        dev.reset()                        # state starts over
    dev.counts                             # device.counts.Counts: .totals per run, .runs per run and step; or None
    dev.counts_reason                      # why there are no counts
    dev.stack                              # deepest painted stack in bytes, None on host
    dev.emulator                           # its name and version, None on host
    device.connect("/dev/ttyACM0")         # the same for a board whose server is running

`build` comes from toolchain.build_model for the same board. A board that hangs, crashes or is missing its
emulator raises PilotlightError (kinds board-hangs, board-crashed, missing-tool).
"""

from __future__ import annotations

import shutil

from pilotlight.boards import Board
from pilotlight.device.device import Device, OtherModelError
from pilotlight.device.emulator import EmulatedDevice
from pilotlight.device.host import HostDevice
from pilotlight.device.line import connect, port_of
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.system import has_pipes, load_package
from pilotlight.toolchain import BuildInfo

__all__ = ["Device", "OtherModelError", "chosen_emulator", "connect", "open", "port_of"]


def open(
    board: Board, build: BuildInfo, timeout: float = 120.0, count: bool = True, emulator: str | None = None
) -> Device:
    """A booted board; `emulator` is one of options.EMULATORS, by default QEMU where it is installed."""
    if board != build.board:
        raise PilotlightError(
            f"the model was built for {build.board.name}, not for {board.name}", kind="wrong-board"
        )
    if board.is_host:
        return HostDevice(build, timeout)
    if not board.runnable:
        raise PilotlightError(
            f"{board.name} is not emulated and cannot be run from here",
            hint="an emulated board with the same kind of core gives the same results",
            kind="not-runnable",
        )
    if chosen_emulator(board, emulator) == "qemu":
        return EmulatedDevice(build, timeout, count)
    load_package("unicorn", board.emulator.package if board.emulator else None, f"to run {board.name}")
    from pilotlight.device.inprocess import InProcessDevice  # after it is known that there is a Unicorn

    return InProcessDevice(build, timeout, count)


def chosen_emulator(board: Board, wanted: str | None = None) -> str:
    """What an emulated board runs in: one of options.EMULATORS."""
    qemu = board.emulator
    if qemu is None:
        if wanted == "qemu":
            raise PilotlightError(
                f"QEMU does not emulate {board.name}", hint="unicorn does: omit --emulator qemu", kind="usage"
            )
        return "unicorn"
    installed = shutil.which(qemu.program) is not None and has_pipes()
    if wanted == "qemu" or (wanted is None and (installed or not board.in_process)):
        if not installed:
            raise MissingToolError(qemu.program, qemu.package, f"to run {board.name}")
        return "qemu"
    if not board.in_process:
        raise PilotlightError(
            f"unicorn does not emulate {board.cpu}, the core of {board.name}",
            hint=f"use QEMU{'' if installed else f': apt-get install {qemu.package}'}", kind="usage",
        )
    return "unicorn"
