"""The simulator of micro-kernels, with the DSP extension and every form of address that the int8 blocks use."""

from __future__ import annotations

import re
from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, MemoryOperand, Operand, RegisterList
from pilotlight.kernels.fpu.simulator import MASK, Simulator, SimulatorError

_ADDRESS = re.compile(r"\[(\w+)(?:, (?:#(-?\d+)|(\w+)(?:, lsl #(\d+))?))?\](?:, #(-?\d+))?")
_SHIFTED = re.compile(r"(\w+), (lsl|asr) #(\d+)")


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def halves(value: int) -> tuple[int, int]:
    return signed(value, 16), signed(value >> 16, 16)


def joined(low: int, high: int) -> int:
    return low & 0xFFFF | (high & 0xFFFF) << 16


def dual_product(a: int, b: int) -> int:
    (a0, a1), (b0, b1) = halves(a), halves(b)
    return a0 * b0 + a1 * b1


class DspSimulator(Simulator):
    """Cortex-M4 as far as the int8 blocks need it."""

    def __init__(self) -> None:
        super().__init__()
        self.difference = 0  # of the last comparison, signed

    def jump(self, body: list[AsmInstruction], following: int, labels: dict[str, int]) -> int | None:
        instruction = body[following - 1]
        if instruction.op != "tbb":
            return super().jump(body, following, labels)
        index = re.fullmatch(r"\[pc, (\w+)\]", str(instruction.operands[0]))
        table = next(i for i in body[following:] if i.op == ".byte")
        names = re.findall(r"\(\.L(\w+) - ", str(table.operands[0]))
        assert index is not None
        return labels[names[self.value(_register(index[1]))]]

    def value(self, operand: Operand) -> int:
        if operand == "sp":
            return self.sp
        if isinstance(operand, str):
            found = _SHIFTED.fullmatch(operand)
            assert found is not None, operand
            value = self.value(_register(found[1]))
            return signed(value) >> int(found[3]) & MASK if found[2] == "asr" else value << int(found[3]) & MASK
        return super().value(operand)

    def address(self, operand: Operand) -> int:
        """Where an access goes; moves the base on where the form says so."""
        found = _ADDRESS.fullmatch(str(operand))
        assert found is not None, operand
        base, offset, index, shift, after = found.groups()
        start = self.sp if base == "sp" else self.value(_register(base))
        if after is not None:
            self.registers[_register(base)] = start + int(after) & MASK
        return start + int(offset or 0) + (self.value(_register(index)) << int(shift or 0) if index else 0) & MASK

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        if op in ("ldr", "ldrd", "str", "strd", "strb"):
            self.access(op, operands[:-1], operands[-1])
        elif op in ("ldmia", "stmia"):
            self.several(op, operands[0], operands[1])
        elif op == "cmp":
            self.difference = signed(self.value(operands[0])) - signed(self.value(operands[1]))
            super().execute(op, operands)
        elif op in ("movlt", "movgt"):
            if self.difference < 0 if op == "movlt" else self.difference > 0:
                super().execute("mov", operands)
        elif op in ("add", "sub") and operands[0] == "sp":
            assert isinstance(operands[2], int)
            self.sp += operands[2] if op == "add" else -operands[2]
            self.lowest_sp = min(self.lowest_sp, self.sp)
        elif op != "it":
            super().execute(op, operands)

    def access(self, op: str, registers: tuple[Operand, ...], where: Operand) -> None:
        values = [self.value(r) for r in registers] if op[0] == "s" else []
        address = self.address(where)
        if op == "strb":
            block, at = self.bytes_at(address, 1)
            block[at] = values[0] & 0xFF
            return
        if len(registers) > 1 and address % 4:
            raise SimulatorError(f"{op} at {address:#x}")
        for i, register in enumerate(registers):
            assert isinstance(register, Core)
            if values:
                self.write(address + 4 * i, values[i])
            else:
                self.registers[register] = self.read(address + 4 * i)

    def several(self, op: str, where: Operand, registers: Operand) -> None:
        if op == "stmia":
            super().several(op, where, registers)
            return
        assert isinstance(registers, RegisterList)
        base = where.base if isinstance(where, MemoryOperand) else where
        address = self.value(base)
        if address % 4:
            raise SimulatorError(f"{op} at {address:#x}")
        for i, register in enumerate(registers.registers):
            self.registers[register] = self.read(address + 4 * i)
        if isinstance(where, MemoryOperand) and where.update:
            self.registers[where.base] = address + 4 * len(registers.registers)

    def integer(self, op: str, operands: tuple[Operand, ...]) -> None:
        target, *sources = operands
        functions: dict[str, Callable[[list[int]], int]] = {
            "rsb": lambda v: v[1] - v[0],
            "lsl": lambda v: v[0] << v[1],
            "sadd16": lambda v: joined(*(a + b for a, b in zip(halves(v[0]), halves(v[1]), strict=True))),
            "ssub16": lambda v: joined(*(a - b for a, b in zip(halves(v[0]), halves(v[1]), strict=True))),
            "smuad": lambda v: dual_product(v[0], v[1]),
            "smlad": lambda v: dual_product(v[0], v[1]) + v[2],
            "smmlar": lambda v: ((v[2] << 32) + signed(v[0]) * signed(v[1]) + (1 << 31)) >> 32,
            "ssat": lambda v: max(-(1 << (v[0] - 1)), min((1 << (v[0] - 1)) - 1, signed(v[1]))),
        }
        if op == "sxtb16":
            word = self.value(sources[0])
            word = word >> 8 if len(sources) > 1 else word
            result = joined(signed(word, 8), signed(word >> 16, 8))
        elif op in functions:
            result = functions[op]([self.value(s) for s in sources])
        else:
            super().integer(op, operands)
            return
        assert isinstance(target, Core)
        self.registers[target] = result & MASK


def _register(name: str) -> Core:
    return Core(14) if name == "lr" else Core(int(name[1:]))
