"""Native modules: made of modules of PyTorch, and run by MicroPython on this computer or on an emulated board."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from pilotlight import boards
from pilotlight.capture.reference import variations
from pilotlight.compiler import Build, compile
from pilotlight.graph import Program
from pilotlight.graph.ports import to_memory
from pilotlight.micropython.session import open_session
from pilotlight.mpy import NativeModule, choose, native_module
from pilotlight.mpy.romfs import romfs_image
from pilotlight.programs import ProgramBuild, compile_program
from pilotlight.quantize import quantize

# Memory that MicroPython leaves alone, for a file system.
ROM = {
    "mps2-an385": 0x300000, "mps2-an386": 0x300000, "mps2-an500": 0x300000, "mps3-an547": 0x28000000,
    "riscv32-virt": 0x87000000,
}
MOUNT = """\
import gc, sys, uctypes, vfs
vfs.mount(vfs.VfsRom(uctypes.bytearray_at({at}, {size})), "/rom")
sys.path.append("/rom")
"""


def built(
    captured: Any, arch: str | None = "x64", board: str | None = None, **choices: Any
) -> tuple[NativeModule, Build | ProgramBuild]:
    """The native module of what was captured."""
    architecture, stands_for = choose(arch, board)
    make: Callable[..., Build | ProgramBuild] = compile_program if isinstance(captured, Program) else compile
    build = make(captured, stands_for, **choices)
    return native_module(build, architecture), build


def in_int8(graph: Any, inputs: Sequence[torch.Tensor]) -> Any:
    return quantize(graph, [list(inputs), *variations(list(inputs))])


def memory_of(build: Build, inputs: Sequence[torch.Tensor]) -> list[bytes]:
    """Inputs as the model reads them."""
    return [to_memory(port, x).tobytes() for port, x in zip(build.lowered.inputs, inputs, strict=True)]


def run_on_board(
    board: str, firmware: Path, files: Mapping[str, bytes], script: str, folder: Path, *options: str
) -> str:
    """What a script prints on an emulated board that has the files in a file system in its flash, in /rom."""
    image = folder / f"{board}.romfs"
    image.write_bytes(romfs_image(files))
    found = boards.load(board)
    assert found.emulator is not None
    loader = ("-device", f"loader,file={image},addr={ROM[board]:#x},force-raw=on", *options)
    emulator = dataclasses.replace(found.emulator, args=(*found.emulator.args, *loader))
    printed: list[bytes] = []
    with open_session(dataclasses.replace(found, emulator=emulator), firmware) as session:
        text = MOUNT.format(at=ROM[board], size=image.stat().st_size) + script
        session.execute(text, printed.append, printed.append)
    return b"".join(printed).decode()
