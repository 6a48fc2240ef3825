"""Instructions of an ELF file, as objdump prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import Toolchain

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
_COMMENT = re.compile(r"\s*[@;#] (0x[0-9a-f]+|\d+)$")  # an immediate repeated in another base
_TARGET = re.compile(r"\b([0-9a-f]+) <([^>]+)>")


@dataclass(frozen=True)
class MachineInstruction:
    address: int
    mnemonic: str
    operands: str

    @cached_property
    def target(self) -> int | None:
        """The address it names (a branch's destination, or what objdump worked out in a comment)."""
        match = _TARGET.search(self.operands)
        return int(match.group(1), 16) if match else None


@dataclass(frozen=True)
class Disassembly:
    """All instructions in the order of their addresses; literal pools are left out."""

    instructions: tuple[MachineInstruction, ...]

    @cached_property
    def index(self) -> dict[int, int]:
        return {instruction.address: i for i, instruction in enumerate(self.instructions)}

    def between(self, start: int, end: int) -> tuple[MachineInstruction, ...]:
        return tuple(i for i in self.instructions if start <= i.address < end)

    def after(self, address: int) -> Iterator[MachineInstruction]:
        """From the one at an address on."""
        return iter(self.instructions[self.index[address] :])

    def before(self, address: int) -> Iterator[MachineInstruction]:
        """Those below an address, the nearest first."""
        return reversed(self.instructions[: self.index[address]])


def disassemble(toolchain: Toolchain, elf: Path) -> Disassembly:
    text = run([toolchain.objdump, "-d", "-w", "--no-show-raw-insn", str(elf)])
    rows = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not match.group(2).startswith("."):
            operands = _COMMENT.sub("", (match.group(3) or "").strip())
            rows.append(MachineInstruction(int(match.group(1), 16), match.group(2), operands))
    return Disassembly(tuple(rows))
