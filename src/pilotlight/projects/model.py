"""A compiled model as templates see it: names in C, and the example that it was captured with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pilotlight.codegen.step import c_float
from pilotlight.compiler import Build
from pilotlight.emit.streaming import time_place
from pilotlight.graph import Graph
from pilotlight.graph.dtypes import BY_NAME
from pilotlight.graph.lengths import with_lengths
from pilotlight.graph.ports import to_memory
from pilotlight.programs import ProgramBuild

_ROW = 8  # numbers in a line of an array


@dataclass(frozen=True)
class ProjectPort:
    """An input or output; `show` is how main.c shows an element of an output called `value`."""

    name: str  # the user's
    word: str  # in C, unique among the inputs or outputs of an entry point
    function: str  # gives the pointer
    ctype: str
    count: int
    bytes: int
    shape: str
    show: str = ""
    example: str = ""  # the elements of a C array


@dataclass(frozen=True)
class ProjectEntry:
    """An entry point; that of a model with a single one has no name."""

    name: str
    prefix: str
    inputs: tuple[ProjectPort, ...]
    outputs: tuple[ProjectPort, ...]

    @property
    def run(self) -> str:
        return f"{self.prefix}_run"


@dataclass(frozen=True)
class ProjectModel:
    name: str
    entries: tuple[ProjectEntry, ...]
    sources: tuple[str, ...]
    arena_bytes: int
    state_bytes: int
    weights_bytes: int
    stack_bytes: int | None  # that a run needs, where it is known
    optimize: str  # the compiler's option
    pushes: bool = False  # samples go through a buffer: NAME_push and NAME_next instead of NAME_run
    hop_ms: int | None = None  # of a model that streams, where its rate is known

    @property
    def NAME(self) -> str:  # noqa: N802 (as in C)
        return self.name.upper()


def project_model(build: Build | ProgramBuild, stack: int | None) -> ProjectModel:
    build.refuse_needs("a project")
    metadata = build.module.metadata
    if isinstance(build, ProgramBuild):
        pairs = [(row, build.entries[row["name"]]) for row in metadata["entries"]]
        entries = tuple(_entry(row["name"], row, one.graph, one.lowered) for row, one in pairs)
    else:
        row = {**metadata, "function": f"{build.name}_run"}
        entries = (_entry("", row, build.graph, build.lowered),)
    return ProjectModel(
        name=build.name,
        entries=entries,
        sources=tuple(metadata["sources"]),
        arena_bytes=metadata["arena_bytes"],
        state_bytes=metadata["state_bytes"],
        weights_bytes=metadata["weights_bytes"],
        stack_bytes=stack,
        optimize="-Os" if build.options.optimize == "size" else "-O2",
        pushes=_pushes(metadata),
        hop_ms=_hop_ms(metadata),
    )


def _pushes(metadata: dict[str, Any]) -> bool:
    return "stream" in metadata and bool(metadata["stream"]["pushes"])


def _hop_ms(metadata: dict[str, Any]) -> int | None:
    """Whole milliseconds, rounded down: samples must not arrive faster than they are taken."""
    stream = metadata.get("stream")
    return int(stream["hop"] * 1000 / stream["rate"]) if stream and stream["rate"] else None


def _entry(name: str, row: dict[str, Any], graph: Graph, lowered: Graph) -> ProjectEntry:
    prefix = str(row["function"]).removesuffix("_run")
    given = with_lengths(lowered.inputs, graph.truth.example)
    arrays = [to_memory(port, x) for port, x in zip(lowered.inputs, given, strict=True)]
    if _pushes(row):  # samples one after another
        arrays = [np.moveaxis(array, time_place(lowered), 0) for array in arrays]
    inputs = [_port(port, f"{prefix}_input_", example=_elements(array))
              for port, array in zip(row["inputs"], arrays, strict=True)]
    outputs = [_port(port, f"{prefix}_output_", show=_show(port, prefix)) for port in row["outputs"]]
    return ProjectEntry(name, prefix, tuple(inputs), tuple(outputs))


def _port(row: dict[str, Any], prefix: str, **more: str) -> ProjectPort:
    dtype = BY_NAME[row["dtype"]]
    shape = f"({', '.join(map(str, row['c_shape']))}{',' if len(row['c_shape']) == 1 else ''})"
    return ProjectPort(
        row["name"], row["c_name"].removeprefix(prefix), row["c_name"], dtype.c, row["bytes"] // dtype.size,
        row["bytes"], shape, **more,
    )


def _show(row: dict[str, Any], prefix: str) -> str:
    dtype, word = BY_NAME[row["dtype"]], row["c_name"].removeprefix(f"{prefix}_output_")
    if row["scale"] is not None:
        return f"show_float({prefix}_dequantize_{word}(value), (uint32_t)value)"
    if dtype.kind == "f":
        return "show_float(value, show_bits(value))"
    if dtype.kind == "h":
        return "show_half(value)"
    return "show_int(value)"


def _elements(array: np.ndarray) -> str:
    """Literals that read back as the same bits, a few in a line."""
    flat = array.reshape(-1)
    words = [_literal(x) for x in flat]
    rows = [", ".join(words[i : i + _ROW]) for i in range(0, len(words), _ROW)]
    return ",\n    ".join(rows)


def _literal(x: Any) -> str:
    if x.dtype == np.float32:
        return c_float(float(x)).replace("PL_INFINITY", "(1.0f / 0.0f)")
    if x.dtype == np.float16:
        return f"0x{int(x.view(np.uint16)):04x}u"
    number = int(x)
    if x.dtype == np.int64:
        return f"(-{-number - 1}LL - 1)" if number == np.iinfo(np.int64).min else f"{number}LL"
    return f"(-{-number - 1} - 1)" if number == np.iinfo(np.int32).min else str(number)
