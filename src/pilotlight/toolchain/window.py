"""Code that is loaded into the RAM of a board whose device server is running: linked for an address, as plain bytes."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile

from pilotlight.boards import Board
from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import find
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import Unit, compile_units, model_units

_SCRIPT = """ENTRY({entry})
MEMORY {{ window (rwx) : ORIGIN = {address:#x}, LENGTH = {size:#x} }}
SECTIONS
{{
  .text : {{ *(.text.{entry}) *(.text .text.*) *(.rodata .rodata.*) *(.data .data.* .sdata .sdata.*) }} > window
  .bss (NOLOAD) : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }} > window
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.extab*) *(.note.*) *(.comment) *(.eh_frame*) }}
}}
"""


def build_window(
    folder: Path, main: str, entry: str, board: Board, work: Path, address: int, size: int, compiler: str | None = None
) -> bytes:
    """A generated folder and a C file with the function `entry`, which comes first; DoesNotFitError if that is larger
    than the window."""
    toolchain = find(board, compiler)
    model = read_folder(folder.resolve())
    work.mkdir(parents=True, exist_ok=True)
    (work / "main.c").write_text(main, encoding="utf-8", newline="\n")
    script = _SCRIPT.format(entry=entry, address=address, size=size)
    (work / "window.ld").write_text(script, encoding="utf-8", newline="\n")
    optimize = "-O2" if toolchain.kind == "gcc" else "-Os"
    own = Unit(work / "main.c", "main.o", (optimize, "-iquote", str(model.path)))
    units = [own, *model_units(model, [optimize])]
    compile_units(toolchain, board, work, units)
    image = work / "window.elf"
    library = ["-Wl,-n", "-lgcc"] if toolchain.kind == "gcc" else ["-lcompiler_rt"]
    run(
        [*toolchain.command, *toolchain.flags(board), "-nostdlib", "-Wl,--gc-sections", f"-Wl,--entry={entry}",
         "-T", "window.ld", *(unit.object for unit in units), *library, "-o", str(image)], cwd=work,
    )
    with image.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text")
        assert text is not None and text["sh_addr"] == address
        return bytes(text.data())
