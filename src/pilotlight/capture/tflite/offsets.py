"""Checks every offset of a `.tflite` file before anything is read through it.

A flatbuffer is tables that point to each other; whoever wrote the file chose where. Here each table, vector and string
that the reader may reach is looked up once, by the kind of its place, and must lie inside the file. Lists that the file
repeats by pointing to them again are counted as often as they would be read, and may not have more entries than the
file has bytes. So whatever the bytes are, reading takes time and memory in proportion to them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pilotlight.errors import PilotlightError

IDENTIFIER = b"TFL3"
_HINT = "convert or copy the model again; a .tflite file is a flatbuffer with the identifier TFL3"


@dataclass(frozen=True)
class Bytes:
    """A number of this size, or a vector of such numbers."""

    size: int
    vector: bool = False


@dataclass(frozen=True)
class Text:
    """A string."""


@dataclass(frozen=True)
class Within:
    """A table of this kind, or a vector of such tables."""

    kind: str
    vector: bool = False


@dataclass(frozen=True)
class Either:
    """A table whose kind is told by the field before: by number, `others` for the rest."""

    kinds: Mapping[int, str]
    others: str | None = None


Field = Bytes | Text | Within | Either
_BYTE, _WORD, _LONG = Bytes(1), Bytes(4), Bytes(8)
_BYTES, _WORDS, _LONGS = Bytes(1, vector=True), Bytes(4, vector=True), Bytes(8, vector=True)
_INDICES = Either({1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"})
_WITH_LISTS = {17: "ReshapeOptions", 30: "SqueezeOptions", 111: "VarHandleOptions"}  # by number of BuiltinOptions

# What the reader reads, by the number of a field.
TABLES: dict[str, dict[int, Field]] = {
    "Model": {
        0: _WORD, 1: Within("OperatorCode", True), 2: Within("SubGraph", True), 3: Text(), 4: Within("Buffer", True),
        6: Within("Metadata", True), 7: Within("SignatureDef", True),
    },
    "OperatorCode": {0: _BYTE, 1: Text(), 2: _WORD, 3: _WORD},
    "SubGraph": {0: Within("Tensor", True), 1: _WORDS, 2: _WORDS, 3: Within("Operator", True), 4: Text()},
    "Tensor": {
        0: _WORDS, 1: _BYTE, 2: _WORD, 3: Text(), 4: Within("QuantizationParameters"), 5: _BYTE,
        6: Within("SparsityParameters"), 7: _WORDS, 8: _BYTE,
    },
    "QuantizationParameters": {0: _WORDS, 1: _WORDS, 2: _WORDS, 3: _LONGS, 4: _BYTE, 6: _WORD},
    "SparsityParameters": {0: _WORDS, 1: _WORDS, 2: Within("DimensionMetadata", True)},
    "DimensionMetadata": {0: _BYTE, 1: _WORD, 2: _BYTE, 3: _INDICES, 4: _BYTE, 5: _INDICES},
    "Int32Vector": {0: _WORDS}, "Uint16Vector": {0: Bytes(2, vector=True)}, "Uint8Vector": {0: _BYTES},
    "Operator": {
        0: _WORD, 1: _WORDS, 2: _WORDS, 3: _BYTE, 4: Either(_WITH_LISTS, "Options"), 5: _BYTES, 8: _WORDS, 11: _BYTE,
        12: Either({}, "Options"),
    },
    "Options": {}, "ReshapeOptions": {0: _WORDS}, "SqueezeOptions": {0: _WORDS},
    "VarHandleOptions": {0: Text(), 1: Text()},
    "Buffer": {0: _BYTES, 1: _LONG, 2: _LONG},
    "Metadata": {0: Text(), 1: _WORD},
    "SignatureDef": {0: Within("TensorMap", True), 1: Within("TensorMap", True), 2: Text(), 4: _WORD},
    "TensorMap": {0: Text(), 1: _WORD},
}


def check_offsets(data: bytes, name: str) -> None:
    """Raise an error that names the place where a file points outside itself."""
    if len(data) < 8:
        raise _broken(name, f"it has {len(data)} bytes")
    if data[4:8] != IDENTIFIER:
        raise _broken(name, f"bytes 4 to 8 are {data[4:8]!r}, not {IDENTIFIER!r}")
    _Walk(data, name).table("Model", int.from_bytes(data[:4], "little"), "the model")


def _broken(name: str, why: str) -> PilotlightError:
    return PilotlightError(f"{name} is not a .tflite file that can be read: {why}", hint=_HINT, kind="broken-file")


class _Walk:
    """Follows every offset once."""

    def __init__(self, data: bytes, name: str):
        self._data, self._name = data, name
        self._entries = 0  # of lists, as often as they are reached
        self._seen: dict[tuple[str, int], int] = {}  # entries below a table

    @cached_property
    def _size(self) -> int:
        return len(self._data)

    def _need(self, start: int, size: int, what: str) -> None:
        if start < 0 or start + size > self._size:
            raise _broken(self._name, f"{what} would be at byte {start:,} of {self._size:,}")

    def _number(self, form: str, at: int, what: str) -> int:
        self._need(at, struct.calcsize(form), what)
        return int(struct.unpack_from(form, self._data, at)[0])

    def _offset(self, at: int, what: str) -> int:
        return at + self._number("<I", at, what)

    def table(self, kind: str, at: int, what: str) -> None:
        """Check a table and what it points to."""
        known = self._seen.get((kind, at))
        if known is not None:
            self._count(known, what)
            return
        before = self._entries
        fields = self._fields(at, what)
        for number, field in TABLES[kind].items():
            if number in fields:
                self._field(field, fields, number, at, f"field {number} of {what}")
        self._seen[(kind, at)] = self._entries - before

    def _fields(self, at: int, what: str) -> dict[int, int]:
        """Where the fields that a table has begin, by number."""
        places = at - self._number("<i", at, what)
        length = self._number("<H", places, f"the layout of {what}")
        size = self._number("<H", places + 2, f"the layout of {what}")
        if length < 4 or length % 2:
            raise _broken(self._name, f"the layout of {what} has {length} bytes")
        self._need(places, length, f"the layout of {what}")
        self._need(at, size, what)
        starts = struct.unpack_from(f"<{length // 2 - 2}H", self._data, places + 4)
        if any(start >= max(size, 1) for start in starts):
            raise _broken(self._name, f"a field of {what} is outside it")
        return {number: at + start for number, start in enumerate(starts) if start}

    def _field(self, field: Field, fields: dict[int, int], number: int, table: int, what: str) -> None:
        at = fields[number]
        match field:
            case Bytes(size, False):
                self._need(at, size, what)
            case Bytes(size, True):
                start = self._offset(at, what)
                self._need(start + 4, size * self._number("<I", start, what), what)
            case Text():
                start = self._offset(at, what)
                self._need(start + 4, self._number("<I", start, what), what)
            case Within(kind, False):
                self.table(kind, self._offset(at, what), f"the {kind} of {what}")
            case Within(kind, True):
                self._tables(kind, self._offset(at, what), what)
            case Either(kinds, others):
                told = self._data[fields[number - 1]] if number - 1 in fields else 0
                chosen = kinds.get(told, others)
                if told and chosen is not None:
                    self.table(chosen, self._offset(at, what), f"the {chosen} of {what}")

    def _tables(self, kind: str, start: int, what: str) -> None:
        count = self._number("<I", start, what)
        self._need(start + 4, 4 * count, what)
        self._count(count, what)
        for k in range(count):
            self.table(kind, self._offset(start + 4 + 4 * k, what), f"{kind} {k}")

    def _count(self, entries: int, what: str) -> None:
        self._entries += entries
        if self._entries > self._size:
            raise _broken(self._name, f"{what} repeats lists until they have more entries than the file has bytes")
