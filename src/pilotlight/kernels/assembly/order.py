"""Which instructions of a straight piece of code may change places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, MemoryOperand, Operand, Quad

Named = Core | Quad


def movable(body: Sequence[AsmInstruction], ahead: int) -> Iterator[int]:
    """Of the first `ahead` instructions those that may go before all that precede them."""
    read, written = set[Named](), set[Named]()
    for index, instruction in enumerate(body[:ahead]):
        reads, writes = uses(instruction)
        if not (writes & read or writes & written or reads & written):
            yield index
        read |= reads
        written |= writes


@lru_cache(maxsize=1 << 12)
def uses(instruction: AsmInstruction) -> tuple[frozenset[Named], frozenset[Named]]:
    """Registers that are read and written. The first operand is the result, except of stores; narrowing vectors keeps
    half of it."""
    first, *others = instruction.operands
    stores = instruction.op.startswith("vstr")
    writes = frozenset[Named]() if stores else _registers(first)
    reads = _registers(first) if stores or instruction.op.startswith("vqmovn") else frozenset[Named]()
    for operand in others:
        reads |= _registers(operand)
        if isinstance(operand, MemoryOperand) and operand.after is not None:
            writes |= _registers(operand)
    return reads, writes


def _registers(operand: Operand) -> frozenset[Named]:
    if isinstance(operand, MemoryOperand):
        return frozenset(register for register in (operand.base, operand.index) if isinstance(register, Core))
    return frozenset({operand}) if isinstance(operand, Core | Quad) else frozenset()
