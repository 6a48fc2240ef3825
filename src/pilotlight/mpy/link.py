"""Objects → one piece of code for any address.

The compiler's own linker links them twice, at two addresses. Words that differ hold addresses, which MicroPython
corrects when it loads the code; everything else is relative. So code is compiled as for a bare board, by any compiler,
and the compiler's library can be linked on every architecture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.mpy.container import ENTRIES, NAMES, TABLE, TEXT, MachineCode
from pilotlight.toolchain.command import LinkError, run
from pilotlight.toolchain.find import Toolchain, compiler

ENTRY = "pl_import_module"
_BASE = 0x10000000  # not near 0, where linkers know shorter instructions
# From one address to the other: no part of a word changes by it alone, and of 64 bits no half can hold it.
_AWAY = {4: 0x01234500, 8: 0x123456700}
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
        *(.rodata .rodata.* .srodata .srodata.* .data.rel.ro .data.rel.ro.*)
        . = ALIGN({word});
{words}    }}
    .data : {{ *(.data .data.* .sdata .sdata.*) }}
    .bss : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }}
    .got : {{ *(.got .got.plt) }}
    /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.extab*) *(.eh_frame*) *(.note*) *(.comment) *(.debug*) }}
}}
"""


def link(toolchain: Toolchain, board: Board, work: Path, objects: Sequence[str], word: int) -> MachineCode:
    """The code of objects and of what they need of the compiler's library."""
    first, places = _linked(toolchain, board, work, objects, word, _BASE, dict.fromkeys(_ENTRIES, 0))
    second, _ = _linked(toolchain, board, work, objects, word, _BASE + _AWAY[word], _ENTRIES)
    meaning = {_AWAY[word]: TEXT} | {number: ENTRIES + number for number in _ENTRIES.values()}
    code, fixes = bytearray(first), {places[name] - _BASE: kind for name, kind in _WORDS.items()}
    for at in range(0, len(first), word):
        here, there = (int.from_bytes(image[at : at + word], "little") for image in (first, second))
        if here == there:
            continue
        kind = meaning.get((there - here) % (1 << 8 * word)) if len(first) == len(second) else None
        if kind is None:
            raise _part_of_a_word(toolchain, board)
        fixes[at] = kind
        code[at : at + word] = ((here - _BASE) if kind == TEXT else 0).to_bytes(word, "little")
    return MachineCode(bytes(code), word, fixes)


def _part_of_a_word(toolchain: Toolchain, board: Board) -> PilotlightError:
    """zig's own library has such code for Cortex-M3 and RISC-V."""
    hint = "if a kernel of yours does, let it use addresses of whole words"
    if toolchain.kind == "zig":
        hint = f"zig's library of functions does; install {compiler(board)}"
    text = "the code of the model holds an address in part of a word, which a native module cannot"
    return PilotlightError(text, hint=hint, kind="compiler")


def _linked(
    toolchain: Toolchain, board: Board, work: Path, objects: Sequence[str], word: int, base: int,
    entries: dict[str, int],
) -> tuple[bytes, dict[str, int]]:
    """The code at an address, and where symbols are."""
    text = _SCRIPT.format(
        entry=ENTRY, base=base, word=word, entries="".join(f"{name} = {value};\n" for name, value in entries.items()),
        words="".join(f"        {name} = .; {'QUAD' if word == 8 else 'LONG'}(0)\n" for name in _WORDS),
    )
    (work / "mpy.ld").write_text(text, encoding="utf-8", newline="\n")
    args = [*toolchain.command, *toolchain.flags(board), "-nostdlib", "-static", "-Wl,--gc-sections"]
    args += ["-Wl,--build-id=none", "-T", "mpy.ld", *objects]
    libraries = [[], ["-lcompiler_rt"]] if toolchain.kind == "zig" else [["-no-pie", "-lgcc"]]
    for library in libraries:
        try:
            run([*args, *library, "-o", "module.elf"], cwd=work)
            break
        except LinkError:  # zig compiles its library for each kind of core, so only if it is needed
            if library == libraries[-1]:
                raise
    return _read(work / "module.elf", base)


def _read(path: Path, base: int) -> tuple[bytes, dict[str, int]]:
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
        assert text is not None and text["sh_addr"] == base and isinstance(symbols, SymbolTableSection)
        return text.data(), {symbol.name: symbol["st_value"] for symbol in symbols.iter_symbols()}
