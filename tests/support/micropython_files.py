"""Saved tensors under both Pythons: a text that is the same for the same value, and images of MicroPython's ROM."""

from __future__ import annotations

from collections.abc import Mapping

# Runs in CPython and in MicroPython: types, bits of the elements, layout, and which tensors share memory.
DESCRIBE = """
import torch
from collections import OrderedDict
import struct

def describe(value, starts=None):
    starts = {} if starts is None else starts
    name = type(value).__name__
    if isinstance(value, torch.Tensor):
        start = value.data_ptr() - value.storage_offset() * value.dtype.itemsize if value.numel() else None
        number = starts.setdefault(start, len(starts)) if start else None
        bits = value.detach().contiguous().reshape(-1).view(torch.uint8).tolist() if value.numel() else []
        offset = value.storage_offset() if value.numel() else 0
        strides = [n for n, s in zip(value.stride(), value.shape) if s > 1] if value.numel() else []
        return "%s %s %s %s %s %s %s %s" % (
            name, value.dtype, list(value.shape), strides, offset, value.requires_grad, number, bits)
    if isinstance(value, OrderedDict):
        return "OrderedDict " + " ".join([k + ": " + describe(v, starts) + ";" for k, v in value.items()])
    if isinstance(value, dict):
        items = sorted([(ascii_of(k), v) for k, v in value.items()], key=lambda item: item[0])
        return "dict " + " ".join([k + ": " + describe(v, starts) + ";" for k, v in items])
    if isinstance(value, torch.Size):
        return "Size" + str(list(value))
    if isinstance(value, (list, tuple)):
        return name + " (" + " ".join([describe(v, starts) for v in value]) + ")"
    if isinstance(value, set):
        return name + " " + " ".join(sorted([ascii_of(v) for v in value]))
    if isinstance(value, float):
        return name + " " + str(list(struct.pack("<d", value)))
    return name + " " + ascii_of(value)

def ascii_of(value):
    if isinstance(value, str):
        return "text" + str([ord(c) for c in value])
    return "bytes" + str(list(value)) if isinstance(value, bytes) else str(value)
"""


def description(value: object) -> str:
    """What `describe` says in CPython."""
    space: dict[str, object] = {}
    exec(DESCRIBE, space)
    describe = space["describe"]
    assert callable(describe)
    return str(describe(value))


def _number(value: int) -> bytes:
    """Seven bits a byte, the highest first; five bytes, so that everything keeps its place."""
    digits = [value >> 7 * k & 127 for k in reversed(range(5))]
    return bytes([*(d | 128 for d in digits[:-1]), digits[-1]])


def rom_image(files: Mapping[str, bytes], align: int = 64) -> bytes:
    """A file system for VfsRom: records of a kind and a length; the data of files lies at multiples of `align`."""
    head = 1 + 5  # bytes before what is in a record
    made = b"\xd2\xcd\x31" + _number(0)
    for name, data in files.items():
        named = _number(len(name)) + name.encode()
        gap = -(len(made) + head + len(named) + head) % align
        gap += align if gap < head else 0
        made += b"\x01" + _number(gap - head) + bytes(gap - head)
        made += b"\x05" + _number(len(named) + head + len(data)) + named + b"\x02" + _number(len(data)) + data
    if len(made) % 2:
        made += b"\x01" + _number(1) + bytes(1)
    return made[:3] + _number(len(made) - 8) + made[8:]
