"""The simulator of Thumb-2 with single-precision hardware."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.assembly.instructions import Double, Float, Operand
from pilotlight.kernels.assembly.thumb import ThumbSimulator

DEFAULT_NAN = 25  # the bit of the status that makes every NaN the positive one


class FpuSimulator(ThumbSimulator):
    """Cortex-M4F as far as the float blocks need it."""

    def __init__(self) -> None:
        super().__init__()
        self.fpscr = 0

    def floats(self, address: int) -> npt.NDArray[np.float32]:
        return np.frombuffer(bytes(self.memory[address]), "<f4")

    def preserved(self) -> dict[str, int]:
        return super().preserved() | {"fpscr": self.fpscr}

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        if op == "vmrs":
            self.set(operands[0], self.fpscr)
        elif op == "vmsr":
            self.fpscr = self.value(operands[1])
        elif op == "vmov":
            self.move(operands)
        elif op == "usat":
            value = self.value(operands[2])
            self.set(operands[0], 0 if value >> 31 else value)
        elif op.endswith(".f32"):
            self.multiply_or_add(op, operands)
        else:
            super().execute(op, operands)

    def move(self, operands: tuple[Operand, ...]) -> None:
        half = len(operands) // 2
        targets, sources = operands[:half], operands[half:]
        if isinstance(operands[0], Double):
            targets, sources = operands[0].parts, operands[1:]
        for target, source in zip(targets, sources, strict=True):
            self.set(target, self.value(source))

    def multiply_or_add(self, op: str, operands: tuple[Operand, ...]) -> None:
        target, left, right = operands
        assert isinstance(target, Float)
        a, b = self.number(left), self.number(right)
        with np.errstate(all="ignore"):
            if op == "vmul.f32":
                result = a * b
            elif op == "vadd.f32":
                result = a + b
            elif op == "vsub.f32":
                result = a - b
            elif op in ("vfma.f32", "vfms.f32"):
                product = np.longdouble(-a if op == "vfms.f32" else a) * np.longdouble(b)
                result = np.float32(product + np.longdouble(self.number(target)))
            else:
                raise self.unknown(op)
        quiet = 0x7FC00000 if np.isnan(result) and self.fpscr >> DEFAULT_NAN & 1 else None
        self.set(target, int(result.view(np.uint32)) if quiet is None else quiet)

    def number(self, operand: Operand) -> np.float32:
        return np.uint32(self.value(operand)).view(np.float32)
