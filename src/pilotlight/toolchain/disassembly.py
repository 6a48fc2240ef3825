"""Instructions of an ELF file, as objdump prints them; where there is none, a library reads them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection, SymbolTableSection

from pilotlight.system import load_package
from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import Toolchain, compilers

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
_COMMENT = re.compile(r"\s*[@;#] (0x[0-9a-f]+|\d+)$")  # an immediate repeated in another base
_NUMBER = re.compile(r"-?\b0x[0-9a-f]+\b")
_OFFSET = re.compile(r"-?\d+")
_RISCV_BRANCHES = (
    "j", "jal", "beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "blez", "bgez", "bltz", "bgtz",
)
_V8_1M = 21  # Armv8.1-M.mainline, as the attributes of a file say it
_TARGET = re.compile(r"\b([0-9a-f]+) <([^>]+)>")


@dataclass(frozen=True)
class MachineInstruction:
    """An address, a name, operands with decimal numbers. An unknown instruction has no name."""

    address: int
    mnemonic: str
    operands: str
    target: int | None = None  # the address it names: a branch's destination, or what objdump worked out


@dataclass(frozen=True)
class Disassembly:
    """All instructions in the order of their addresses; literal pools are left out."""

    instructions: tuple[MachineInstruction, ...]

    @cached_property
    def index(self) -> dict[int, int]:
        return {instruction.address: i for i, instruction in enumerate(self.instructions)}

    def between(self, start: int, end: int) -> tuple[MachineInstruction, ...]:
        return self.instructions[bisect_left(self._addresses, start) : bisect_left(self._addresses, end)]

    @cached_property
    def _addresses(self) -> list[int]:
        return [instruction.address for instruction in self.instructions]

    def after(self, address: int) -> Iterator[MachineInstruction]:
        """From the one at an address on."""
        return iter(self.instructions[self.index[address] :])

    def before(self, address: int) -> Iterator[MachineInstruction]:
        """Those below an address, the nearest first."""
        return reversed(self.instructions[: self.index[address]])


def disassemble(toolchain: Toolchain, elf: Path) -> Disassembly:
    if toolchain.objdump:
        return _with_objdump(toolchain.objdump, elf)
    gcc, package = compilers()[toolchain.name]
    capstone = load_package("capstone", package, f"to disassemble, where {gcc} is not used")
    return Disassembly(tuple(_with_library(capstone, elf)))


def _with_objdump(objdump: str, elf: Path) -> Disassembly:
    text = run([objdump, "-d", "-w", "--no-show-raw-insn", *_machine(elf), str(elf)])
    rows = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not match.group(2).startswith("."):
            operands = _COMMENT.sub("", (match.group(3) or "").strip())
            rows.append(printed(int(match.group(1), 16), match.group(2), operands))
    return Disassembly(tuple(rows))


def _machine(elf: Path) -> list[str]:
    """objdump takes Helium for coprocessor instructions unless it is told the architecture."""
    with elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".ARM.attributes")
        if not isinstance(section, ARMAttributesSection):
            return []
        attributes = (a for part in section.iter_subsections() for sub in part.iter_subsubsections()
                      for a in sub.iter_attributes())
        helium = any(a.tag == "TAG_CPU_ARCH" and a.value == _V8_1M for a in attributes)
    return ["-m", "armv8.1-m.main"] if helium else []


def printed(address: int, mnemonic: str, operands: str = "") -> MachineInstruction:
    """An instruction as objdump prints it, with the address that it names: `bl 1c4 <f>`."""
    named = _TARGET.search(operands) if "<" in operands else None
    return MachineInstruction(address, mnemonic, operands, int(named.group(1), 16) if named else None)


def _with_library(capstone: ModuleType, elf: Path) -> Iterator[MachineInstruction]:
    """The executable sections without their literal pools, which the mapping symbols $d and $t (or $x) separate."""
    with elf.open("rb") as file:
        reader = ELFFile(file)
        arm = reader["e_machine"] == "EM_ARM"
        decoder = _decoder(capstone, arm)
        decoder.skipdata = True
        marks = sorted(_mapping_symbols(reader))
        for section in reader.iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
                start, data = section["sh_addr"], section.data()
                for first, last in _code_ranges(start, start + len(data), marks):
                    decoded = decoder.disasm_lite(data[first - start : last - start], first)
                    rows = [_decoded(arm, address, name, operands) for address, _, name, operands in decoded]
                    yield from rows if arm else _far_calls(rows)


def _decoder(capstone: ModuleType, arm: bool) -> Any:
    if arm:
        mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        return capstone.Cs(capstone.CS_ARCH_ARM, mode)
    return capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC)


def _mapping_symbols(reader: ELFFile) -> Iterator[tuple[int, bool]]:
    """Addresses from which on there is code, or data."""
    table = reader.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        if symbol.name[:2] in ("$t", "$d", "$x"):
            yield symbol["st_value"] & ~1, symbol.name[1] != "d"


def _code_ranges(start: int, end: int, marks: list[tuple[int, bool]]) -> Iterator[tuple[int, int]]:
    inside = [(address, code) for address, code in marks if start <= address < end]
    edges = [(start, True), *inside, (end, False)]
    for (first, code), (last, _) in pairwise(edges):
        if code and last > first:
            yield first, last


def _decoded(arm: bool, address: int, name: str, operands: str) -> MachineInstruction:
    """In objdump's words."""
    if name == ".byte":
        return MachineInstruction(address, "", operands)
    operands = _NUMBER.sub(lambda match: str(int(match.group(), 0)), operands)
    if not arm:
        return _decoded_riscv(address, name.removeprefix("c."), operands.replace(", ", ","))
    branch = (name[0] == "b" or name.startswith(("cbz", "cbnz"))) and "#" in operands
    target = int(operands.rpartition("#")[2]) if branch else None
    return MachineInstruction(address, name, operands.replace("sb", "r9"), target)


def _far_calls(rows: list[MachineInstruction]) -> Iterator[MachineInstruction]:
    """With the destinations of calls and jumps that take two instructions: auipc ra,HIGH; jalr ra,ra,LOW."""
    before: MachineInstruction | None = None
    for row in rows:
        if row.mnemonic in ("jalr", "jr") and before is not None and before.mnemonic == "auipc":
            register, high = before.operands.split(",")
            *_, base, low = ("", *row.operands.split(","))
            if base == register and _OFFSET.fullmatch(low):
                row = replace(row, target=before.address + (int(high) << 12) + int(low) & 0xFFFFFFFF)
        before = row
        yield row


def _decoded_riscv(address: int, name: str, operands: str) -> MachineInstruction:
    if name in ("addi", "addi16sp") and re.fullmatch(r"sp,-?\d+", operands):
        return MachineInstruction(address, "addi", f"sp,{operands}")
    if name == "jr" and operands == "ra":
        return MachineInstruction(address, "ret", "")
    last = operands.rpartition(",")[2]
    target = address + int(last) if name in _RISCV_BRANCHES and _OFFSET.fullmatch(last) else None
    return MachineInstruction(address, name, operands, target)
