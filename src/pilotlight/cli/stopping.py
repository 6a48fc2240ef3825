"""SIGTERM and SIGHUP end a command the way Ctrl-C does: boards are shut down, folders are removed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from pilotlight.system import END_SIGNALS


class StoppedError(BaseException):
    def __init__(self, number: signal.Signals):
        super().__init__()
        self.signal = number


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise StoppedError(signal.Signals(number))


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """A signal that is ignored, as under nohup, stays so."""
    here = threading.current_thread() is threading.main_thread()
    taken = [number for number in END_SIGNALS if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
