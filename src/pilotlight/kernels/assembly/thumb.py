"""The simulator of Thumb-2: moves, arithmetic, loads and stores, branches. What a core has more is in its folder."""

from __future__ import annotations

import re
from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import (
    Core,
    Double,
    Float,
    Function,
    Label,
    MemoryOperand,
    Operand,
    RegisterList,
    Shifted,
)
from pilotlight.kernels.assembly.simulator import MASK, RETURN, Simulator, SimulatorError, signed

SP, LR, PC = Core(13), Core(14), Core(15)
_CONDITIONS = ("eq", "ne", "lo", "hs", "hi", "ls", "lt", "ge", "gt", "le")
_CONDITIONAL = re.compile(rf"(mov|str)({'|'.join(_CONDITIONS)})")

Words = list[int]


class ThumbSimulator(Simulator):
    saved = (*(Core(n) for n in range(4, 12)), *(Float(n) for n in range(16, 32)))
    arguments = tuple(Core(n) for n in range(4))
    link = LR
    stack_pointer = SP

    def __init__(self) -> None:
        super().__init__()
        self.flags: tuple[int, int] | None = None  # what was compared last

    def returns(self, op: str, operands: tuple[Operand, ...]) -> bool:
        if op == "bx":
            self._back(operands[0])
            return True
        if op == "pop" and isinstance(operands[0], RegisterList) and operands[0].registers[-1] == PC:
            self.execute(op, operands)
            self._back(PC)
            return True
        return False

    def _back(self, register: Operand) -> None:
        if self.value(register) != RETURN:
            raise SimulatorError("a function does not restore lr")

    def jump(self, function: Function, at: int) -> str | None:
        op, operands = function.body[at].op, function.body[at].operands
        if op[0] != "b" or op[1:] not in ("", *_CONDITIONS):
            return None
        assert isinstance(operands[0], Label)
        return operands[0].name if op == "b" or self.condition(op[1:]) else ""

    def condition(self, code: str) -> bool:
        if self.flags is None:
            raise SimulatorError(f"condition {code} of flags that were not set")
        a, b = self.flags
        left, right = signed(a), signed(b)
        return {
            "eq": a == b, "ne": a != b, "lo": a < b, "hs": a >= b, "hi": a > b, "ls": a <= b, "lt": left < right,
            "ge": left >= right, "gt": left > right, "le": left <= right,
        }[code]

    def value(self, operand: Operand) -> int:
        if isinstance(operand, Shifted):
            value = self.value(operand.register)
            if operand.how == "lsl":
                return value << operand.bits & MASK
            return (signed(value) if operand.how == "asr" else value) >> operand.bits & MASK
        return super().value(operand)

    def address(self, operand: Operand) -> int:
        """Where an access goes; moves the base on where the form says so."""
        assert isinstance(operand, MemoryOperand), operand
        start = self.value(operand.base)
        if operand.after is not None:
            self.set(operand.base, start + operand.after)
            return start
        index = self.value(operand.index) << operand.shift if operand.index is not None else 0
        return start + operand.offset + index & MASK

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        if op in ("push", "vpush", "pop", "vpop"):
            self.stack(op, operands[0])
        elif op in ("ldm", "ldmia", "stmia", "vldmia", "vstmia", "vldmdb"):
            self.several(op, operands[0], operands[1])
        elif op in ("ldr", "ldrd", "str", "strd", "strb"):
            self.access(op, operands[:-1], operands[-1])
        elif found := _CONDITIONAL.fullmatch(op):
            if self.condition(found[2]):
                self.execute(found[1], operands)
        elif op in ("cmp", "tst"):
            a, b = self.value(operands[0]), self.value(operands[1]) & MASK
            self.flags = (a, b) if op == "cmp" else (a & b, 0)
        elif op not in ("it", "ite"):
            self.arithmetic(op, operands)

    def arithmetic(self, op: str, operands: tuple[Operand, ...]) -> None:
        target, *sources = operands
        function = self.functions().get(op)
        if function is None:
            raise self.unknown(op)
        values = [self.value(source) for source in sources]
        if op == "subs":
            self.flags = values[0], values[1] & MASK
        elif op == "adds":
            self.flags = values[0], -values[1] & MASK
        self.set(target, function(values))

    def functions(self) -> dict[str, Callable[[Words], int]]:
        """From the values of the sources to the target's."""
        return _FUNCTIONS

    def stack(self, op: str, registers: Operand) -> None:
        """The lowest register is at the lowest address; two for each double."""
        assert isinstance(registers, RegisterList)
        parts = [p for r in registers.registers for p in (r.parts if isinstance(r, Double) else (r,))]
        if op.endswith("push"):
            self.set(SP, self.value(SP) - 4 * len(parts))
            for i, register in enumerate(parts):
                self.store(self.value(SP) + 4 * i, self.value(register))
        else:
            for i, register in enumerate(parts):
                self.set(register, self.load(self.value(SP) + 4 * i))
            self.set(SP, self.value(SP) + 4 * len(parts))

    def several(self, op: str, where: Operand, registers: Operand) -> None:
        assert isinstance(where, MemoryOperand | Core) and isinstance(registers, RegisterList)
        base = where.base if isinstance(where, MemoryOperand) else where
        numbers = [r.number for r in registers.registers if isinstance(r, Core | Float)]
        if numbers != sorted(numbers) or (op[0] == "v" and numbers[-1] - numbers[0] + 1 != len(numbers)):
            raise SimulatorError(f"{op} of {registers}")
        down = 4 * len(numbers) if op.endswith("db") else 0  # the base goes down before the access
        address = self._aligned(op, self.value(base) - down)
        for i, register in enumerate(registers.registers):
            if "ld" in op:
                self.set(register, self.load(address + 4 * i))
            else:
                self.store(address + 4 * i, self.value(register))
        if isinstance(where, MemoryOperand):
            self.set(base, address + 4 * len(numbers) - down)

    def access(self, op: str, registers: tuple[Operand, ...], where: Operand) -> None:
        values = [self.value(r) for r in registers] if op[0] == "s" else []
        address = self.address(where)
        if op == "strb":
            self.store(address, values[0], 1)
            return
        if len(registers) > 1:
            self._aligned(op, address)
        for i, register in enumerate(registers):
            if values:
                self.store(address + 4 * i, values[i])
            else:
                self.set(register, self.load(address + 4 * i))

    @staticmethod
    def _aligned(op: str, address: int) -> int:
        if address % 4:
            raise SimulatorError(f"{op} at {address:#x}")
        return address


_FUNCTIONS: dict[str, Callable[[Words], int]] = {
    "mov": lambda v: v[0],
    "mvn": lambda v: ~v[0],
    "add": lambda v: v[0] + v[1],
    "adds": lambda v: v[0] + v[1],
    "sub": lambda v: v[0] - v[1],
    "subs": lambda v: v[0] - v[1],
    "rsb": lambda v: v[1] - v[0],
    "mul": lambda v: v[0] * v[1],
    "clz": lambda v: 32 - v[0].bit_length(),
    "rbit": lambda v: int(f"{v[0]:032b}"[::-1], 2),
    "and": lambda v: v[0] & v[1],
    "orr": lambda v: v[0] | v[1],
    "bic": lambda v: v[0] & ~v[1],
    "lsl": lambda v: v[0] << (v[1] & 255),  # the lowest byte of a register counts
    "lsr": lambda v: v[0] >> (v[1] & 255),
    "asr": lambda v: signed(v[0]) >> (v[1] & 255),
}
