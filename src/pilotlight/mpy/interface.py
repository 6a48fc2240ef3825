"""Inputs and outputs of a native module: as tables for its C, and as JSON for the weights file."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Port

_LETTERS = {
    "float32": "f", "float16": "H", "bfloat16": "H", "int64": "q", "int32": "i", "int16": "h", "int8": "b",
    "uint8": "B", "bool": "B",
}
_NO_LENGTH = 255
_TAKEN = ("inputs", "outputs", "reset", "mapped")  # attributes of every model
# Modules that MicroPython has; one of the same name would not be found, or not theirs.
_MODULES = (
    "array", "asyncio", "binascii", "collections", "gc", "hashlib", "heapq", "io", "json", "machine", "math",
    "micropython", "network", "os", "random", "re", "select", "socket", "struct", "sys", "time", "torch", "uctypes",
)


@dataclass(frozen=True)
class NativePort:
    """An input or output. `length` is the port among its kind that says how many rows there are in a run."""

    port: Port
    row: Mapping[str, Any]  # of the model's metadata
    number: int  # among those that callers see
    length: int | None
    rows: int  # at most
    limits: tuple[int, int]  # of a length that is an input

    def c(self, dtype: int) -> str:
        """A row of the table; `dtype` is the number of its name."""
        word = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%?' else "_" for c in self.port.name)
        length = _NO_LENGTH if self.length is None else self.length
        least, most = self.limits if self.port.is_size else (0, self.rows)
        return (
            f'{{"{word}", {self.row["offset"]}u, {self.row["bytes"]}u, {least}u, {most}u, '
            f"'{_LETTERS[self.row['dtype']]}', {int(self.port.is_size)}, {length}, {int(self.port.perm is not None)}, "
            f"{self.number}, {dtype}}}"
        )

    def about(self, output: bool) -> dict[str, Any]:
        """A dimension that is decided in a run is -1."""
        perm = self.port.perm or tuple(range(len(self.port.real_shape)))
        torch_shape, shape = list(self.port.real_shape), list(self.row["c_shape"])
        if self.length is not None:
            torch_shape[self.port.sizes[0][0]] = -1
            shape[_rows_axis(self.port)[0]] = -1
        found: dict[str, Any] = {"name": self.port.name, "shape": shape, "dtype": self.row["dtype"]}
        if self.length is not None:
            found["rows"] = self.rows
        if self.port.quant is not None:
            found |= {"scale": self.port.quant.scale, "zero_point": self.port.quant.zero_point}
        permuted = [torch_shape[axis] for axis in perm]
        inverse = [perm.index(axis) for axis in range(len(perm))]
        return {**found, "torch": [permuted, inverse] if output else [torch_shape, list(perm)]}


@dataclass(frozen=True)
class NativeEntry:
    """An entry point: the name of the method, the C function, and its ports."""

    name: str
    function: str
    inputs: tuple[NativePort, ...]
    outputs: tuple[NativePort, ...]


def native_entry(name: str, row: Mapping[str, Any], graph: Graph) -> NativeEntry:
    inputs, outputs = _ports(graph.inputs, row["inputs"]), _ports(graph.outputs, row["outputs"])
    return NativeEntry(name, row["function"], inputs, outputs)


def check_names(name: str, entries: Sequence[NativeEntry]) -> None:
    """Names that Python could not use are refused."""
    if keyword.iskeyword(name) or name in _MODULES:
        raise PilotlightError(
            f"a native module called {name} could not be imported: "
            + ("Python has a word" if keyword.iskeyword(name) else "MicroPython has a module") + " of that name",
            hint="give another name with --name", kind="usage",
        )
    for entry in entries:
        if keyword.iskeyword(entry.name) or entry.name in _TAKEN:
            raise PilotlightError(
                f"the entry point {entry.name} would be hidden: a native module has that name already",
                hint="rename the method", kind="usage",
            )


def about(entries: Sequence[NativeEntry]) -> bytes:
    """What `m.inputs` and `m.outputs` give; with several entry points they are dictionaries."""
    def of(entry: NativeEntry, ports: tuple[NativePort, ...], output: bool) -> list[dict[str, Any]]:
        return [port.about(output) for port in ports if not port.port.is_size]

    found: dict[str, Any] = {}
    for way, output in (("inputs", False), ("outputs", True)):
        rows = {entry.name: of(entry, getattr(entry, way), output) for entry in entries}
        found[way] = rows if len(entries) > 1 else rows[entries[0].name]
    return json.dumps(found, separators=(",", ":")).encode()


def _ports(ports: Sequence[Port], rows: Sequence[Mapping[str, Any]]) -> tuple[NativePort, ...]:
    found: list[NativePort] = []
    for port, row in zip(ports, rows, strict=True):
        number = sum(not other.port.is_size for other in found)
        length, count = (port.sizes[0][1], _rows_axis(port)[1]) if port.sizes else (None, 0)
        found.append(NativePort(port, row, number, length, count, port.limits))
    return tuple(found)


def _rows_axis(port: Port) -> tuple[int, int]:
    """The dimension of the memory whose size is decided in a run, and its largest: rows can be counted only where it is
    the first."""
    order = port.perm or tuple(range(len(port.real_shape)))
    memory = [port.real_shape[axis] for axis in order]
    axis = order.index(port.sizes[0][0])
    if len(port.sizes) > 1 or math.prod(memory[:axis]) != 1 or tuple(memory) != tuple(port.value.shape):
        raise PilotlightError(
            f"{port.name}: a native module takes lengths only of the first dimension in memory",
            hint="let the dimension of varying length come first, or give it a fixed length", kind="usage",
        )
    return axis, memory[axis]
