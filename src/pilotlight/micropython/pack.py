"""Parts of the Python package that few programs use: bytecode in compressed blocks, loaded on demand.

What every model needs is frozen and runs from flash. The rest costs RAM when it is used, and about half of the
flash. A unit is a module, or a function, class or constant of `python/torch/operators/`: its bytecode is what
MicroPython's mpy-cross makes of it. A block is some units compressed by DEFLATE, which MicroPython unpacks.

In a block, each unit is its size in two bytes, a line with its name, for an operator a colon with its forms and the
types of its arguments, and the units that it needs, then its bytecode. C finds a name by two bytes of a hash
(`cmodule/packed.c`); `python/torch/_packed.py` finds it there and runs it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pilotlight.micropython.bytecode import bytecode_version, compile_all

if TYPE_CHECKING:
    from pilotlight.micropython.composed import PackedUnit

# The modules of each block: more in one take less flash, but more time and RAM to unpack.
_BLOCKS = (
    ("torch.nn.modules._table",),
    ("torch.nn._losses",),
    ("torch.nn._more", "torch.nn._tables"),
    ("torch.nn.modules.others", "torch.nn.modules.rnn", "torch.nn.modules._norm", "torch.nn.modules.normalization"),
    ("torch.nn.modules._text", "torch.nn.modules._conv", "torch.nn.modules.transformer"),
    ("torch.nn.modules.activation", "torch.nn.init", "torch.nn.modules._walk", "torch.nn.modules._state"),
    ("copy", "torch.nn.modules.mapping", "torch.nn.modules._numbered", "torch.nn.modules._rare"),
    ("dataclasses", "itertools", "functools", "contextlib", "collections.defaultdict"),
    ("torch.utils.data",),
    ("enum", "operator", "logging", "collections.Counter"),
    ("torch._script", "torch._jit"),
    ("torch._complex",),
    ("torch._fft",),
    ("torch.nn.utils", "torch.nn.utils.fusion", "torch.nn.utils.rnn"),
)
PACKED = tuple(name for block in _BLOCKS for name in block)
_PUBLIC = (  # programs import these
    "torch.nn.init", "copy", "dataclasses", "itertools", "functools", "contextlib", "torch.utils.data", "enum",
    "operator", "logging", *_BLOCKS[-1],
)
_OPERATOR_BYTES = 7200  # of a block of operators before compression
_STUB = "from torch import _packed\n\n_packed.load(__name__, globals())\n"
LOADER = "torch._packed"
_ABSENT = "_absent"
_GUARD = """\
#if MPY_VERSION != {version}
#error "torch was exported for another version of .mpy files: set MICROPY_DIR to this MicroPython, and export again"
#endif
"""
_MODULE = "."  # before the names of modules; no attribute contains it


@dataclass(frozen=True)
class Packed:
    """Python files to freeze, by their paths in the package (empty ones are left out), and C with the blocks."""

    files: dict[str, bytes]
    header: str
    source: str


def pack(files: Mapping[str, Path], operators: Iterable[PackedUnit], absent: Mapping[str, Iterable[str]]) -> Packed:
    """The units of a build's Python modules, of its operators that are written in Python, and of what parts that it is
    without have."""
    if LOADER not in files:
        return Packed({}, "#define PT_STREAM 0\n", "")
    modules = {name: files[name].read_text(encoding="utf-8") for name in PACKED if name in files}
    written = list(operators)
    units = _modules(modules) | _units(written) | _absent(absent)
    in_place = [unit.name for unit in written if unit.in_place]
    names = [[_MODULE + name for name in block if name in modules] for block in _BLOCKS]
    names = [block for block in names if block] + _filled({k: v for k, v in units.items() if k[0] != _MODULE})
    blocks = [b"".join(units[name] for name in block) for block in names]
    made = {_path(name, files[name]): _STUB.encode() if name in _PUBLIC else b"" for name in modules}
    return Packed(made, "#define PT_STREAM 1\n", _source(names, blocks, in_place))


def _path(module: str, file: Path) -> str:
    """Where a module is in the Python part."""
    return f"{module.replace('.', '/')}{'/__init__' if file.stem == '__init__' else ''}.py"


def _filled(units: Mapping[str, bytes]) -> list[list[str]]:
    """Blocks of as many units as fit, in their order."""
    names: list[list[str]] = []
    room = 0
    for name, unit in units.items():
        if len(unit) > room:
            names.append([])
            room = max(_OPERATOR_BYTES, len(unit))
        names[-1].append(name)
        room -= len(unit)
    return names


def shares(operators: Iterable[PackedUnit]) -> dict[str, int]:
    """Bytes of the blocks that units take, in proportion to their bytecode."""
    units = _units(operators)
    whole = b"".join(units.values())
    return {name: round(len(unit) * len(_compressed(whole)) / len(whole)) for name, unit in units.items()}


def _modules(texts: Mapping[str, str]) -> dict[str, bytes]:
    codes = compile_all(texts.values())
    return {_MODULE + name: _unit([_MODULE + name], code) for name, code in zip(texts, codes, strict=True)}


def _units(operators: Iterable[PackedUnit]) -> dict[str, bytes]:
    units = list(operators)
    codes = compile_all(unit.source for unit in units)
    return {
        unit.name: _unit([unit.name, *([f":{unit.head}"] if unit.head else []), *unit.needs], code)
        for unit, code in zip(units, codes, strict=True)
    }


def _absent(parts: Mapping[str, Iterable[str]]) -> dict[str, bytes]:
    """A text with the name of each part and what it has."""
    text = ";".join(" ".join([part, *names]) for part, names in parts.items())
    return {_ABSENT: _unit([_ABSENT], compile_all([f"{_ABSENT} = {text!r}"])[0])} if parts else {}


def _unit(head: list[str], code: bytes) -> bytes:
    text = " ".join(head).encode() + b"\n" + code
    return len(text).to_bytes(2, "little") + text


def _compressed(block: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return compressor.compress(block) + compressor.flush()


# ---- what C knows


def _hash(name: str, salt: int) -> int:
    """The same hash as in packed.c."""
    for byte in name.encode():
        salt = salt * 33 & 0xFFFF ^ byte
    return salt


def _tells_apart(salt: int, names: list[str], in_place: list[str]) -> bool:
    """Whether no two names of units have the same hash, and no operator's name in place has a unit's."""
    hashes: set[int] = set()
    for name in names:
        known = len(hashes)
        hashes.add(_hash(name, salt))
        if len(hashes) == known:
            return False
    return all(_hash(f"{name}_", salt) not in hashes for name in in_place)


def _source(names: list[list[str]], blocks: list[bytes], in_place: list[str]) -> str:
    """Hashes of the units' names, the first unit of each block, where blocks begin, their sizes, and themselves."""
    assert all(len(block) < 1 << 8 for block in names)
    flat = [name for block in names for name in block]
    salt = next(salt for salt in range(5381, 1 << 16) if _tells_apart(salt, flat, in_place))
    data = [_compressed(block) for block in blocks]
    arrays: dict[str, Iterable[int]] = {
        "uint16_t pt_unit_hashes": [_hash(name, salt) for name in flat],
        "uint16_t pt_first_units": [sum(map(len, names[:k])) for k in range(len(names) + 1)],
        "uint32_t pt_block_starts": [sum(map(len, data[:k])) for k in range(len(data) + 1)],
        "uint16_t pt_block_sizes": map(len, blocks),
        "uint8_t pt_blocks": b"".join(data),
    }
    lines = [f"const {array}[] = {{{', '.join(map(str, values)) or 0}}};" for array, values in arrays.items()]
    counts = f"const uint16_t pt_salt = {salt}, pt_units = {len(flat)};"
    guard = _GUARD.format(version=bytecode_version())
    return "\n".join(['#include "packed.h"', "", '#include "py/persistentcode.h"', "", guard, counts, *lines, ""])
