"""Generated C → a program on this computer: every warning an error, sanitizers on, one compiler call per batch.

Where there is no GCC, zig compiles, which has neither its warnings nor its sanitizers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch

import pilotlight as pl
from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.compiler import Build, Running
from pilotlight.device.host import HostDevice
from pilotlight.graph import Graph
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.find import Toolchain, find
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES, SANITIZE
from pilotlight.toolchain.ports import ports_header
from pilotlight.toolchain.sizes import Sizes
from support.c_compilers import STRICT
from support.emulators import quickest

# Without inlining the compiler needs half of the time; boards and other tests build with it.
_FLAGS = ["-O1", "-fno-inline", *(flag for flag in SANITIZE if flag != "-g")]


class CompilerError(Exception):
    """The C compiler's own words."""


def _compile(args: list[str], folder: Path) -> None:
    toolchain, host = _toolchain()
    command = [*toolchain.command, *toolchain.flags(host), *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise CompilerError((lines or done.stderr.splitlines() or ["no message"])[0])


@cache
def _toolchain() -> tuple[Toolchain, Board]:
    host = boards.load("host")
    return find(host), host


@cache
def _server(folder: Path) -> list[str]:
    """The part of the program that no model changes."""
    names = ("server.c", "frame.c", "io_host.c")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _compile(["-O1", "-std=c99", "-c", str(DEVICE_SOURCES / name), "-o", f"{name}.o"], folder)
    return [str(folder / f"{name}.o") for name in names]


def run_strictly(build: Build, inputs: list[torch.Tensor], folder: Path, timeout: float = 60.0) -> list[torch.Tensor]:
    """Outputs of one run of a build."""
    with open_strictly(build, folder, timeout) as running:
        return running.flat(list(inputs))


def run_on(board: str, graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Outputs of one run on an emulated board, in this process."""
    build = pl.compile(graph, board, options=quickest(board))
    try:
        with build.open(timeout=300.0, count=False) as running:
            return running.flat(inputs)
    finally:
        build.close()


@contextmanager
def open_strictly(build: Build, folder: Path, timeout: float = 60.0) -> Iterator[Running]:
    """A build that runs here; CompilerError for a warning, PilotlightError for a crash or a sanitizer's finding."""
    server = _server(folder.parent / "server")
    source = build.write(folder)
    model = read_folder(source)
    (source / "pl_ports.h").write_text(ports_header(model))
    driver = ["-I", str(source.resolve()), "-I", str(DEVICE_SOURCES), str(DEVICE_SOURCES / "model.c")]
    flags = [*STRICT, *_FLAGS] if _toolchain()[0].kind == "gcc" else ["-std=c99", "-O1", "-ffp-contract=off"]
    _compile([*flags, *driver, *model.sources, *server, "-o", "program"], source)
    sizes = Sizes(None, model.weights_bytes, 0, None, 0, "built with sanitizers")
    info = BuildInfo(model, build.board, None, source, source / "program", None, sizes, None, None, (), True)
    with HostDevice(info, timeout) as device:
        yield Running(device, build.lowered)
