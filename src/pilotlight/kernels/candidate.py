"""One way to compute a layer, as data: what is called, what it reads, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy.typing as npt

from pilotlight.codegen.step import Fields

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A kernel for one layer: `driver(&table, x, constants..., y[, scratch][, more...])`, scratch a `void *`.

    It may bring C or assembly of its own, such as a vendor's: `files` become part of the generated folder, those that
    end in .c and .S are compiled, and those that end in .h are included by the generated C.
    """

    name: str  # instruction set and kernel, such as `dsp.conv`
    headers: tuple[str, ...]  # of kernels/, without .h
    driver: str
    ctype: str  # of the table
    table: Callable[[bool], Fields]  # the argument: walk backward
    pack: Callable[[], tuple[Array, ...]]  # the constants; called when they are needed
    scratch: int = 0  # bytes of arena, aligned to 8; 0: the driver takes no such argument
    distance: int | None = None  # forward: the largest safe `output - input` in bytes; None: they must not overlap
    reverse: int | None = None  # backward: the smallest; None: it cannot walk backward
    micro: frozenset[str] = frozenset()  # assembly blocks
    instructions: int | None = None  # of one execution, estimated; None: not known
    files: Mapping[str, str] = field(default_factory=dict)  # of its own: name → text
    code: int = 0  # bytes of code in them
    stack: Mapping[str, int] = field(default_factory=dict)  # bytes of stack of each assembly function in them
    types: tuple[str, ...] = ()  # C types of the constants; default: as numpy has them
    more: tuple[int, ...] = ()  # further arguments
    scratch_type: str = "uint8_t"  # as which C passes it
    hint: str = "dense"  # the name of the table in C, before its number

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def constants(self) -> tuple[Array, ...]:
        return self.pack()

    @cached_property
    def flash(self) -> int:
        """Bytes of constants, and of code of its own."""
        return self.code + sum(c.nbytes for c in self.constants)

    @property
    def ctypes(self) -> tuple[str, ...]:
        """The C type of each constant."""
        return self.types or tuple(f"{c.dtype.name}_t".replace("float32_t", "float") for c in self.constants)
