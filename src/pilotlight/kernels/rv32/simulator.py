"""The simulator of 32-bit RISC-V with multiplication."""

from __future__ import annotations

from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import Function, Label, MemoryOperand, Operand, Riscv
from pilotlight.kernels.assembly.simulator import RETURN, Simulator, SimulatorError, signed


class RiscvSimulator(Simulator):
    saved = tuple(Riscv(f"s{n}") for n in range(12))
    arguments = tuple(Riscv(f"a{n}") for n in range(8))
    link = Riscv("ra")
    stack_pointer = Riscv("sp")

    def returns(self, op: str, operands: tuple[Operand, ...]) -> bool:
        if op == "ret" and self.value(self.link) != RETURN:
            raise SimulatorError("ra is not restored")
        return op == "ret"

    def jump(self, function: Function, at: int) -> str | None:
        op, operands = function.body[at].op, function.body[at].operands
        if op not in ("beq", "bne", "bnez", "bge", "bgez", "blt"):
            return None
        *sources, label = operands
        assert isinstance(label, Label)
        a, b = (*(signed(self.value(s)) for s in sources), 0)[:2]
        taken = {"beq": a == b, "bne": a != b, "bnez": a != b, "bge": a >= b, "bgez": a >= b, "blt": a < b}[op]
        return label.name if taken else ""

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        register, *sources = operands
        if op in ("lw", "lb"):
            size = 4 if op == "lw" else 1
            self.set(register, signed(self.load(self.address(sources[0], size), size), 8 * size))
        elif op in ("sw", "sb"):
            size = 4 if op == "sw" else 1
            self.store(self.address(sources[0], size), self.value(register), size)
        elif op in _FUNCTIONS:
            self.set(register, _FUNCTIONS[op]([signed(self.value(source)) for source in sources]))
        else:
            raise self.unknown(op)

    def address(self, operand: Operand, size: int) -> int:
        assert isinstance(operand, MemoryOperand)
        address = self.value(operand.base) + operand.offset
        if address % size:
            raise SimulatorError(f"access of {size} bytes at {address:#x}")
        return address


_FUNCTIONS: dict[str, Callable[[list[int]], int]] = {
    "mv": lambda v: v[0],
    "lui": lambda v: v[0] << 12,
    "add": lambda v: v[0] + v[1],
    "sub": lambda v: v[0] - v[1],
    "addi": lambda v: v[0] + v[1],
    "mul": lambda v: v[0] * v[1],
    "mulh": lambda v: v[0] * v[1] >> 32,
    "slli": lambda v: v[0] << v[1],
    "srli": lambda v: (v[0] & 0xFFFFFFFF) >> v[1],
    "srai": lambda v: v[0] >> v[1],
    "sll": lambda v: v[0] << (v[1] & 31),  # five bits of a register count
    "sra": lambda v: v[0] >> (v[1] & 31),
}
