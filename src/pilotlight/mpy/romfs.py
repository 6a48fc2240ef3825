"""A file system for flash (MicroPython's ROMFS) in which weights are aligned, so that they are used where they lie.

Images that other tools write put files at any address. Here the contents come first, in a record of padding, and files
point into it. https://docs.micropython.org/en/latest/reference/romfs.html
"""

from __future__ import annotations

from collections.abc import Mapping

_IMAGE = 0x14A6B1
_PADDING, _POINTER, _FILE = 1, 3, 5
_ALIGNMENT = 16


def romfs_image(files: Mapping[str, bytes]) -> bytes:
    """An image to be put at an address that is a multiple of 16."""
    start = 16  # of the payload: the head is padded to it
    offsets: dict[str, int] = {}
    blob, first = b"", start + 16  # where the contents begin, after the head of their record
    for name, data in files.items():
        offsets[name] = first - start + len(blob)
        blob += data + bytes(-len(data) % _ALIGNMENT)
    payload = _padded(_PADDING, len(blob), 16) + blob
    for name, data in files.items():
        pointer = _record(_POINTER, _number(len(data)) + _number(offsets[name]))
        payload += _record(_FILE, _number(len(name.encode())) + name.encode() + pointer)
    if len(payload) % 2:
        payload += _padded(_PADDING, 0, 3)
    return _padded(_IMAGE, len(payload), start) + payload


def _record(kind: int, payload: bytes) -> bytes:
    return _number(kind) + _number(len(payload)) + payload


def _padded(kind: int, length: int, size: int) -> bytes:
    """The head of a record in so many bytes: numbers may begin with zeros."""
    head, end = _number(kind), _number(length)
    return head + b"\x80" * (size - len(head) - len(end)) + end


def _number(value: int) -> bytes:
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(0x80 | value & 0x7F)
    return bytes(reversed(groups))
