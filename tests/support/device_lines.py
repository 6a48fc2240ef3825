"""Lines to the device server of the tiny model, which runs as a process here: with faults, and on a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import tty
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pilotlight import boards
from pilotlight.device.channel import EndedError, StreamChannel
from pilotlight.toolchain.find import find
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header


def server_program(
    folder: Path, work: Path, buffer: int, *more: str, port: Path = DEVICE_SOURCES / "io_host.c"
) -> Path:
    """The server with a model, as a program of this computer with a transfer buffer of any size."""
    host, model, target = boards.load("host"), read_folder(folder), work / "server"
    (work / "pl_ports.h").write_text(ports_header(model))
    sources = [*(folder / name for name in model.sources)]
    sources += [*(DEVICE_SOURCES / name for name in ("server.c", "frame.c", "model.c")), port]
    found = find(host)
    flags = ["-std=c99", "-O1", f"-DPL_BUFFER_BYTES={buffer}u", "-ffp-contract=off"]
    include = [f"-I{path}" for path in (DEVICE_SOURCES, work, folder)]
    command = [*found.command, *found.flags(host), *flags, *include, *more, *map(str, sources), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@dataclass(frozen=True)
class Fault:
    """What happens to one transfer: `at` is a place in it, `data` is noise or the bits that flip."""

    kind: str
    at: int = 0
    data: bytes = b"\x01"

    def applied(self, words: bytes) -> bytes:
        at = self.at % (len(words) + 1)
        end = at + len(self.data)
        if self.kind == "flip":
            flipped = bytes(a ^ b for a, b in zip(words[at:end], self.data, strict=False))
            return words[:at] + flipped + words[at + len(flipped) :]
        if self.kind == "lose":
            return words[:at] + words[end:]
        if self.kind == "cut":
            return words[:at]
        if self.kind == "noise":
            return words[:at] + self.data + words[at:]
        if self.kind == "double":
            return words + words
        assert self.kind == "swallow"
        return b""


class FaultyLine:
    """Wraps a channel; faults are used up one by one, in the order of the transfers in each direction."""

    reliable = False

    def __init__(self, channel: StreamChannel, to_board: Iterable[Fault | None], from_board: Iterable[Fault | None]):
        self._channel = channel
        self._to_board, self._from_board = iter(to_board), iter(from_board)
        self._late_to, self._late_from = b"", b""  # comes with what follows it
        self.sent = 0

    def write(self, data: bytes, timeout: float) -> None:
        self.sent += 1
        fault = next(self._to_board, None)
        if fault and fault.kind == "late":
            self._late_to += data
            return
        late, self._late_to = self._late_to, b""
        self._channel.write(late + (fault.applied(data) if fault else data), timeout)

    def read(self, timeout: float) -> bytes:
        data = self._channel.read(timeout)
        fault = next(self._from_board, None)
        if fault and fault.kind == "late":
            self._late_from += data
            return self.read(timeout)
        late, self._late_from = self._late_from, b""
        return late + (fault.applied(data) if fault else data)


class Server:
    """The program with the server and the model."""

    def __init__(self, program: Path):
        self._process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdin and self._process.stdout
        self.channel = StreamChannel(self._process.stdout, self._process.stdin)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.channel.close()


class Restarting:
    """A channel whose board starts over before one of the next transfers to it."""

    reliable = False

    def __init__(self, program: Path):
        self._program = program
        self._server = Server(program)
        self.good: int | None = None  # transfers before that one

    def write(self, data: bytes, timeout: float) -> None:
        if self.good == 0:
            self._server.close()
            self._server = Server(self._program)
        self.good = self.good - 1 if self.good else None
        with contextlib.suppress(EndedError):
            self._server.channel.write(data, timeout)

    def read(self, timeout: float) -> bytes:
        return self._server.channel.read(timeout)

    def close(self) -> None:
        self._server.close()


@contextlib.contextmanager
def serial_board(program: Path | None) -> Iterator[tuple[str, Board]]:
    """The path of a serial port with a board on it; one without a program is silent."""
    board, port = pty.openpty()
    tty.setraw(port)
    name = os.ttyname(port)
    made = Board(board, port)
    if program:
        made.restart(program)
    try:
        yield name, made
    finally:
        made.unplug()


class Board:
    """On one end of a pseudo-terminal."""

    def __init__(self, board: int, port: int):
        self._process: subprocess.Popen[bytes] | None = None
        self._fds = [board, port]

    def restart(self, program: Path) -> None:
        self._stop()
        self._process = subprocess.Popen([str(program)], stdin=self._fds[0], stdout=self._fds[0])

    def say(self, words: bytes) -> None:
        os.write(self._fds[0], words)

    def unplug(self) -> None:
        self._stop()
        while self._fds:
            os.close(self._fds.pop())

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
