"""The standard streams of a program, read by a thread of their own."""

from __future__ import annotations

import io
import threading

from pilotlight.device.channel import StreamChannel


class Slow(io.RawIOBase):
    """A stream that is in the middle of being read until it may go on."""

    def __init__(self) -> None:
        self.reading, self.may_end = threading.Event(), threading.Event()
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        self.reading.set()
        self.may_end.wait()
        assert not self.closed
        self.ended = True
        return b""


def test_streams_are_closed_when_nobody_reads_them_any_more() -> None:
    """The number of a closed file belongs to the next one that is opened: a reader would take the bytes of that."""
    stream = Slow()
    channel = StreamChannel(stream, io.BytesIO())
    assert stream.reading.wait(10)
    closing = threading.Thread(target=channel.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive() and not stream.closed
    stream.may_end.set()
    closing.join(10)
    assert stream.ended and stream.closed
