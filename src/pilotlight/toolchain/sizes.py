"""Bytes of an ELF file, by what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection, Section, SymbolTableSection

# By the numbers of the build attribute Tag_CPU_arch.
_ARCHITECTURES = {
    10: "Armv7-M", 11: "Armv6-M", 12: "Armv6-M", 13: "Armv7E-M", 16: "Armv8-M", 17: "Armv8-M", 21: "Armv8.1-M",
}


@dataclass(frozen=True)
class Sizes:
    """Flash and static RAM in bytes; None where unknown, `reason` says why.

    code: instructions and library functions of an image linked from the model alone.
    weights: everything read-only the model brings: packed weights and tables; tables is the part of it that
    lies next to the code. harness: what start-up and test driver add to the image that boots.
    static: .data and .bss of the model alone.
    """

    code: int | None
    weights: int
    tables: int
    harness: int | None
    static: int
    reason: str | None = None

    @property
    def total(self) -> int | None:
        return None if self.code is None else self.code + self.weights + (self.harness or 0)


def model_sizes(elf: Path) -> Sizes:
    """Of an image linked from the model alone by model_script."""
    code = tables = weights = static = 0
    for section, in_file in _allocated(elf):
        size = section["sh_size"]
        if section["sh_flags"] & SH_FLAGS.SHF_WRITE:
            static += size
        elif section.name == ".rodata":
            tables += size
        elif section.name == ".weights":
            weights += size
        elif in_file:
            code += size
    return Sizes(code, weights + tables, tables, None, static)


def flash_bytes(elf: Path) -> int:
    """Everything that has to be stored: what is loaded and not zero to begin with."""
    return sum(section["sh_size"] for section, in_file in _allocated(elf) if in_file)


def symbols(elf: Path) -> dict[str, int]:
    """Address of every named symbol, without the Thumb bit of functions."""
    return {name: address for name, address, _, _ in _symbols(elf)}


def functions(elf: Path) -> dict[str, tuple[int, int]]:
    """Address and size of every function symbol, without the Thumb bit."""
    return {name: (address, size) for name, address, size, kind in _symbols(elf) if kind == "STT_FUNC"}


def stack_sizes(elf: Path) -> dict[int, int]:
    """Address of a function -> bytes of its frame: clang's section of (address, ULEB128) pairs; empty without it."""
    with elf.open("rb") as file:
        reader = ELFFile(file)
        section = reader.get_section_by_name(".stack_sizes")
        data = section.data() if section else b""
        word = reader.elfclass // 8
    sizes: dict[int, int] = {}
    at = 0
    while at < len(data):
        address = int.from_bytes(data[at : at + word], "little")
        at, size, shift = at + word, 0, 0
        while True:
            size |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                break
        sizes[address & ~1] = max(size, sizes.get(address & ~1, 0))
    return sizes


def arm_architecture(elf: ELFFile) -> str | None:
    """The architecture that an image says it needs."""
    section = elf.get_section_by_name(".ARM.attributes")
    for part in section.iter_subsections() if isinstance(section, ARMAttributesSection) else ():
        for scope in part.iter_subsubsections():
            for attribute in scope.iter_attributes("TAG_CPU_ARCH"):
                return _ARCHITECTURES.get(attribute.value)
    return None


def _symbols(elf: Path) -> Iterator[tuple[str, int, int, str]]:
    with elf.open("rb") as file:
        reader = ELFFile(file)
        table = reader.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return
        arm = reader["e_machine"] == "EM_ARM"
        for symbol in table.iter_symbols():
            kind = symbol["st_info"]["type"]
            if not symbol.name or kind in ("STT_FILE", "STT_SECTION") or symbol["st_shndx"] == "SHN_UNDEF":
                continue
            value = symbol["st_value"]
            yield symbol.name, value & ~1 if arm and kind == "STT_FUNC" else value, symbol["st_size"], kind


def _allocated(elf: Path) -> Iterator[tuple[Section, bool]]:
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                yield section, section["sh_type"] != "SHT_NOBITS"
