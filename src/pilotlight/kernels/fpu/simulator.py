"""A simulator of the instructions the generator uses, so that a micro-kernel can be checked without a board.

It is stricter than a core: registers hold nothing until written, memory outside the buffers given does not
exist, and at the end every register the calling convention protects must hold what it held at the start.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.assembly.instructions import (
    AsmInstruction,
    Core,
    Double,
    Float,
    Function,
    MemoryOperand,
    Operand,
    Register,
    RegisterList,
    Shifted,
)

MASK = 0xFFFFFFFF
STACK_TOP, STACK_SIZE = 0x30000000, 1024
SAVED: tuple[Register, ...] = (*(Core(n) for n in range(4, 12)), *(Float(n) for n in range(16, 32)))


class SimulatorError(Exception):
    """A micro-kernel did what it must not do."""


class Simulator:
    """Registers, flags and memory. Buffers are given addresses by `place`."""

    def __init__(self) -> None:
        self.memory: dict[int, bytearray] = {STACK_TOP - STACK_SIZE: bytearray(STACK_SIZE)}
        self.registers: dict[Register, int] = {}
        self.sp = self.lowest_sp = STACK_TOP
        self.fpscr = 0
        self.equal = self.no_borrow = False  # the flags Z and C
        self.executed = 0

    def place(self, address: int, data: npt.NDArray[np.float32] | bytes) -> None:
        self.memory[address] = bytearray(data if isinstance(data, bytes) else data.astype("<f4").tobytes())

    def floats(self, address: int) -> npt.NDArray[np.float32]:
        return np.frombuffer(bytes(self.memory[address]), "<f4")

    def call(self, function: Function, argument: int, limit: int = 10_000_000) -> None:
        """Runs the function to its return and checks what it must preserve."""
        labels = {i.op[:-1]: at for at, i in enumerate(function.body) if i.op.endswith(":")}
        for number, register in enumerate(SAVED):
            self.registers[register] = 0x5A000000 + number
        self.registers[Core(0)], self.registers[Core(14)] = argument, 0xFFFFFFFE
        before, status = dict(self.registers), self.fpscr
        at: int | None = 0
        while at is not None:
            instruction = function.body[at]
            at += 1
            if instruction.op.endswith(":"):
                continue
            self.executed += 1
            if self.executed > limit:
                raise SimulatorError(f"{function.name} does not end")
            if instruction.op == "bx":
                break
            to = self.jump(function.body, at, labels)
            if to is None:
                self.execute(instruction.op, instruction.operands)
            else:
                at = to
        changed = [str(r) for r in (*SAVED, Core(14)) if self.registers[r] != before[r]]
        if changed or self.sp != STACK_TOP or self.fpscr != status:
            raise SimulatorError(f"{function.name} does not restore {', '.join(changed) or 'sp or fpscr'}")
        if STACK_TOP - self.lowest_sp != function.stack:
            raise SimulatorError(
                f"{function.name} uses {STACK_TOP - self.lowest_sp} bytes of stack, says {function.stack}"
            )

    def jump(self, body: list[AsmInstruction], following: int, labels: dict[str, int]) -> int | None:
        """Where a branch goes; None for what is not a branch."""
        instruction = body[following - 1]
        if instruction.op[0] != "b":
            return None
        return labels[str(instruction.operands[0])] if self.condition(instruction.op[1:]) else following

    def condition(self, code: str) -> bool:
        equal, no_borrow = self.equal, self.no_borrow
        return {"": True, "eq": equal, "ne": not equal, "lo": not no_borrow, "hs": no_borrow}[code]

    def value(self, operand: Operand) -> int:
        if isinstance(operand, int):
            return operand
        if isinstance(operand, Shifted):
            return self.value(operand.register) << operand.bits & MASK
        assert isinstance(operand, Core | Float)
        if operand not in self.registers:
            raise SimulatorError(f"{operand} is read before it is written")
        return self.registers[operand]

    def bytes_at(self, address: int, size: int = 4) -> tuple[bytearray, int]:
        for start, block in self.memory.items():
            if start <= address and address + size <= start + len(block):
                return block, address - start
        raise SimulatorError(f"access outside memory at {address:#x}")

    def read(self, address: int) -> int:
        block, at = self.bytes_at(address)
        return int(struct.unpack_from("<I", block, at)[0])

    def write(self, address: int, value: int) -> None:
        block, at = self.bytes_at(address)
        struct.pack_into("<I", block, at, value & MASK)

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        if op in ("push", "vpush"):
            self.push(operands[0])
        elif op in ("pop", "vpop"):
            self.pop(operands[0])
        elif op in ("vldmia", "vstmia", "stmia"):
            self.several(op, operands[0], operands[1])
        elif op == "ldr":
            target, source = operands
            assert isinstance(target, Core) and isinstance(source, MemoryOperand)
            self.registers[target] = self.read(self.value(source.base) + source.offset)
        elif op in ("vmrs", "vmsr"):
            self.status(op, operands)
        elif op == "vmov":
            self.move(operands)
        elif op.endswith(".f32"):
            self.arithmetic(op, operands)
        else:
            self.integer(op, operands)

    def push(self, registers: Operand) -> None:
        assert isinstance(registers, RegisterList)
        self.sp -= 4 * len(registers.registers)
        self.lowest_sp = min(self.lowest_sp, self.sp)
        for i, register in enumerate(registers.registers):
            self.write(self.sp + 4 * i, self.value(register))

    def pop(self, registers: Operand) -> None:
        assert isinstance(registers, RegisterList)
        for register in registers.registers:
            self.registers[register] = self.read(self.sp)
            self.sp += 4

    def several(self, op: str, where: Operand, registers: Operand) -> None:
        assert isinstance(where, MemoryOperand | Core) and isinstance(registers, RegisterList)
        base = where.base if isinstance(where, MemoryOperand) else where
        numbers = [register.number for register in registers.registers]
        if numbers != sorted(numbers) or (op[0] == "v" and numbers[-1] - numbers[0] + 1 != len(numbers)):
            raise SimulatorError(f"{op} of {registers}")
        address = self.value(base)
        for i, register in enumerate(registers.registers):
            if op == "vldmia":
                self.registers[register] = self.read(address + 4 * i)
            else:
                self.write(address + 4 * i, self.value(register))
        if isinstance(where, MemoryOperand):
            self.registers[base] = address + 4 * len(numbers)

    def status(self, op: str, operands: tuple[Operand, ...]) -> None:
        register = operands[0] if op == "vmrs" else operands[1]
        assert isinstance(register, Core)
        if op == "vmrs":
            self.registers[register] = self.fpscr
        else:
            self.fpscr = self.value(register)

    def move(self, operands: tuple[Operand, ...]) -> None:
        half = len(operands) // 2
        targets, sources = operands[:half], operands[half:]
        if isinstance(operands[0], Double):
            low = operands[0].low
            targets, sources = (low, Float(low.number + 1)), operands[1:]
        for target, source in zip(targets, sources, strict=True):
            assert isinstance(target, Core | Float)
            self.registers[target] = self.value(source)

    def arithmetic(self, op: str, operands: tuple[Operand, ...]) -> None:
        target, left, right = operands
        assert isinstance(target, Float)
        a, b = self.number(left), self.number(right)
        with np.errstate(all="ignore"):
            if op == "vmul.f32":
                result = a * b
            elif op == "vadd.f32":
                result = a + b
            elif op == "vfma.f32":
                result = np.float32(np.longdouble(a) * np.longdouble(b) + np.longdouble(self.number(target)))
            else:
                raise SimulatorError(f"unknown instruction {op}")
        quiet = 0x7FC00000 if np.isnan(result) and self.fpscr >> 25 & 1 else None
        self.registers[target] = int(result.view(np.uint32)) if quiet is None else quiet

    def number(self, operand: Operand) -> np.float32:
        return np.uint32(self.value(operand)).view(np.float32)

    def integer(self, op: str, operands: tuple[Operand, ...]) -> None:
        if op == "cmp":
            self.subtract(self.value(operands[0]), self.value(operands[1]))
            return
        target = operands[0]
        assert isinstance(target, Core)
        a, b = self.value(operands[1]), self.value(operands[-1])
        functions: dict[str, Callable[[], int]] = {
            "mov": lambda: a,
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "orr": lambda: a | b,
            "subs": lambda: self.subtract(a, b),
            "adds": lambda: self.subtract(a, -b & MASK),
            "usat": lambda: 0 if b >> 31 else b,
        }
        if op not in functions:
            raise SimulatorError(f"unknown instruction {op}")
        self.registers[target] = functions[op]() & MASK

    def subtract(self, a: int, b: int) -> int:
        """a - b and its flags."""
        self.equal, self.no_borrow = (a - b) & MASK == 0, a >= b
        return a - b
