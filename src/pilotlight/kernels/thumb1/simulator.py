"""The simulator of Thumb-1: what its instructions do to the flags, and which registers they reach."""

from __future__ import annotations

from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import Core, MemoryOperand, Operand
from pilotlight.kernels.assembly.simulator import SimulatorError, signed
from pilotlight.kernels.assembly.thumb import ThumbSimulator, Words

_ANY = ("mov", "add", "cmp", "push", "pop", "sub")  # what reaches r8 and up, as far as generators use it


class Thumb1Simulator(ThumbSimulator):
    carry: int | None = None

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        for operand in operands:
            base = operand.base if isinstance(operand, MemoryOperand) else operand
            if isinstance(base, Core) and 8 <= base.number != 13 and op not in _ANY:
                raise SimulatorError(f"{op} does not reach {base}")
        target, *sources = operands
        if op in ("add", "muls") and len(sources) == 2 and sources[op == "muls"] != target:
            raise SimulatorError(f"{op} has a target of its own")
        if op == "ldrsb":
            self.set(target, signed(self.load(self.address(sources[0]), 1), 8))
        else:
            super().execute(op, operands)

    def condition(self, code: str) -> bool:
        """After a shift, lo: the bit that left is 0."""
        return not self.carry if code == "lo" and self.carry is not None else super().condition(code)

    def arithmetic(self, op: str, operands: tuple[Operand, ...]) -> None:
        before = self.value(operands[1])
        super().arithmetic(op, operands)
        self.carry = None
        if op == "lsls":
            assert isinstance(operands[2], int)
            self.flags = self.value(operands[0]), 0
            self.carry = before >> (32 - operands[2]) & 1

    def functions(self) -> dict[str, Callable[[Words], int]]:
        return super().functions() | _FUNCTIONS


_FUNCTIONS: dict[str, Callable[[Words], int]] = {
    "movs": lambda v: v[0],
    "muls": lambda v: v[0] * v[1],
    "mvns": lambda v: ~v[0],
    "lsls": lambda v: v[0] << v[1],
    "lsrs": lambda v: v[0] >> v[1],
    "asrs": lambda v: signed(v[0]) >> v[1],
    "sxtb": lambda v: signed(v[0], 8),
    "uxth": lambda v: v[0] & 0xFFFF,
}
