"""Compiling: which sources, with which flags, into which objects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pilotlight.boards import Board
from pilotlight.toolchain import lines, zig
from pilotlight.toolchain.command import in_parallel, run
from pilotlight.toolchain.find import Toolchain
from pilotlight.toolchain.folder import ModelFolder
from pilotlight.toolchain.kept import KeptObject

DEVICE_SOURCES = Path(__file__).parent.parent / "csrc" / "device"
STARTUP = {
    "cortex-m": ("start_cortex_m.S", "fault_cortex_m.c"),
    "riscv": ("start_riscv.S",),
}
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g"]

_BARE: tuple[str, ...] = ("server.c", "frame.c", "model.c", "io_semihosting.c", "fault.c")
_HOST: tuple[str, ...] = ("server.c", "frame.c", "model.c", "io_host.c")
# Contraction off: the kernels say which multiplications and additions are fused, never the compiler.
_FLAGS = [
    *("-std=c99", "-ffp-contract=off", "-fno-common"),
    *("-ffunction-sections", "-fdata-sections", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
]
# A library relies on memcpy of a few bytes being no call.
_LIBRARY = ["-fbuiltin"]
# From so much RAM on: the server's transfer buffer, and how much it sends at once. Few calls are fast in an emulator.
_BUFFERS = ((0x100000, 8192, 4096), (0x10000, 1024, 256), (0, 256, 256))
# GCC makes calls of memmove out of loops, and there is no library; zig has one.
_KIND_FLAGS = {"gcc": ("-fstack-usage", "-fno-tree-loop-distribute-patterns"), "zig": zig.COMPILE}


@dataclass(frozen=True)
class Unit:
    """One source file and its object, a path relative to the work folder."""

    source: Path
    object: str
    flags: tuple[str, ...]

    @property
    def usage(self) -> str:
        """Where GCC writes the stack frames of this unit's functions."""
        return self.object.removesuffix(".o") + ".su"


def model_units(model: ModelFolder, flags: Iterable[str]) -> list[Unit]:
    """The model as users compile it."""
    return [
        _unit("model", model.path / source, [*flags, *(_LIBRARY if model.is_library(source) else [])])
        for source in model.sources
    ]


def marked_units(model: ModelFolder, plain: list[Unit], flags: Iterable[str]) -> list[Unit]:
    """The same with labels between the steps. Only NAME.c has them, so only it is compiled a second time."""
    main = model.path / f"{model.name}.c"
    marked = _unit("marks", main, [*flags, "-DPILOTLIGHT_MARKS"])
    return [marked if unit.source == main else unit for unit in plain]


def stepped_units(model: ModelFolder, plain: list[Unit], flags: Iterable[str]) -> list[Unit]:
    """The same with a call between the steps, for a server that looks at each of them."""
    main = model.path / f"{model.name}.c"
    stepped = _unit("steps", main, [*flags, "-include", str(DEVICE_SOURCES / "pl_step.h")])
    return [stepped if unit.source == main else unit for unit in plain]


def server_units(
    model: ModelFolder, work: Path, startup: str | None, flags: Iterable[str] = (), watch: int = 0, window: int = 0
) -> list[Unit]:
    """Test driver and, for a board, start-up; pl_ports.h is expected in the work folder. Nothing that lies in the
    model's folder may hide <stdint.h>, hence -iquote. `watch` and `window`: of a debug build, how many bytes
    of a step it keeps and, on a board, how many of code it takes."""
    include = [part for folder in (DEVICE_SOURCES, work, model.path) for part in ("-iquote", str(folder))]
    if startup is None:
        names, kind = _HOST, ["-O1", "-DPL_BUFFER_BYTES=65536u"]
    else:
        names, kind = (*_BARE, *STARTUP[startup]), ["-Os", "-DPL_BARE"]
    if watch:
        names, kind = (*names, "steps.c"), [*kind, "-DPL_STEPS", f"-DPL_WATCH_BYTES={watch}u"]
        if startup is not None:
            names, kind = (*names, "window.c"), [*kind, f"-DPL_WINDOW_BYTES={window}u"]
    return [_unit("server", DEVICE_SOURCES / name, [*kind, *flags, *include]) for name in names]


def buffer_flags(ram: int) -> list[str]:
    """The server's buffers on a board with that much RAM."""
    buffer, send = next(sizes for least, *sizes in _BUFFERS if ram >= least)
    return [f"-DPL_BUFFER_BYTES={buffer}u", f"-DPL_SEND_BYTES={send}u"]


def compile_units(toolchain: Toolchain, board: Board, work: Path, units: Iterable[Unit]) -> None:
    """Each unit once, from the folder of its source, so that .incbin finds what lies beside it."""
    bare = [] if board.is_host else ["-ffreestanding", lines.COMPILE]
    jobs = []
    for unit in dict.fromkeys(units):
        target = work / unit.object
        target.parent.mkdir(exist_ok=True)
        flags = [*toolchain.flags(board), *_FLAGS, *_KIND_FLAGS[toolchain.kind], *bare, *unit.flags]
        if toolchain.kind == "zig" and unit.source.suffix == ".S":
            flags.append(f"-DPL_INCLUDED={_binaries(unit.source.parent)}")
        jobs.append(partial(_compile, toolchain, flags, unit.source, target, work / unit.usage))
    in_parallel(jobs)


def _compile(toolchain: Toolchain, flags: list[str], source: Path, target: Path, usage: Path) -> None:
    kept = KeptObject(toolchain.command, flags, source)
    if not kept.restore(target, usage):
        run([*toolchain.command, *flags, "-c", str(source), "-o", str(target)], cwd=source.parent)
        kept.store(target, usage)


def _binaries(folder: Path) -> str:
    """A number for what .incbin may bring in: zig keeps objects, and would take an old one when only that changed."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.bin")):
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"0x{digest.hexdigest()[:16]}"


def _unit(group: str, source: Path, flags: Iterable[str]) -> Unit:
    return Unit(source, f"{group}/{source.name}.o", tuple(flags))
