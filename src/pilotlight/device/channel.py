"""Bytes to and from a running program, with a deadline: the carrier of the protocol on this computer."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Protocol


class StalledError(Exception):
    """Nothing moved before the deadline."""


class EndedError(Exception):
    """The other side is gone."""


class Channel(Protocol):
    """What a carrier provides: all of the bytes, or StalledError, or EndedError. A serial line can be one too."""

    def read(self, count: int, timeout: float) -> bytes: ...

    def write(self, data: bytes, timeout: float) -> None: ...


class PipeChannel:
    """Two file descriptors, switched to non-blocking; `alive` tells whether the program still runs."""

    def __init__(self, read_fd: int, write_fd: int, alive: Callable[[], bool]):
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._alive = alive
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    def read(self, count: int, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        parts = bytearray()
        while len(parts) < count:
            try:
                part = os.read(self._read_fd, count - len(parts))
            except BlockingIOError:
                self._wait(self._read_fd, select.POLLIN, deadline)
                continue
            if not part:
                raise EndedError
            parts += part
        return bytes(parts)

    def write(self, data: bytes, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._write_fd, view) :]
            except BlockingIOError:
                self._wait(self._write_fd, select.POLLOUT, deadline)
            except BrokenPipeError:
                raise EndedError from None

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        """Waits in short pieces: a named pipe held open here does not show that the program has ended."""
        poll = select.poll()
        poll.register(fd, event)
        while not poll.poll(50):
            if not self._alive():
                if poll.poll(0):
                    return
                raise EndedError
            if time.monotonic() > deadline:
                raise StalledError
