"""Source lines of code addresses, from the line tables (DWARF) of an image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

# Line tables and nothing else: no code changes, and nothing of them is loaded.
COMPILE = "-g1"


def source_line(image: Path, address: int) -> str | None:
    """Such as `net.c:12`; None where the table has no line, as for the compiler's own library."""
    with image.open("rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            return None
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            for first, last, name, line in _ranges(program) if program else ():
                if first <= address < last:
                    return f"{name}:{line}"
    return None


def _ranges(program: LineProgram) -> Iterator[tuple[int, int, str, int]]:
    """Addresses from, addresses to, file and line. Code that the linker dropped is at 0, where no code can be: a
    vector table is there, or no memory."""
    before, dropped = None, False
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is None:
            dropped = state.address == 0
        elif before.line and state.address > before.address and not dropped:
            yield before.address, state.address, _file(program, before.file), before.line
        before = None if state.end_sequence else state


def _file(program: LineProgram, index: int) -> str:
    """Numbered from 0 since DWARF 5, from 1 before."""
    files = program["file_entry"]
    name: bytes = files[index if program["version"] >= 5 else index - 1].name
    return PurePosixPath(name.decode(errors="replace").replace("\\", "/")).name
