"""Bytes to and from a running program, with a deadline: the carrier of the protocol on this computer."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import IO, Protocol

from pilotlight.system import pipe_ready

_PART = 1 << 16  # bytes that are read at once
_PATIENCE = 2.0  # seconds to wait for a thread at the end: a child of the program may keep its output open


class StalledError(Exception):
    """Nothing moved before the deadline."""


class EndedError(Exception):
    """The other side is gone."""


class Channel(Protocol):
    """What a carrier provides, or raises StalledError or EndedError. A reliable one loses no bytes."""

    reliable: bool

    def read(self, timeout: float) -> bytes:
        """What has come, at least one byte."""
        ...

    def write(self, data: bytes, timeout: float) -> None: ...


class StreamChannel:
    """The standard streams of a program, unbuffered, each with a thread of its own: they can be waited for on every
    system."""

    reliable = True

    def __init__(self, reader: IO[bytes], writer: IO[bytes]):
        self._reader, self._writer = reader, writer
        self._got = bytearray()
        self._ended = False
        self._moved = threading.Condition()
        self._to_write: queue.Queue[bytes | None] = queue.Queue()
        self._unwritten = 0
        self._threads = [threading.Thread(target=job, daemon=True) for job in (self._read_all, self._write_all)]
        for thread in self._threads:
            thread.start()

    def read(self, timeout: float) -> bytes:
        with self._moved:
            if not self._moved.wait_for(lambda: self._got or self._ended, _waiting(timeout)):
                raise StalledError
            if not self._got:
                raise EndedError
            taken = bytes(self._got)
            self._got.clear()
            return taken

    def write(self, data: bytes, timeout: float) -> None:
        with self._moved:
            if self._ended:
                raise EndedError
            self._unwritten += 1
            self._to_write.put(data)
            if not self._moved.wait_for(lambda: self._unwritten == 0 or self._ended, _waiting(timeout)):
                raise StalledError
            if self._unwritten:
                raise EndedError

    def close(self) -> None:
        """After the program has ended: the threads end, then the streams close. A thread that still read would read
        from whatever has the number of its file next, such as the pipe of another program."""
        self._to_write.put(None)
        for thread, stream in zip(self._threads, (self._reader, self._writer), strict=True):
            thread.join(_PATIENCE)
            if not thread.is_alive():
                stream.close()

    def _read_all(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while part := self._reader.read(_PART):
                with self._moved:
                    self._got += part
                    self._moved.notify_all()
        self._end()

    def _write_all(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (data := self._to_write.get()) is not None:
                self._writer.write(data)
                self._writer.flush()
                with self._moved:
                    self._unwritten -= 1
                    self._moved.notify_all()
            return
        self._end()

    def _end(self) -> None:
        with self._moved:
            self._ended = True
            self._moved.notify_all()


def _waiting(timeout: float) -> float:
    return min(timeout, threading.TIMEOUT_MAX)


class PipeChannel:
    """Two pipes of system.open_pipe; `alive` tells whether the program still runs."""

    reliable = True

    def __init__(self, read_fd: int, write_fd: int, alive: Callable[[], bool]):
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._alive = alive

    def read(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        while True:
            try:
                part = os.read(self._read_fd, _PART)
            except BlockingIOError:
                self._wait(self._read_fd, False, deadline)
                continue
            if not part:
                raise EndedError
            return part

    def write(self, data: bytes, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._write_fd, view) :]
            except BlockingIOError:
                self._wait(self._write_fd, True, deadline)
            except BrokenPipeError:
                raise EndedError from None

    def _wait(self, fd: int, writing: bool, deadline: float) -> None:
        """Waits in short pieces: a named pipe held open here does not show that the program has ended."""
        while not pipe_ready(fd, writing, 50):
            if not self._alive():
                if pipe_ready(fd, writing, 0):
                    return
                raise EndedError
            if time.monotonic() > deadline:
                raise StalledError
