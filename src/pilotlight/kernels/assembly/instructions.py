"""Assembly as data, for Thumb and RISC-V: operands, instructions, functions that know their stack bytes.

Generators write operands as objects or as text, which becomes objects: `f.add("ldrd", a, b, "[sp, #8]")`,
`f.write("vldrb.8 q0, [r7], #16")`. Simulators read the objects; `render` turns them into text again.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from pilotlight.errors import PilotlightError

_SPECIAL = {13: "sp", 14: "lr", 15: "pc"}


@dataclass(frozen=True)
class Core:
    """A core register of Arm, r0..r12, sp (13), lr (14) or pc (15)."""

    number: int

    def __str__(self) -> str:
        return _SPECIAL.get(self.number, f"r{self.number}")


@dataclass(frozen=True)
class Float:
    """A single-precision register s0..s31."""

    number: int

    def __str__(self) -> str:
        return f"s{self.number}"


@dataclass(frozen=True)
class Double:
    """Two neighbouring single-precision registers, by the name of the pair."""

    low: Float

    @property
    def parts(self) -> tuple[Float, Float]:
        return self.low, Float(self.low.number + 1)

    def __str__(self) -> str:
        return f"d{self.low.number // 2}"


@dataclass(frozen=True)
class Quad:
    """A vector register q0..q7: four neighbouring single-precision registers."""

    number: int

    @property
    def parts(self) -> tuple[Float, ...]:
        return tuple(Float(4 * self.number + i) for i in range(4))

    def __str__(self) -> str:
        return f"q{self.number}"


@dataclass(frozen=True)
class Riscv:
    """A register of RISC-V by its name in the calling convention: a0, t0, s0, ra, sp."""

    name: str

    def __str__(self) -> str:
        return self.name


Register = Core | Float | Double | Quad | Riscv


@dataclass(frozen=True)
class RegisterList:
    """{r4, r5, …}, {s0-s7} or {d8-d15}, ascending."""

    registers: tuple[Register, ...]

    def __str__(self) -> str:
        first, last = self.registers[0], self.registers[-1]
        if isinstance(first, Float | Double) and len(self.registers) > 1:
            return f"{{{first}-{last}}}"
        return "{" + ", ".join(map(str, self.registers)) + "}"


@dataclass(frozen=True)
class MemoryOperand:
    """[base, #offset], [base, index, lsl #shift], [base], #after; or the base alone with `update` where an instruction
    moves it on. RISC-V writes offset(base)."""

    base: Core | Riscv
    offset: int = 0
    update: bool = False
    index: Core | None = None
    shift: int = 0
    after: int | None = None  # added to the base after the access

    def __str__(self) -> str:
        if isinstance(self.base, Riscv):
            return f"{self.offset}({self.base})"
        if self.update:
            return f"{self.base}!"
        if self.after is not None:
            return f"[{self.base}], #{self.after}"
        if self.index is not None:
            return f"[{self.base}, {self.index}{f', lsl #{self.shift}' if self.shift else ''}]"
        return f"[{self.base}, #{self.offset}]" if self.offset else f"[{self.base}]"


@dataclass(frozen=True)
class Shifted:
    """A register shifted left, or right with or without its sign."""

    register: Core
    bits: int
    how: str = "lsl"  # or asr, lsr

    def __str__(self) -> str:
        return f"{self.register}, {self.how} #{self.bits}"


@dataclass(frozen=True)
class Turn:
    """What is done to the operand before it: `ror #8`, `lsl #16`, `asr #16`."""

    how: str
    bits: int

    def __str__(self) -> str:
        return f"{self.how} #{self.bits}"


@dataclass(frozen=True)
class Label:
    """A place in the same function."""

    name: str

    def __str__(self) -> str:
        return f".L{self.name}"


Operand = Register | RegisterList | MemoryOperand | Shifted | Turn | Label | int | str


@dataclass(frozen=True)
class AsmInstruction:
    """One instruction; a label is an instruction without operands whose name ends in a colon."""

    op: str
    operands: tuple[Operand, ...] = ()
    immediate: str = "#"  # before a number

    def __str__(self) -> str:
        if self.op.endswith(":"):
            return f".L{self.op}"
        return f"    {self.op} {', '.join(map(self._operand, self.operands))}".rstrip()

    def _operand(self, value: Operand) -> str:
        return f"{self.immediate}{value}" if isinstance(value, int) else str(value)


class Syntax(ABC):
    """How operands are written."""

    immediate: str

    @abstractmethod
    def operand(self, text: str) -> Operand:
        """An operand from its text."""


class _Thumb(Syntax):
    immediate = "#"

    _CORE = re.compile(r"r(\d+)")
    _VECTOR = re.compile(r"([sdq])(\d+)")
    _MEMORY = re.compile(r"\[(\w+)(?:, (?:#(-?\d+)|(\w+)(?:, lsl #(\d+))?))?\](?:, #(-?\d+))?")
    _SHIFTED = re.compile(r"(\w+), (lsl|asr|lsr) #(\d+)")
    _TURN = re.compile(r"(ror|lsl|asr) #(\d+)")
    _PLAIN = frozenset({"fpscr", "lt", "gt", "lo", "hs", "eq", "ne"})  # a status register; conditions of `it`

    def operand(self, text: str) -> Operand:
        if text.startswith("#"):
            return int(text[1:])
        if text.startswith("{"):
            return self._list(text[1:-1])
        if text.endswith("!"):
            return MemoryOperand(self._core(text[:-1]), update=True)
        if found := self._MEMORY.fullmatch(text):
            base, offset, index, shift, after = found.groups()
            return MemoryOperand(
                self._core(base), int(offset or 0), index=self._core(index) if index else None, shift=int(shift or 0),
                after=None if after is None else int(after),
            )
        if found := self._SHIFTED.fullmatch(text):
            return Shifted(self._core(found[1]), int(found[3]), found[2])
        if found := self._TURN.fullmatch(text):
            return Turn(found[1], int(found[2]))
        register = self._register(text)
        if register is not None:
            return register
        return text if text in self._PLAIN or not text.isidentifier() else Label(text)

    def _register(self, text: str) -> Core | Float | Double | Quad | None:
        number = {name: n for n, name in _SPECIAL.items()}.get(text)
        if number is not None:
            return Core(number)
        if found := self._CORE.fullmatch(text):
            return Core(int(found[1]))
        if found := self._VECTOR.fullmatch(text):
            n = int(found[2])
            return Float(n) if found[1] == "s" else Double(Float(2 * n)) if found[1] == "d" else Quad(n)
        return None

    def _core(self, text: str) -> Core:
        register = self._register(text)
        assert isinstance(register, Core), text
        return register

    def _list(self, text: str) -> RegisterList:
        found: list[Register] = []
        for part in text.split(", "):
            first, _, last = part.partition("-")
            start, end = self._register(first), self._register(last or first)
            if isinstance(start, Double) and isinstance(end, Double):
                found += [Double(Float(n)) for n in range(start.low.number, end.low.number + 1, 2)]
            else:
                assert start is not None and start == end, text
                found.append(start)
        return RegisterList(tuple(found))


class _Riscv(Syntax):
    immediate = ""

    _REGISTER = re.compile(r"a[0-7]|t[0-6]|s\d|s1[01]|ra|sp")
    _MEMORY = re.compile(r"(-?\d+)\((\w+)\)")

    def operand(self, text: str) -> Operand:
        if self._REGISTER.fullmatch(text):
            return Riscv(text)
        if found := self._MEMORY.fullmatch(text):
            return MemoryOperand(Riscv(found[2]), int(found[1]))
        return Label(text)


THUMB, RISCV = _Thumb(), _Riscv()
_PARTS = re.compile(r"(?:[^,\[{]|\[[^\]]*\](?:, #-?\d+)?|\{[^}]*\})+")


@dataclass
class Function:
    """A whole function under the standard calling convention."""

    name: str
    body: list[AsmInstruction] = field(default_factory=list)
    stack: int = 0
    syntax: Syntax = THUMB

    def add(self, op: str, *operands: Operand) -> None:
        raw = op.startswith(".")  # a directive
        parsed = (self.syntax.operand(o) if isinstance(o, str) and not raw else o for o in operands)
        self.body.append(AsmInstruction(op, tuple(parsed), self.syntax.immediate))

    def write(self, text: str) -> None:
        """An instruction as it is written, such as `add r1, r1, r2, lsl #1`."""
        op, _, rest = text.partition(" ")
        parts = [part.strip() for part in _PARTS.findall(rest)]
        if len(parts) > 1 and re.fullmatch(r"(lsl|asr|lsr) #\d+", parts[-1]):
            parts[-2:] = [", ".join(parts[-2:])]
        self.add(op, *parts)

    def lines(self, text: str) -> None:
        """Instructions, one a line; a name with a colon is a label."""
        for line in filter(None, map(str.strip, text.splitlines())):
            if line.endswith(":"):
                self.label(line[:-1])
            else:
                self.write(line)

    def label(self, name: str) -> None:
        self.body.append(AsmInstruction(f"{name}:"))


class Registers:
    """Hands out Arm's registers, the caller-saved ones first."""

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
