"""MicroPython's .mpy file around machine code: names, code, and the words in it that depend on where it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_VERSION, _SUB_VERSION = 6, 3  # MicroPython 1.23 and later
_SMALL_INT_BITS = 31
_NATIVE = 2  # the kind of code
_HAS_RELOCATIONS = 0x10
TEXT, NAMES, TABLE, ENTRIES = 0, 6, 8, 9  # what is added to a word; from 9 on, an entry of the table
_END = b"\xff"


@dataclass(frozen=True)
class MachineCode:
    """Machine code that begins with its import function, linked at address 0; `fixes` are words and what is added to
    them."""

    code: bytes
    word: int
    fixes: dict[int, int] = field(default_factory=dict)  # offset: TEXT, ...


def mpy_file(image: MachineCode, architecture: int, names: Sequence[str]) -> bytes:
    """`names` are the strings that code finds by number, the first of them the module's own name."""
    parts = [bytes([ord("M"), _VERSION, architecture << 2 | _SUB_VERSION, _SMALL_INT_BITS])]
    parts += [_number(len(names)), _number(0), *map(_name, names)]
    parts += [_number(len(image.code) << 3 | _NATIVE), image.code]
    parts += [_number(_HAS_RELOCATIONS), *_relocations(image), _END]
    return b"".join(parts)


def _number(value: int) -> bytes:
    """Seven bits in a byte, the highest first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(0x80 | value & 0x7F)
    return bytes(reversed(groups))


def _name(text: str) -> bytes:
    data = text.encode()
    return _number(len(data) << 1) + data + b"\0"


def _relocations(image: MachineCode) -> Iterable[bytes]:
    """Neighbours of one kind together."""
    words = {offset // image.word: kind for offset, kind in image.fixes.items()}
    done = -1
    for word in sorted(words):
        if word <= done:
            continue
        kind, count = words[word], 1
        while kind == TEXT and words.get(word + count) == kind:
            count += 1
        done = word + count - 1
        code = kind << 1 | (count > 1) if kind == TEXT else kind
        yield bytes([code << 1 | 1]) + _number(word << 1) + (_number(count) if count > 1 else b"")
