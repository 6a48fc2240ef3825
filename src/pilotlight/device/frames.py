"""Frames of the wire protocol: bytes that can be found again after any fault, and trusted when they are found.

csrc/device/pl_protocol.h defines and explains them.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

VERSION = 2
HELLO, ASK, ANSWER, LOG, REFUSE = range(1, 6)
_HEADER = struct.Struct("<BBHI")
_CHECK = struct.Struct("<I")
_LONGEST = 254  # bytes in a block of COBS
_CODES = [bytes([n]) for n in range(256)]
_FORGET = 1 << 20  # bytes without a zero are noise then


class Frame(NamedTuple):
    kind: int
    sequence: int
    session: int
    payload: bytes = b""
    version: int = VERSION


def pack(frame: Frame) -> bytes:
    """As it goes over the line."""
    body = _HEADER.pack(frame.version, frame.kind, frame.sequence, frame.session) + frame.payload
    return b"".join((b"\0", stuff(body + _CHECK.pack(zlib.crc32(body))), b"\0"))


def unpack(stuffed: bytes) -> Frame | None:
    """What was between two zeros, or None if it is no whole frame."""
    body = unstuff(stuffed)
    if body is None or len(body) < _HEADER.size + _CHECK.size:
        return None
    checked = memoryview(body)[: -_CHECK.size]
    if zlib.crc32(checked) != _CHECK.unpack(body[-_CHECK.size :])[0]:
        return None
    version, kind, sequence, session = _HEADER.unpack_from(body)
    return Frame(kind, sequence, session, bytes(checked[_HEADER.size :]), version)


def room(buffer: int) -> int:
    """The largest payload of a frame that fits into a buffer."""
    body = buffer - 3  # a code and two zeros
    body -= -(-body // (_LONGEST + 1))
    return body - _HEADER.size - _CHECK.size


def stuff(data: bytes) -> bytes:
    """COBS: the same without zeros."""
    parts: list[bytes] = []
    for run in data.split(b"\0"):
        whole = len(run) - len(run) % _LONGEST
        for at in range(0, whole, _LONGEST):
            parts += (b"\xff", run[at : at + _LONGEST])
        parts += (_CODES[len(run) - whole + 1], run[whole:])
    return b"".join(parts)


def unstuff(data: bytes) -> bytes | None:
    parts = []
    at, end = 0, len(data)
    while at < end:
        code = data[at]
        after = at + code
        if code == 0 or after > end:
            return None
        parts.append(data[at + 1 : after])
        if code <= _LONGEST and after < end:
            parts.append(b"\0")
        at = after
    return b"".join(parts)


class FrameReader:
    """Cuts what comes over a line into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame | None]:
        """The frames that end in it; None for each that cannot be read."""
        *whole, self._rest = (self._rest + data).split(b"\0")
        if len(self._rest) > _FORGET:
            self._rest = b"\x01"  # cannot become a frame
        return [unpack(stuffed) for stuffed in whole if stuffed]
