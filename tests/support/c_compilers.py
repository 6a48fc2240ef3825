"""C compilers for tests: GCC where it is installed, else zig, which takes the same commands in words of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

from pilotlight import boards
from pilotlight.errors import MissingToolError
from pilotlight.toolchain import zig
from pilotlight.toolchain.find import Toolchain, find

STRICT = [
    "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-align=strict", "-Wcast-qual", "-Werror",
    "-pedantic", "-ffp-contract=off",
]
# GCC's name, a board whose compiler takes its place, and zig's command.
_IN_ITS_PLACE = {
    "gcc": ("host", "cc"), "g++": ("host", "c++"), "arm-none-eabi-gcc": ("mps2-an386", "cc"),
    "riscv64-unknown-elf-gcc": ("riscv32-virt", "cc"),
}
_WORDS = {
    "-Wcast-align=strict": "-Wcast-align", "-lgcc": "-lcompiler_rt", "-Wno-maybe-uninitialized": None, "-lc": None,
}
# clang warns of an inline function that is not used; with GCC that is what `inline` is for.
_ALWAYS = [
    "-fno-sanitize=all", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-Wno-unused-command-line-argument",
    "-Wno-unused-function",
]


@cache
def _toolchain(board: str) -> Toolchain:
    return find(boards.load(board))


SANITIZERS = _toolchain("host").kind == "gcc"  # zig has none that watches addresses


def c_commands(args: Sequence[str]) -> list[list[str]]:
    """A command for GCC as it is, or the same for zig, which compiles one file at a time. Sanitizers are GCC's."""
    program, rest = args[0], list(args[1:])
    if shutil.which(program) or program not in _IN_ITS_PLACE:
        return [list(args)]
    for arg in rest:
        if arg.startswith("-fsanitize=") or arg == "-mfloat-abi=softfp":
            raise MissingToolError(program, None, f"for {arg}")
    board, tool = _IN_ITS_PLACE[program]
    found = _toolchain(board)
    words = [word for arg in rest if not arg.startswith("-m") and (word := _WORDS.get(arg, arg)) is not None]
    core = zig.core_flags([arg for arg in rest if arg.startswith("-m")], found.target)
    first = [found.command[0], tool, *core]
    if "-o" in words:
        return [[*first, *words, *_ALWAYS]]
    sources = [word for word in words if word.endswith((".c", ".cpp", ".S"))]
    words = [word for word in words if word not in (*sources, "-c", "-fsyntax-only")]
    return [[*first, *words, *_ALWAYS, "-c", source, "-o", f"{Path(source).stem}.o"] for source in sources]


def compile_c(args: Sequence[str], folder: Path) -> None:
    """Run a compiler, given as a command for GCC; its own words are the failure."""
    for command in c_commands(args):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def undefined_symbols(path: Path) -> set[str]:
    """What an object needs and does not have."""
    return {name for name, section in _symbols(path) if section == "SHN_UNDEF"}


def defined_symbols(path: Path) -> set[str]:
    """What an object offers to others."""
    return {name for name, section in _symbols(path) if section != "SHN_UNDEF"}


def _symbols(path: Path) -> list[tuple[str, str | int]]:
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return [(s.name, s["st_shndx"]) for s in (table.iter_symbols() if table else ())
                if s.name and s["st_info"]["bind"] != "STB_LOCAL"]
