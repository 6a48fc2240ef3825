"""Assembly as data: instructions, a pool of registers, functions that know their stack bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class Core:
    """A core register r0..r12, or lr (14)."""

    number: int

    def __str__(self) -> str:
        return "lr" if self.number == 14 else f"r{self.number}"


@dataclass(frozen=True)
class Float:
    """A single-precision register s0..s31."""

    number: int

    def __str__(self) -> str:
        return f"s{self.number}"


Register = Core | Float


@dataclass(frozen=True)
class RegisterList:
    """{r4, r5, …} or {s0-s7}, ascending."""

    registers: tuple[Register, ...]

    def __str__(self) -> str:
        first, last = self.registers[0], self.registers[-1]
        if isinstance(first, Float) and len(self.registers) > 1:
            return f"{{{first}-{last}}}"
        return "{" + ", ".join(map(str, self.registers)) + "}"


@dataclass(frozen=True)
class Double:
    """Two neighbouring single-precision registers, by the name of the pair."""

    low: Float

    def __str__(self) -> str:
        return f"d{self.low.number // 2}"


@dataclass(frozen=True)
class MemoryOperand:
    """[base, #offset], or the base alone with `update` where an instruction moves it on."""

    base: Core
    offset: int = 0
    update: bool = False

    def __str__(self) -> str:
        return (
            f"{self.base}!"
            if self.update
            else f"[{self.base}, #{self.offset}]"
            if self.offset
            else f"[{self.base}]"
        )


@dataclass(frozen=True)
class Shifted:
    """A register shifted left."""

    register: Core
    bits: int

    def __str__(self) -> str:
        return f"{self.register}, lsl #{self.bits}"


Operand = Core | Float | Double | RegisterList | MemoryOperand | Shifted | int | str


@dataclass(frozen=True)
class AsmInstruction:
    """One instruction; a label is an instruction without operands whose name ends in a colon."""

    op: str
    operands: tuple[Operand, ...] = ()

    def __str__(self) -> str:
        if self.op.endswith(":"):
            return f".L{self.op}"
        return f"    {self.op} {', '.join(map(self._operand, self.operands))}".rstrip()

    def _operand(self, value: Operand) -> str:
        if isinstance(value, int):
            return f"#{value}"
        if isinstance(value, str):
            return f".L{value}" if self.op[0] == "b" and value != "lr" else value
        return str(value)


class Registers:
    """Hands out registers, the caller-saved ones first."""

    def __init__(self) -> None:
        self._core = [Core(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14)]
        self._float = 0
        self.used: list[Core] = []

    def core(self) -> Core:
        if not self._core:
            raise PilotlightError("a micro-kernel needs more core registers than there are", kind="internal")
        self.used.append(self._core.pop(0))
        return self.used[-1]

    def floats(self, count: int) -> list[Float]:
        if self._float + count > 32:
            raise PilotlightError("a micro-kernel needs more float registers than there are", kind="internal")
        self._float += count
        return [Float(n) for n in range(self._float - count, self._float)]

    def saved_core(self) -> list[Core]:
        """What a function must save: r4 and up, and r12, which holds the floating-point status."""
        return sorted([r for r in self.used if r.number >= 4] + [Core(12)], key=lambda r: r.number)

    def saved_floats(self) -> list[Float]:
        return [Float(n) for n in range(16, self._float)]


@dataclass
class Function:
    """A whole function under the standard calling convention."""

    name: str
    body: list[AsmInstruction] = field(default_factory=list)
    stack: int = 0

    def add(self, op: str, *operands: Operand) -> None:
        self.body.append(AsmInstruction(op, operands))

    def label(self, name: str) -> None:
        self.body.append(AsmInstruction(f"{name}:"))
