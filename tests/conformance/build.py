"""Generated C → a program on this computer: every warning an error, sanitizers on, one compiler call per batch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch

import pilotlight as pl
from pilotlight.compiler import Build, Running
from pilotlight.device.host import HostDevice
from pilotlight.graph import Graph
from pilotlight.options import Options
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES, SANITIZE
from pilotlight.toolchain.ports import ports_header
from pilotlight.toolchain.sizes import Sizes
from support.compiled import STRICT

# Without inlining the compiler needs half of the time; boards and other tests build with it.
_FLAGS = ["-O1", "-fno-inline", *(flag for flag in SANITIZE if flag != "-g")]
IN_PROCESS = Options(emulator="unicorn")  # which boots at once


class CompilerError(Exception):
    """The C compiler's own words."""


def _gcc(args: list[str], folder: Path) -> None:
    done = subprocess.run(["gcc", *args], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise CompilerError((lines or done.stderr.splitlines() or ["no message"])[0])


@cache
def _server(folder: Path) -> list[str]:
    """The part of the program that no model changes."""
    names = ("server.c", "io_host.c")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _gcc(["-O1", "-std=c99", "-c", str(DEVICE_SOURCES / name), "-o", f"{name}.o"], folder)
    return [str(folder / f"{name}.o") for name in names]


def run_strictly(build: Build, inputs: list[torch.Tensor], folder: Path, timeout: float = 60.0) -> list[torch.Tensor]:
    """Outputs of one run of a build."""
    with open_strictly(build, folder, timeout) as running:
        return running.flat(list(inputs))


def run_on(board: str, graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Outputs of one run on an emulated board, in this process."""
    build = pl.compile(graph, board, options=IN_PROCESS)
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
    driver = ["-I.", "-I", str(DEVICE_SOURCES), str(DEVICE_SOURCES / "model.c")]
    _gcc([*STRICT, *_FLAGS, *driver, *model.sources, *server, "-o", "program"], source)
    sizes = Sizes(None, model.weights_bytes, 0, None, 0, "built with sanitizers")
    info = BuildInfo(model, build.board, None, source, source / "program", None, sizes, None, None, (), True)
    with HostDevice(info, timeout) as device:
        yield Running(device, build.lowered)
