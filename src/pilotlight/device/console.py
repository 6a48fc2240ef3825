"""What a board says by itself: lines of plain text, and the protocol's log frames between them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.device.booted import emulator_arguments
from pilotlight.device.channel import Channel, EndedError, StreamChannel
from pilotlight.device.frames import LOG, unpack
from pilotlight.device.line import SerialChannel, TcpChannel, is_address
from pilotlight.device.process import start, stop, tail
from pilotlight.errors import MissingToolError, PilotlightError

_LONGEST = 4096  # bytes without an end of a line or of a frame
_LOG = "output.txt"


class LogReader:
    """Cuts what comes into lines. A frame lies between zeros, and its header is no text; frames other than log lines
    are answers to somebody else's questions, and left out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        self._rest += data
        lines: list[str] = []
        while True:
            line, zero = self._rest.find(b"\n"), self._rest.find(b"\0")
            if line >= 0 and (zero < 0 or line < zero) and _is_text(self._rest[:line]):
                lines.append(_text(self._rest[:line]))
                self._rest = self._rest[line + 1 :]
            elif zero >= 0:
                lines += _between_zeros(self._rest[:zero])
                self._rest = self._rest[zero + 1 :]
            elif len(self._rest) > _LONGEST:
                lines += _text(self._rest).splitlines()
                self._rest = b""
            else:
                return lines

    def end(self) -> list[str]:
        """What came last, without an end."""
        rest, self._rest = self._rest, b""
        return _between_zeros(rest)


def _between_zeros(chunk: bytes) -> list[str]:
    frame = unpack(chunk)
    if frame is not None:
        return [_text(frame.payload)] if frame.kind == LOG else []
    return _text(chunk).splitlines() if chunk and _is_text(chunk) else []


def _is_text(data: bytes) -> bool:
    """Tabs, line ends, escapes and everything from the space on; what is not ASCII must be whole characters."""
    if any(byte < 32 and byte not in b"\t\n\r\x1b" for byte in data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes) -> str:
    return data.decode(errors="replace").rstrip("\r")


class Console:
    """Lines as they come over a channel; `name` is the board in words."""

    def __init__(self, name: str, channel: Channel):
        self.name = name
        self._channel = channel
        self._reader = LogReader()

    def lines(self, timeout: float) -> Iterator[str] | None:
        """What came within some time, or StalledError; None once the program has ended."""
        try:
            return iter(self._reader.feed(self._channel.read(timeout)))
        except EndedError:
            return self._ended()

    def _ended(self) -> Iterator[str] | None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LineConsole(Console):
    """A board on a serial port or at a network address."""

    def __init__(self, where: str, baud: int = 115200, timeout: float = 10.0):
        self._line = TcpChannel(where, timeout) if is_address(where) else SerialChannel(where, baud)
        super().__init__(f"the board on {where}", self._line)

    def _ended(self) -> Iterator[str] | None:
        raise PilotlightError(
            f"{self.name} is gone: the line was closed", hint="plug it in again", kind="board-missing"
        )

    def close(self) -> None:
        self._line.close()


class EmulatedConsole(Console):
    """A program in QEMU: what it prints by semihosting and on the board's serial line, which are one here."""

    def __init__(self, board: Board, program: Path):
        emulator = board.emulator
        assert emulator is not None
        path = shutil.which(emulator.program)
        if path is None:
            raise MissingToolError(emulator.program, emulator.package, f"to run {board.name}")
        self._folder = scratch_folder("console-")
        self._log = Path(self._folder.name) / _LOG
        command = [path, *emulator_arguments(emulator, program.absolute())]
        command += ["-chardev", "stdio,id=line,mux=on,signal=off", "-serial", "chardev:line"]
        command += ["-semihosting-config", "enable=on,target=native,chardev=line"]
        self._process = start(
            command, self._log.parent, self._log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, own_group=True
        )
        assert self._process.stdin and self._process.stdout
        self._stream = StreamChannel(self._process.stdout, self._process.stdin)
        super().__init__(board.name, self._stream)
        self._over = False

    def _ended(self) -> Iterator[str] | None:
        """First what was left over, then nothing."""
        if self._over:
            return None
        self._over = True
        return iter([*self._reader.end(), *tail(self._log).splitlines()])

    def close(self) -> None:
        stop(self._process)
        self._stream.close()
        self._folder.cleanup()
