"""kws as a native module of stock MicroPython: bytes of its files, of the heap, and instructions of a run next to those
of the same model without MicroPython.

    PYTHONPATH=tests python benchmarks/native.py [--boards mps2-an386,mps3-an547] [--modes int8,float32]

One run prints a table and writes benchmarks/native.md. Trained weights are used as in networks.py.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import networks
import pilotlight as pl
from pilotlight import boards
from pilotlight.graph.ports import to_memory
from pilotlight.micropython import ports
from pilotlight.micropython.build import build as build_firmware
from pilotlight.mpy import choose, native_module
from pilotlight.quantize import quantize
from pilotlight.session import run_session
from support.native_modules import run_on_board

HERE = Path(__file__).resolve().parent
NETWORK = "kws"
BOARDS = {"mps2-an385": "armv7m", "mps2-an386": "armv7emsp", "mps3-an547": None, "riscv32-virt": "rv32imc"}
LIMITS = {"mpy": 10_000, "heap": 19_500, "more": 0.03}  # of int8 on mps2-an386
# Clocks of the emulator, in which an instruction takes a nanosecond: SysTick, which counts down, and mtime.
CLOCKS = {
    "arm": "machine.mem32[0xe000e014] = 0xffffff; machine.mem32[0xe000e018] = 0; machine.mem32[0xe000e010] = 5\n"
           "def now():\n    return -machine.mem32[0xe000e018]\n",
    "riscv": "def now():\n    return machine.mem32[0x0200bff8]\n",
}
RISCV_HZ = 10_000_000
SCRIPT = """
import machine
{clock}
with open("/rom/x", "rb") as file:
    x = file.read()
gc.collect()
before = gc.mem_alloc()
import {name}
m = {name}.load()
gc.collect()
after = gc.mem_alloc()
out = bytearray({size})
m.run(x, out=out)
started = now(); nothing = now() - started
started = now(); m.run(x, out=out); run = now() - started
print(m.mapped, after - before, run - nothing, out == bytearray(m.run(x)))
"""


@dataclass(frozen=True)
class Row:
    """One kind of kws on one board."""

    board: str
    core: str
    mode: str
    mpy: int
    weights: int
    heap: int
    native: int
    bare: int

    def cells(self) -> list[str]:
        numbers = (self.mpy, self.weights, self.heap, self.native, self.bare)
        more = f"{(self.native / self.bare - 1) * 100:+.2f} %"
        return [self.board, self.core, self.mode, *(f"{number:,}" for number in numbers), more]


HEAD = ["board", "module", "kws", ".mpy", ".bin", "heap", "instructions", "bare metal", "more"]


def measure(board: str, mode: str, trained: bool) -> Row:
    model, inputs, samples = networks.load(NETWORK, trained)
    graph = pl.capture(model, inputs, NETWORK)
    if mode == "int8":
        graph = quantize(graph, samples)
    arch = BOARDS[board]
    architecture, stands_for = choose(arch, None if arch else board)
    build = pl.compile(graph, board=stands_for)
    module = native_module(build, architecture)
    files = {name: data for name, data in module.files.items() if isinstance(data, bytes)}
    x = to_memory(build.lowered.inputs[0], samples[0][0]).tobytes()
    found = boards.load(board)
    clock = CLOCKS["riscv" if "rv32" in found.isa else "arm"]
    text = SCRIPT.format(clock=clock, name=module.name, size=build.module.metadata["outputs"][0]["bytes"])
    with tempfile.TemporaryDirectory() as folder:
        firmware = build_firmware(ports.port(board), None)
        said = run_on_board(board, firmware, {**files, "x": x}, text, Path(folder), "-icount", "shift=0").split()
    if said[:1] != ["True"] or said[-1:] != ["True"]:
        raise RuntimeError(f"{board}, {mode}: {' '.join(said)}")
    hz = RISCV_HZ if "rv32" in found.isa else found.clock_hz
    native = round(int(said[2]) * 1e9 / hz)
    bare = run_session(pl.compile(graph, board=board), [samples[0]]).figures["instructions"]
    core = architecture.name + (" with Helium" if "mve" in module.board.isa else "")
    mpy, weights = (len(files[f"{module.name}.{kind}"]) for kind in ("mpy", "bin"))
    return Row(board, core, mode, mpy, weights, int(said[1]), native, bare)


def verdict(row: Row) -> str:
    found = {"mpy": row.mpy, "heap": row.heap, "more": row.native / row.bare - 1}
    over = [name for name, limit in LIMITS.items() if found[name] >= limit]
    return "within all three" if not over else f"OVER: {', '.join(over)}"


def markdown(rows: list[Row], trained: bool) -> str:
    weights = "trained weights" if trained else "random weights: the trained ones were not found beside the project"
    judged = [verdict(row) for row in rows if (row.board, row.mode) == ("mps2-an386", "int8")]
    lines = [
        f"# {NETWORK} as a native module of MicroPython", "",
        f"One run of `make mpy`, {weights}, under MicroPython as Debian has it, nothing added. Bytes; the heap's are",
        "what importing the module and loading it takes, code and arena included, with the weights mapped.",
        "Instructions are those of `m.run(x, out=y)` by a clock of the emulator, and of the same model without",
        "MicroPython. Limits for int8 on mps2-an386: .mpy under 10 KB, heap under 19.5 KB, at most 3 % more",
        f"instructions: {', '.join(judged) or 'not measured'}.", "",
        "| " + " | ".join(HEAD) + " |", "|---|---|---|" + "---:|" * 6,
        *("| " + " | ".join(row.cells()) + " |" for row in rows), "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--modes", default="int8,float32")
    parser.add_argument("--output", type=Path, default=HERE / "native.md")
    chosen = parser.parse_args()
    trained = networks.TRAINED.is_dir()
    rows = []
    for board in chosen.boards.split(","):
        for mode in chosen.modes.split(","):
            rows.append(measure(board, mode, trained))
            print(*rows[-1].cells(), sep="  ", flush=True)
    text = markdown(rows, trained)
    chosen.output.write_text(text, encoding="utf-8")
    return 1 if "OVER" in text else 0


if __name__ == "__main__":
    raise SystemExit(main())
