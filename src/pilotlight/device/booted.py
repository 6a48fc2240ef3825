"""A program of the user's, booted in QEMU, whose device server answers on the emulated board's serial line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pilotlight.boards import Board, Emulator
from pilotlight.cache import scratch_folder
from pilotlight.device.channel import PipeChannel, StreamChannel
from pilotlight.device.device import Device
from pilotlight.device.process import start, stop, tail
from pilotlight.device.where import name_addresses
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.installed import named_version
from pilotlight.system import open_pipe
from pilotlight.toolchain import ModelFolder

_PIPES = ("to_board", "from_board")  # also in projects/templates/shared/bare/pipes.c.j2
_LOG = "output.txt"
# Every instruction takes 32 ns on the board's clocks, so that cycles are as steady as the program.
_STEADY = ["-icount", "shift=5,align=off,sleep=off"]


class EmulatedLine(StreamChannel):
    """The serial line of an emulated board; a program that does not keep up may lose bytes."""

    reliable = False


class BootedDevice(Device):
    """`program` is an image for an emulated board, with the device server and `model` in it. Where the board has no
    serial line that is known, the server uses two named pipes."""

    counts_reason = "instructions are counted in builds of pilotlight run"

    def __init__(self, board: Board, program: Path, model: ModelFolder, timeout: float = 10.0):
        super().__init__(model, board.name, timeout)
        if board.emulator is None:
            raise PilotlightError(
                f"{board.name} is not emulated", hint="connect to the board itself: pl.connect", kind="not-runnable"
            )
        emulator = shutil.which(board.emulator.program)
        if emulator is None:
            raise MissingToolError(board.emulator.program, board.emulator.package, f"to run {board.name}")
        self.emulator = named_version(board.emulator.program)
        self._program = program.absolute()
        self._printed = ""
        self._folder = scratch_folder("device-")
        self._work = Path(self._folder.name)
        self._pipes: list[int] = []
        command = [emulator, *emulator_arguments(board.emulator, self._program), *_STEADY]
        self._boot(command, serial=board.uart is not None)
        self._greet_or_close()

    def _boot(self, command: list[str], serial: bool) -> None:
        if serial:
            command += ["-chardev", "stdio,id=line,mux=off,signal=off", "-serial", "chardev:line"]
            ends = subprocess.PIPE
        else:
            self._pipes = [open_pipe(self._work / name) for name in _PIPES]
            command += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
            ends = subprocess.DEVNULL
        self._process = start(command, self._work, self._work / _LOG, stdin=ends, stdout=ends)
        self._channel: EmulatedLine | None = None
        if serial:
            assert self._process.stdin and self._process.stdout
            self._channel = EmulatedLine(self._process.stdout, self._process.stdin)
            self._client = self._new_client(self._channel)
        else:
            to_board, from_board = self._pipes
            self._client = self._new_client(
                PipeChannel(from_board, to_board, lambda: self._process.poll() is None)
            )

    def _output(self) -> str:
        return name_addresses(self._program, self._words(self._printed))

    def _shut(self) -> None:
        stop(self._process)
        if self._channel is not None:
            self._channel.close()
        while self._pipes:
            os.close(self._pipes.pop())
        self._printed = tail(self._work / _LOG) or self._printed
        self._folder.cleanup()


def emulator_arguments(emulator: Emulator, program: Path) -> list[str]:
    """What QEMU is told about every program; which lines the board has comes after it."""
    args = ["-machine", emulator.machine, *emulator.args, "-kernel", str(program)]
    return [*args, "-display", "none", "-monitor", "none"]
