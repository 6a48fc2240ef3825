"""The generated folder as the toolchain and the devices see it: what metadata.json says, checked."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class FolderPort:
    """One input or output, in the layout it has in memory."""

    name: str
    c_name: str
    dtype: np.dtype[Any]
    c_shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class FolderEntry:
    """An entry point; that of a model with a single one has no name."""

    name: str
    function: str
    inputs: tuple[FolderPort, ...]
    outputs: tuple[FolderPort, ...]
    ops: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class ModelFolder:
    """Ports and steps of all entry points are numbered in their order."""

    path: Path
    name: str
    sources: tuple[str, ...]
    asm_stack: dict[str, int]
    entries: tuple[FolderEntry, ...]
    arena_bytes: int
    state_bytes: int
    weights_bytes: int
    build_id: int  # of 32 bits, the same for the same files
    needs: tuple[str, ...] = ()  # functions that the project has to bring, such as those of a driver
    fails: bool = False  # a run returns an error, or 0

    def is_library(self, source: str) -> bool:
        """Whether it is somebody's library, which has a folder of its own and calls the C library."""
        return "/" in source

    @property
    def calls_libc(self) -> bool:
        return any(map(self.is_library, self.sources))

    @property
    def inputs(self) -> tuple[FolderPort, ...]:
        return tuple(port for entry in self.entries for port in entry.inputs)

    @property
    def outputs(self) -> tuple[FolderPort, ...]:
        return tuple(port for entry in self.entries for port in entry.outputs)

    @property
    def ops(self) -> tuple[dict[str, Any], ...]:
        return tuple(op for entry in self.entries for op in entry.ops)

    def before(self, entry: int) -> tuple[int, int, int]:
        """How many inputs, outputs and steps the entry points before this one have."""
        rows = self.entries[:entry]
        return sum(len(e.inputs) for e in rows), sum(len(e.outputs) for e in rows), sum(len(e.ops) for e in rows)


def read_folder(path: Path) -> ModelFolder:
    file = path / "metadata.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return ModelFolder(
            path=path,
            name=data["name"],
            sources=tuple(data["sources"]),
            asm_stack=dict(data.get("asm_stack") or {}),
            entries=tuple(_entry(row, data["name"]) for row in data.get("entries") or [data]),
            arena_bytes=data["arena_bytes"],
            state_bytes=data["state_bytes"],
            weights_bytes=data["weights_bytes"],
            build_id=_build_id(path, ["metadata.json", *data["sources"], f"{data['name']}_weights.bin"]),
            needs=tuple(data.get("needs") or ()),
            fails=bool(data.get("fails")),
        )
    except OSError as error:
        raise PilotlightError(
            f"{path} is not a compiled model: {error.strerror or error}",
            where=str(file),
            hint="pilotlight compile writes such a folder",
            kind="bad-folder",
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise PilotlightError(
            f"metadata.json cannot be used: {error!r}",
            where=str(file),
            hint="compile the model again",
            kind="bad-folder",
        ) from error


def _build_id(folder: Path, names: Iterable[str]) -> int:
    """A file that is missing is the compiler's to complain about; weights may have none of their own."""
    value = 0
    for name in names:
        if (folder / name).is_file():
            value = zlib.crc32((folder / name).read_bytes(), value)
    return value


def _entry(row: dict[str, Any], name: str) -> FolderEntry:
    return FolderEntry(
        name=row["name"] if "function" in row else "",
        function=row.get("function") or f"{name}_run",
        inputs=tuple(_port(port) for port in row["inputs"]),
        outputs=tuple(_port(port) for port in row["outputs"]),
        ops=tuple(row.get("ops", ())),
    )


def _port(row: dict[str, Any]) -> FolderPort:
    dtype = np.dtype("uint16" if row["dtype"] == "bfloat16" else row["dtype"])  # numpy has no bfloat16
    shape = tuple(int(n) for n in row["c_shape"])
    port = FolderPort(row["name"], row["c_name"], dtype, shape, int(row["bytes"]))
    if math.prod(shape) * dtype.itemsize != port.bytes:
        raise ValueError(f"{port.name}: {shape} of {dtype} is not {port.bytes} bytes")
    return port
