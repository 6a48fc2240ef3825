"""A board on a serial port or at a network address, whose server is running: found, opened, and asked what it holds."""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import serial
from serial.tools import list_ports

from pilotlight.boards import Board
from pilotlight.device.channel import Channel, EndedError, StalledError
from pilotlight.device.device import Device
from pilotlight.device.protocol import Client, Facts
from pilotlight.errors import PilotlightError
from pilotlight.toolchain import FolderPort, ModelFolder
from pilotlight.toolchain.folder import FolderEntry

_TCP = "tcp://"
_LOOK = 0.05  # seconds between looks at a serial line
_NOT_THERE = {errno.ENOENT, errno.ENXIO, errno.ENODEV, errno.EIO}
_HELD = {errno.EAGAIN, errno.EBUSY}
_FORBIDDEN = {errno.EACCES, errno.EPERM}


class SerialChannel:
    """A serial port, held by this program alone."""

    reliable = False

    def __init__(self, path: str, baud: int):
        try:
            self._port = serial.Serial(path, baud, timeout=_LOOK, exclusive=True)
        except (OSError, ValueError) as error:
            raise _no_port(path, error) from error

    def read(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        with _gone_if_broken():
            while True:
                if data := self._port.read(max(1, self._port.in_waiting)):
                    return bytes(data)
                if time.monotonic() > deadline:
                    raise StalledError

    def write(self, data: bytes, timeout: float) -> None:
        with _gone_if_broken():
            self._port.write_timeout = max(timeout, _LOOK)
            try:
                self._port.write(data)
            except serial.SerialTimeoutException:
                raise StalledError from None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._port.close()


class TcpChannel:
    """A connection to a board's network address, or to a program that passes a serial line on."""

    reliable = False

    def __init__(self, address: str, timeout: float):
        host, _, port = address.removeprefix(_TCP).rpartition(":")
        if not host or not port.isdigit():
            raise PilotlightError(f"expected tcp://HOST:PORT, got {address}", hint="give both", kind="usage")
        try:
            self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise PilotlightError(
                f"nothing answers at {address}: {reason}", hint="check the address, and that the board is on",
                kind="board-missing",
            ) from error

    def read(self, timeout: float) -> bytes:
        self._socket.settimeout(max(timeout, 0.001))
        with _gone_if_broken():
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise StalledError from None
        if not data:
            raise EndedError
        return data

    def write(self, data: bytes, timeout: float) -> None:
        self._socket.settimeout(max(timeout, 0.001))
        with _gone_if_broken():
            try:
                self._socket.sendall(data)
            except TimeoutError:
                raise StalledError from None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


@contextlib.contextmanager
def _gone_if_broken() -> Any:
    """Other errors of a line mean that the other side is no longer there."""
    try:
        yield
    except OSError as error:
        raise EndedError from error


def _no_port(path: str, error: OSError | ValueError) -> PilotlightError:
    number = getattr(error, "errno", None)
    if number in _NOT_THERE:
        return PilotlightError(
            f"there is no board on {path}: no such port", hint="plug it in, and check the name of its port",
            kind="board-missing",
        )
    if number in _HELD:
        return PilotlightError(
            f"the board on {path} is busy: another program holds the port", hint="close that program",
            kind="board-busy",
        )
    if number in _FORBIDDEN:
        return PilotlightError(
            f"{path} may not be opened by this user", hint="on Linux: sudo usermod -aG dialout $USER, and log in again",
            kind="board-busy",
        )
    return PilotlightError(f"{path} cannot be opened: {error}", hint="check the name of the port", kind="board-missing")


class LineDevice(Device):
    """It was not started here and goes on when it is closed; its state starts over when it is opened."""

    counts_reason = "instructions are counted on emulated boards"
    _stays = True

    def __init__(
        self, where: str, open_channel: Callable[[], SerialChannel | TcpChannel], model: ModelFolder | None,
        timeout: float, patience: float,
    ):
        unknown = ModelFolder(Path(where), "?", (), {}, (), 0, 0, 0, 0)
        super().__init__(model or unknown, f"the board on {where}", timeout)
        self._patience = patience
        self._channel = open_channel()
        self._client = self._new_client(self._channel)
        try:
            if model is None:
                with self._talk() as client:
                    self.model = _described(client.hello(), client.describe(), where)
            else:
                self._greet()
            self.reset()
        except BaseException:
            self._shut()
            raise

    def restart(self) -> None:
        """The server on the board ends, on which the board resets itself."""
        with self._talk() as client:
            client.leave()
        with self._talk() as client:
            client.hello()

    def _new_client(self, channel: Channel) -> Client:
        return Client(channel, self.timeout, self.log.append, self._patience)

    def _hung(self) -> PilotlightError:
        return PilotlightError(
            f"{self.name} is silent: it did not answer for {self.timeout:g} s{self._last_words()}",
            where=f"run {len(self.calls) + 1}" if self.calls else None,
            hint="check that the device server runs on it, and the baud rate; a slow model needs a longer timeout",
            kind="board-hangs",
        )

    def _crashed(self) -> PilotlightError:
        return PilotlightError(
            f"{self.name} is gone: the line was closed{self._last_words()}",
            where=f"run {len(self.calls) + 1}", hint="plug it in again", kind="board-missing",
        )

    def _last_words(self) -> str:
        words = self._output()
        return f"; its last output:\n{words}" if words else ""

    def _output(self) -> str:
        return self._words("")

    def _shut(self) -> None:
        self._channel.close()


def connect(
    where: str, model: ModelFolder | None = None, timeout: float = 10.0, baud: int = 115200, patience: float = 1.0
) -> LineDevice:
    """The board on a serial port or at tcp://HOST:PORT; `model` is what it should hold, by default what it says."""
    if is_address(where):
        return LineDevice(where, lambda: TcpChannel(where, timeout), model, timeout, patience)
    return LineDevice(where, lambda: SerialChannel(where, baud), model, timeout, patience)


def is_address(where: str) -> bool:
    """Whether it is tcp://HOST:PORT, and not a serial port."""
    return where.startswith(_TCP)


def port_of(board: Board) -> str:
    """The serial port that a board appears as, by its USB ids."""
    found = [p for p in list_ports.comports() if p.vid is not None and f"{p.vid:04x}:{p.pid:04x}" in board.usb]
    if len(found) == 1:
        return str(found[0].device)
    if found:
        raise PilotlightError(
            f"{board.name} may be on any of {', '.join(sorted(p.device for p in found))}",
            hint="name the port instead of the board", kind="usage",
        )
    ids = f": no serial port has the USB id {' or '.join(board.usb)}" if board.usb else ", as far as its file tells"
    raise PilotlightError(
        f"{board.name} is not plugged in{ids}", hint="plug it in, or name its port, such as /dev/ttyACM0",
        kind="board-missing",
    )


def _described(facts: Facts, lines: list[list[Any]], where: str) -> ModelFolder:
    """A model as the board itself tells it."""
    name, entries = "", []
    ports: dict[str, list[FolderPort]] = {}
    try:
        for kind, title, *rest in lines:
            if kind == "model":
                name = str(title)
            elif kind == "entry":
                ports = {"input": [], "output": []}
                entries.append((str(title), int(rest[0]), ports))
            else:
                ports[kind].append(_port(str(title), *rest))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise PilotlightError(
            f"the board on {where} describes its model in a way that is not understood",
            hint="build its program again with this version", kind="protocol",
        ) from error
    rows = [FolderEntry(title, "", tuple(p["input"]), tuple(p["output"]), ({},) * n) for title, n, p in entries]
    return ModelFolder(Path(where), name, (), {}, tuple(rows), facts.arena, facts.state, 0, facts.build_id)


def _port(name: str, dtype: str, shape: list[int]) -> FolderPort:
    kind = np.dtype(dtype)
    sizes = tuple(int(n) for n in shape)
    return FolderPort(name, "", kind, sizes, int(np.prod(sizes, dtype=np.int64)) * kind.itemsize)
