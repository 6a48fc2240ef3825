"""What is checked: models for three cores, every kernel by itself, and the device server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

import pilotlight as pl
from misra.checker import CheckedProgram
from pilotlight.capture.reference import variations
from pilotlight.compiler import Build
from pilotlight.fixed import PILOTLIGHT, TFLM
from pilotlight.graph import Graph
from pilotlight.kernels.text import FOLDERS, kernel_text, typed_kernels, without_includes
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header
from support.paths import ROOT

ZOO = ROOT / "examples" / "zoo" / "mlperf_tiny.py"
TRAINED = ROOT.parent / "shared" / "models" / "mlperf_tiny"  # the same networks, trained; not part of the project
MODELS = ("kws", "vww", "ic", "ad")
MODES = ("float", "int8", "tflm")  # the last is int8 with TFLM's numerics
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m55": "mps3-an547", "rv32": "riscv32-virt"}
CORE_OF = {"portable": "any", "fpu": "cortex-m4", "dsp": "cortex-m4", "mve": "cortex-m55", "rv32": "rv32",
           "thumb1": "cortex-m0"}
_SERVER = ("server.c", "frame.c", "model.c", "io_semihosting.c", "fault.c", "fault_cortex_m.c", "cycles.c", "steps.c",
           "window.c")  # fmt: skip
_SERVER_MACROS = ("PL_BARE=1", "PL_BUFFER_BYTES=1024u", "PL_SEND_BYTES=256u", "PL_STEPS=1", "PL_CYCLES=1",
                  "PL_WATCH_BYTES=48u", "PL_WINDOW_BYTES=40u")  # fmt: skip


def graph_of(name: str, mode: str) -> Graph:
    graph = pl.load(f"{ZOO}:{name}")
    if mode != "float":
        example = graph.truth.example
        graph = pl.quantize(graph, [example, *variations(example)], numerics=_numerics(mode))
    return graph


def streamed_graph(channels: int = 3) -> Graph:
    """Samples of several numbers go through a buffer, which sorts them by channel."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv1d(channels, 4, 5), torch.nn.ReLU(), torch.nn.Conv1d(4, 2, 3, stride=2))
    example = (torch.randn(1, channels, 64),)
    return pl.stream(pl.quantize(pl.capture(module.eval(), example, "stream"), [example]), hop=8)


def _numerics(mode: str) -> str:
    return TFLM if mode == "tflm" else PILOTLIGHT


def trained_graph_of(name: str, mode: str) -> Graph:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from networks import load  # type: ignore[import-not-found]

    module, example, samples = load(name, True)
    graph = pl.capture(module, example, name)
    return graph if mode == "float" else pl.quantize(graph, samples, numerics=_numerics(mode))


def model_program(build: Build, name: str, core: str, folder: Path) -> CheckedProgram:
    """A model and the example that uses it. The weights, if they are C, are one array of numbers, which takes Cppcheck
    long: they are left out from some size on."""
    written = build.write(folder / name.replace(" ", "-"))
    sources = [written / source for source in build.module.metadata["sources"] if source.endswith(".c")]
    short = [source for source in sources if source.stat().st_size < 20_000 or source.stem == build.name]
    return CheckedProgram(name, core, (*short, written / "example_main.c"), (written,))


def model_programs(
    folder: Path, cores: tuple[str, ...] = tuple(BOARDS), trained: bool = False
) -> Iterator[CheckedProgram]:
    for name in MODELS:
        for mode in MODES:
            graph = trained_graph_of(name, mode) if trained else graph_of(name, mode)
            for core in cores:
                title = f"{'trained ' if trained else ''}{name} {mode} {core}"
                yield model_program(pl.compile(graph, board=BOARDS[core]), title, core, folder)
    for core in cores if not trained else ():
        yield model_program(pl.compile(streamed_graph(), board=BOARDS[core]), f"stream int8 {core}", core, folder)


def kernel_programs(folder: Path) -> Iterator[CheckedProgram]:
    """Each header with those that it includes, for the core that it is meant for."""
    headers = [(file.stem, path.name) for path in FOLDERS for file in sorted(path.glob("*.h"))]
    for name, isa in [*headers, *((name, "portable") for name in typed_kernels())]:
        source = folder / f"kernel_{name}.c"
        library, text = without_includes(kernel_text([name]))
        source.write_text("\n".join(["#include <stdint.h>", *library, "", text, ""]), encoding="utf-8")
        yield CheckedProgram(f"kernel {name}", CORE_OF[isa], (source,))


def server_program(folder: Path) -> CheckedProgram:
    """The server with everything that can be built in, for a Cortex-M4 and a small model."""
    written = pl.compile(graph_of("ad", "int8"), board=BOARDS["cortex-m4"]).write(folder / "served")
    (written / "pl_ports.h").write_text(ports_header(read_folder(written)), encoding="utf-8")
    sources = tuple(DEVICE_SOURCES / name for name in _SERVER)
    return CheckedProgram("server", "cortex-m4", sources, (DEVICE_SOURCES, written), _SERVER_MACROS)
