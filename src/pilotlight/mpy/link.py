"""Objects → one piece of code for any address.

The compiler's own linker links them at a fixed address and keeps its relocations. Words that hold addresses are
corrected by MicroPython when it loads the code; everything else is relative. So code is compiled as for a bare board,
and the compiler's library can be linked on every architecture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.mpy.container import ENTRIES, NAMES, TABLE, TEXT, MachineCode
from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import Toolchain

ENTRY = "pl_import_module"
_BASE = 0x10000000  # not near 0, where linkers know shorter instructions
# Of csrc/mpy/pl_mpy.h: words that are filled in, and entries of the table that others are filled with.
_WORDS = {"pl_table": TABLE, "pl_names": NAMES}
_ENTRIES = {"pl_type_type": 73, "pl_type_function": 81}
_SCRIPT = """\
ENTRY({entry})
{entries}SECTIONS
{{
    .text {base:#x} : {{
        KEEP(*(.text.{entry}))
        *(.text .text.*)
        *(.rodata .rodata.* .srodata .srodata.* .data.rel.ro .data.rel.ro.* .data.rel.ro.local)
        . = ALIGN({word});
{words}    }}
    .data : {{ *(.data .data.* .sdata .sdata.*) }}
    .bss : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }}
    .got : {{ *(.got .got.plt) }}
    /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.extab*) *(.eh_frame*) *(.note*) *(.comment) *(.debug*) }}
}}
"""
# By machine: relocations of whole words, and those that stay right wherever the code is.
_ABSOLUTE = {"EM_ARM": {2, 38}, "EM_X86_64": {1}, "EM_RISCV": {1}}
_RELATIVE = {
    "EM_ARM": {0, 3, 10, 11, 30, 40, 42, 51, 53, 54, 102, 103, 136, 137, 138},
    "EM_X86_64": {0, 2, 4, 9, 41, 42},
    "EM_RISCV": {0, 16, 17, 18, 19, 23, 24, 25, *range(33, 41), 43, 44, 45, *range(51, 58)},
}


def link(toolchain: Toolchain, board: Board, work: Path, objects: Sequence[str], word: int) -> MachineCode:
    """The image of objects and what they need of the compiler's library."""
    words = "".join(f"        {name} = .; {'QUAD' if word == 8 else 'LONG'}(0)\n" for name in _WORDS)
    entries = "".join(f"{name} = {number};\n" for name, number in _ENTRIES.items())
    script = work / "mpy.ld"
    text = _SCRIPT.format(entry=ENTRY, base=_BASE, word=word, words=words, entries=entries)
    script.write_text(text, encoding="utf-8", newline="\n")
    image = work / "module.elf"
    run(
        [*toolchain.command, *toolchain.flags(board), "-nostdlib", "-static", "-no-pie", "-Wl,--gc-sections",
         "-Wl,--emit-relocs", "-Wl,--build-id=none", "-T", script.name, *objects, "-lgcc", "-o", image.name],
        cwd=work,
    )
    return _read(image, word)


def _read(path: Path, word: int) -> MachineCode:
    with path.open("rb") as file:
        elf = ELFFile(file)
        for name in (".data", ".bss", ".got"):
            section = elf.get_section_by_name(name)
            if section is not None and section.data_size:
                raise PilotlightError(
                    f"the code of the model has {section.data_size} bytes in {name}, which a native module cannot have",
                    hint="a kernel of yours has variables outside its functions: pass them in", kind="bad-kernel",
                )
        text, symbols = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
        assert text is not None and isinstance(symbols, SymbolTableSection)
        code, start = bytearray(text.data()), text["sh_addr"]
        places = {symbol.name: symbol["st_value"] for symbol in symbols.iter_symbols()}
        fixes = {places[name] - start: kind for name, kind in _WORDS.items()}
        for offset, symbol in _addresses(elf, symbols, start):
            known = symbol in _ENTRIES
            value = 0 if known else int.from_bytes(code[offset : offset + word], "little") - start
            code[offset : offset + word] = (value % (1 << 8 * word)).to_bytes(word, "little")
            fixes[offset] = ENTRIES + _ENTRIES[symbol] if known else TEXT
        return MachineCode(bytes(code), word, fixes)


def _addresses(elf: ELFFile, symbols: SymbolTableSection, start: int) -> list[tuple[int, str]]:
    """Where words hold addresses of the image, or entries of the table, and of which symbol."""
    machine, found = elf["e_machine"], []
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection) or elf.get_section(section["sh_info"]).name != ".text":
            continue
        for relocation in section.iter_relocations():
            kind, symbol = relocation["r_info_type"], symbols.get_symbol(relocation["r_info_sym"])
            if kind in _ABSOLUTE[machine]:
                if symbol["st_shndx"] not in ("SHN_ABS", "SHN_UNDEF") or symbol.name in _ENTRIES:
                    found.append((relocation["r_offset"] - start, symbol.name))
            elif kind not in _RELATIVE[machine]:
                raise PilotlightError(
                    f"the code of the model refers to {symbol.name or 'itself'} in a way that a native module cannot "
                    f"(relocation {kind} of {machine})", kind="compiler",
                )
    return found
