"""An int8 layer as data, and the kernel that a family chose for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pilotlight.codegen.step import Fields
from pilotlight.kernels.pack_f32 import Conv2dShape

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Layer:
    """y = clamp(zy + rhmul(acc << shift, m), lo, hi), acc = bias + Σ x·w over all taps, padded ones reading zx.

    A linear layer is a 1x1 convolution over its rows: `pack_f32.Linear(n, i, o).as_conv2d()`.
    """

    shape: Conv2dShape
    w: Array  # int8 (O, KH, KW, I / groups)
    bias: Array  # int32 (O), the input's zero point folded in
    m: Array  # int32 (O), not negative
    zx: int = 0
    zy: int = 0
    shift: int = 0
    lo: int = -128
    hi: int = 127

    @property
    def largest(self) -> Array:
        """Per filter, what the absolute value of an accumulator cannot pass."""
        taps = np.abs(self.w.astype(np.int64)).reshape(len(self.w), -1).sum(axis=1)
        return taps * 128 + np.abs(self.bias.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Kernel:
    """How a layer is computed: `driver(&table, x, constants..., y[, scratch])`, scratch a `void *`."""

    header: str  # in csrc/kernels/portable, without .h
    ctype: str  # of the table
    table: Callable[[bool], Fields]  # the argument: walk backward
    driver: str
    constants: tuple[Array, ...]
    scratch: int  # bytes of arena, aligned to 8; 0: the driver takes no such argument
    distance: int | None  # forward: the largest safe `output - input` in bytes; None: they must not overlap
    reverse: int | None  # backward: the smallest; None: it cannot walk backward
    micro: frozenset[str] = frozenset()  # assembly blocks
    instructions: int = 0  # estimated, where a family has a choice

    @property
    def flash(self) -> int:
        """Bytes of constants."""
        return sum(c.nbytes for c in self.constants)

    @property
    def ctypes(self) -> tuple[str, ...]:
        """The C type of each constant."""
        return tuple(f"{c.dtype.name}_t" for c in self.constants)


class Family(Protocol):
    """Kernels for one instruction set."""

    def plan(self, layer: Layer) -> Kernel: ...
