"""Parts of the Python package that few programs use: their source in compressed blocks, compiled when asked for.

What every model needs is frozen bytecode and runs out of flash. The rest costs RAM where it is used, and less than half
of the flash: bytecode, names and texts of a frozen module are stored as they are.

A block holds some units, each after a line that says its name, its size, for an operator its forms and the types of its
arguments behind a colon, and the units that it needs. C knows by two bytes of a hash which block a name is in. Words
that are often there are one byte each in all blocks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pilotlight.micropython.minify import keywords, minify
from pilotlight.micropython.words import choose, encode, table

if TYPE_CHECKING:
    from pilotlight.micropython.composed import Unit

# In the order of the stream: next to what they resemble, which makes it smaller.
PACKED = (
    "torch.nn.modules._table", "torch.nn._losses", "torch.nn._more", "torch.nn._tables", "torch.nn.modules.others",
    "torch.nn.modules.rnn", "torch.nn.modules._norm", "torch.nn.modules.normalization", "torch.nn.modules._text",
    "torch.nn.modules._conv", "torch.nn.modules.transformer", "torch.nn.modules.activation", "torch.nn.init",
    "torch.nn.modules._walk", "torch.nn.modules._state", "copy", "torch.nn.modules.mapping",
    "torch.nn.modules._numbered", "torch.nn.modules._rare", "dataclasses", "itertools", "functools",
    "contextlib",
)
_PUBLIC = ("torch.nn.init", "copy", "dataclasses", "itertools", "functools", "contextlib")  # programs import these
_WINDOW = 12  # bits: 4 KB of RAM for the time of unpacking
_BLOCK = 3000  # bytes before compression: larger ones are smaller in flash, and take longer to look through
_LINES = 64  # texts of errors in a block
_STUB = "from torch import _packed\n\n_packed.load(__name__, globals())\n"
LOADER, _PLACE = "torch._packed", '_DATA = b""'
_MODULE = "."  # before the names of modules, which no attribute has


@dataclass(frozen=True)
class Packed:
    """Python files to freeze, by their paths in the package, one without bytes is left out; and a header for C."""

    files: dict[str, bytes]
    header: str


def pack(files: Mapping[str, Path], operators: Iterable[Unit], texts_of_errors: Sequence[str]) -> Packed:
    """Of the Python modules of a build, of its operators that are written in Python, and of its errors' texts."""
    if LOADER not in files:
        return Packed({}, "#define PT_STREAM 0\n")
    modules = {name: minify(files[name].read_text()).encode() for name in PACKED if name in files}
    made = {f"{name.replace('.', '/')}.py": _STUB.encode() if name in _PUBLIC else b"" for name in modules}
    parts = [([_MODULE + name], text) for name, text in modules.items()], _units(operators)
    lines = [f"{text}\n".encode() for text in texts_of_errors]
    whole = [f"{' '.join(head)}\n".encode() + text for some in parts for head, text in some]
    words = choose(b"".join([*whole, *lines]))
    names: list[list[str]] = []
    blocks: list[bytes] = []
    for some in parts:
        for number, (head, text) in enumerate(some):
            unit = _encoded(head, text, words)
            if not number or len(blocks[-1]) + len(unit) > _BLOCK:
                names.append([])
                blocks.append(b"")
            names[-1].append(head[0])
            blocks[-1] += unit
    blocks += [encode(b"".join(lines[k : k + _LINES]), words) for k in range(0, len(lines), _LINES)]
    data = [_compressed(block) for block in blocks]
    loader = files[LOADER].read_text()
    assert _PLACE in loader
    made["torch/_packed.py"] = minify(loader.replace(_PLACE, f"_DATA = {b''.join(data)!r}")).encode()
    return Packed(made, _header(names, data, words))


def shares(operators: Iterable[Unit]) -> dict[str, int]:
    """Bytes of the blocks that units take, in proportion to their texts."""
    texts = {head[0]: " ".join(head).encode() + text for head, text in _units(operators)}
    whole = b"".join(texts.values())
    return {name: round(len(text) * len(_compressed(whole)) / len(whole)) for name, text in texts.items()}


def _units(operators: Iterable[Unit]) -> list[tuple[list[str], bytes]]:
    """The words of the line before each unit, but for the size, and its text."""
    units = list(operators)
    named = keywords("\n".join(unit.source for unit in units))
    return [
        ([unit.name, *([f":{unit.head}"] if unit.head else []), *unit.needs], minify(unit.source, named).encode())
        for unit in units
    ]


def _encoded(head: list[str], text: bytes, words: list[bytes]) -> bytes:
    """A unit after the line that tells its name and size."""
    text = encode(text, words)
    return encode(" ".join([head[0], str(len(text)), *head[1:]]).encode() + b"\n", words) + text


def _compressed(block: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -_WINDOW, 9)
    return compressor.compress(block) + compressor.flush()


# ---- what C knows


def _hash(name: str, salt: int) -> int:
    """As packed.c has it."""
    for byte in name.encode():
        salt = salt * 33 & 0xFFFF ^ byte
    return salt


def _tells_apart(salt: int, names: set[str], asked: set[str]) -> bool:
    """Whether no name has the hash of another that is asked for."""
    hashes = {_hash(name, salt) for name in names}
    return len(hashes) == len(names) and all(_hash(name, salt) not in hashes for name in asked - names)


def _header(names: list[list[str]], data: list[bytes], words: list[bytes]) -> str:
    """Hashes of the units' names, the first of each block, where blocks begin, and the words."""
    flat = [name for block in names for name in block]
    asked = {*flat, *(f"{name}_" for name in flat)}  # in place
    salt = next(salt for salt in range(5381, 1 << 16) if _tells_apart(salt, set(flat), asked))
    starts = [sum(map(len, data[:k])) for k in range(len(data))]
    assert not starts or starts[-1] < 1 << 16
    values: dict[str, Iterable[object]] = {
        "STREAM": [1], "SALT": [salt], "UNITS": [len(flat)], "TEXT_BLOCK": [len(names)], "TEXT_LINES": [_LINES],
        "HASHES": [_hash(name, salt) for name in flat],
        "FIRST_UNITS": [sum(map(len, names[:k])) for k in range(len(names) + 1)], "STARTS": starts,
        "WORDS": table(words),
    }
    return "".join(f"#define PT_{key} {', '.join(map(str, value)) or 0}\n" for key, value in values.items())
