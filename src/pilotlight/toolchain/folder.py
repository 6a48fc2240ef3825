"""The generated folder as the toolchain and the devices see it: what metadata.json says, checked."""

from __future__ import annotations

import json
import math
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
class ModelFolder:
    path: Path
    name: str
    sources: tuple[str, ...]
    asm_stack: dict[str, int]
    inputs: tuple[FolderPort, ...]
    outputs: tuple[FolderPort, ...]
    arena_bytes: int
    state_bytes: int
    weights_bytes: int
    ops: tuple[dict[str, Any], ...]


def read_folder(path: Path) -> ModelFolder:
    file = path / "metadata.json"
    try:
        data = json.loads(file.read_text())
        return ModelFolder(
            path=path,
            name=data["name"],
            sources=tuple(data["sources"]),
            asm_stack=dict(data.get("asm_stack") or {}),
            inputs=tuple(_port(row) for row in data["inputs"]),
            outputs=tuple(_port(row) for row in data["outputs"]),
            arena_bytes=data["arena_bytes"],
            state_bytes=data["state_bytes"],
            weights_bytes=data["weights_bytes"],
            ops=tuple(data.get("ops", ())),
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


def _port(row: dict[str, Any]) -> FolderPort:
    dtype = np.dtype("uint16" if row["dtype"] == "bfloat16" else row["dtype"])  # numpy has no bfloat16
    shape = tuple(int(n) for n in row["c_shape"])
    port = FolderPort(row["name"], row["c_name"], dtype, shape, int(row["bytes"]))
    if math.prod(shape) * dtype.itemsize != port.bytes:
        raise ValueError(f"{port.name}: {shape} of {dtype} is not {port.bytes} bytes")
    return port
