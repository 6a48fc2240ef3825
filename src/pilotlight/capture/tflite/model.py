"""A `.tflite` file as plain data."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pilotlight.errors import PilotlightError

ABSENT = -1  # the index of an input that an operator was not given


@dataclass(frozen=True)
class Affine:
    """What the integers of a tensor stand for: one scale, or one for each index of an axis."""

    scales: np.ndarray  # float32
    zero_points: np.ndarray  # int64
    axis: int


@dataclass(frozen=True)
class FileTensor:
    """A tensor of a subgraph; `data` are the bytes of a constant."""

    index: int
    name: str
    type: str  # "INT8", "FLOAT32", ...
    shape: tuple[int, ...]
    signature: tuple[int, ...]  # with -1 where the file leaves a size open
    data: np.ndarray | None = None
    affine: Affine | None = None
    variable: bool = False
    sparse: bool = False

    def __str__(self) -> str:
        return f"{self.name or f'tensor {self.index}'}: {self.type}{list(self.shape)}"


class OperatorOptions:
    """The options of an operator by the schema's names; what the file does not have is the schema's default."""

    def __init__(self, table: Any):
        self._table = table

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._table, name)()
        except struct.error as error:
            raise PilotlightError(f"the option {name} lies outside the file", kind="broken-file") from error

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """A list, or None where the file has none."""
        if getattr(self, f"{name}IsNone"):
            return None
        return tuple(int(n) for n in np.atleast_1d(getattr(self, f"{name}AsNumpy"))) if getattr(
            self, f"{name}Length") else ()


@dataclass(frozen=True)
class FileOperator:
    """An operator of a subgraph, with the indices of its tensors."""

    index: int
    name: str  # "CONV_2D"; of a custom operator, its own name
    version: int
    custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Callable[[str], OperatorOptions]  # as a table of this kind of the schema


@dataclass(frozen=True)
class FileSubgraph:
    """One function of a file."""

    index: int
    name: str
    tensors: tuple[FileTensor, ...]
    operators: tuple[FileOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        return f"subgraph {self.index}" + (f" ({self.name})" if self.name else "")


@dataclass(frozen=True)
class EntrySignature:
    """The names of a subgraph's inputs and outputs, by tensor."""

    key: str
    subgraph: int
    inputs: dict[int, str]
    outputs: dict[int, str]


@dataclass(frozen=True)
class TfliteModel:
    """A whole file; `data` are its bytes."""

    name: str  # of the file, for people
    data: bytes
    description: str
    subgraphs: tuple[FileSubgraph, ...]
    signatures: tuple[EntrySignature, ...]
    metadata: dict[str, bytes] = field(default_factory=dict)

    def operators(self) -> Iterator[tuple[FileSubgraph, FileOperator]]:
        for subgraph in self.subgraphs:
            for operator in subgraph.operators:
                yield subgraph, operator
