"""A simulator of the instructions that generators use, so that a micro-kernel can be checked without a board.

It is stricter than a core: registers hold nothing until written, memory outside the buffers given does not exist, and
at the end every register the calling convention protects must hold what it held at the start, and the stack be as deep
as the function says. An instruction set is a subclass: its registers, and what its instructions do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.assembly.instructions import Function, Label, MemoryOperand, Operand, Register

MASK = 0xFFFFFFFF
STACK_TOP, STACK_SIZE = 0x30000000, 1024
RETURN = 0xFFFFFFFE


class SimulatorError(Exception):
    """A micro-kernel did what it must not do."""


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Simulator(ABC):
    """Registers and memory. Buffers are given addresses by `place`."""

    saved: ClassVar[tuple[Register, ...]]  # what a function must preserve
    arguments: ClassVar[tuple[Register, ...]]
    link: ClassVar[Register]  # where the return address is
    stack_pointer: ClassVar[Register]

    def __init__(self) -> None:
        self.memory: dict[int, bytearray] = {STACK_TOP - STACK_SIZE: bytearray(STACK_SIZE)}
        self.registers: dict[Register, int] = {self.stack_pointer: STACK_TOP}
        self.lowest = STACK_TOP
        self.executed = 0

    @abstractmethod
    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        """What an instruction does that is no branch."""

    @abstractmethod
    def jump(self, function: Function, at: int) -> str | None:
        """The label to which the instruction at `at` goes: "" for the next one, None for what is no branch."""

    @abstractmethod
    def returns(self, op: str, operands: tuple[Operand, ...]) -> bool:
        """Whether the instruction leaves the function."""

    def place(self, address: int, data: npt.NDArray[np.generic] | bytes) -> None:
        self.memory[address] = bytearray(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes())

    def call(self, function: Function, *arguments: int, limit: int = 10_000_000) -> None:
        """Runs the function to its return and checks what it must preserve."""
        labels = {i.op[:-1]: at for at, i in enumerate(function.body) if i.op.endswith(":")}
        self.registers |= {register: 0x5A000000 + number for number, register in enumerate(self.saved)}
        self.registers |= dict(zip(self.arguments, arguments, strict=False)) | {self.link: RETURN}
        before = self.preserved()
        at = 0
        while True:
            instruction = function.body[at]
            at += 1
            if instruction.op.endswith(":"):
                continue
            self.executed += 1
            if self.executed > limit:
                raise SimulatorError(f"{function.name} does not end")
            if self.returns(instruction.op, instruction.operands):
                break
            to = self.jump(function, at - 1)
            if to is None:
                self.execute(instruction.op, instruction.operands)
            elif to:
                at = labels[to]
        changed = [name for name, value in self.preserved().items() if value != before[name]]
        if changed:
            raise SimulatorError(f"{function.name} does not restore {', '.join(changed)}")
        if STACK_TOP - self.lowest != function.stack:
            raise SimulatorError(
                f"{function.name} uses {STACK_TOP - self.lowest} bytes of stack, says {function.stack}"
            )

    def preserved(self) -> dict[str, int]:
        """What a call must leave as it was."""
        return {str(register): self.registers[register] for register in (*self.saved, self.stack_pointer)}

    def value(self, operand: Operand) -> int:
        if isinstance(operand, int):
            return operand
        if isinstance(operand, Label | MemoryOperand | str):
            raise SimulatorError(f"{operand} has no value")
        if operand not in self.registers:
            raise SimulatorError(f"{operand} is read before it is written")
        return self.registers[operand]

    def set(self, register: Operand, value: int) -> None:
        self.registers[register] = value & MASK  # type: ignore[index]
        if register == self.stack_pointer:
            self.lowest = min(self.lowest, value)

    def load(self, address: int, size: int = 4) -> int:
        block, at = self._bytes_at(address, size)
        return int.from_bytes(block[at : at + size], "little")

    def store(self, address: int, value: int, size: int = 4) -> None:
        block, at = self._bytes_at(address, size)
        block[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def _bytes_at(self, address: int, size: int) -> tuple[bytearray, int]:
        for start, block in self.memory.items():
            if start <= address and address + size <= start + len(block):
                return block, address - start
        raise SimulatorError(f"access outside memory at {address:#x}")

    def unknown(self, op: str) -> SimulatorError:
        return SimulatorError(f"unknown instruction {op}")
