"""What the compiler and the emulator from PyPI give, next to GCC and QEMU: `make bench-anywhere`.

Every network is built by both compilers and every image is run by both emulators; the outputs must be the same bytes,
and the counts of an image the same number. Then `pilotlight run` as a user types it, and the first minute of one: a new
environment, `pip install`, the demo.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pilotlight as pl
from pilotlight import boards, device, toolchain
from pilotlight.capture.reference import variations
from pilotlight.errors import DoesNotFitError
from pilotlight.graph import Graph
from pilotlight.graph.ports import to_memory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "examples" / "zoo"))

import zoo  # noqa: E402

PAGE = HERE / "anywhere.md"
TINY = ("kws", "vww", "ic", "ad")
BOARDS = ("mps2-an386", "mps2-an385", "mps2-an500", "mps2-an505", "riscv32-virt", "microbit")
TEXT = """# The compiler and the emulator from PyPI

One run of `make bench-anywhere`: code bytes and instructions of one inference with zig against GCC. All images gave the
same output bytes, and QEMU and Unicorn the same number of instructions for every operator of every image.

QEMU and Unicorn also agree, in bytes and in instructions of every operator, on GCC's images of the networks of the
zoo in float that fit other boards: {agreed}.
"""


@dataclass(frozen=True)
class Figures:
    code: int
    instructions: int


def graph_of(name: str, mode: str) -> Graph:
    graph = pl.load(zoo.model_spec(name))
    example = graph.truth.example
    return pl.quantize(graph, [example, *variations(example)]) if mode == "int8" else graph


def measure(graph: Graph, board: str, compilers: Sequence[str] = ("gcc", "zig")) -> dict[str, Figures]:
    """By compiler; stops where anything differs."""
    build = pl.compile(graph, board=board)
    arrays = [to_memory(port, x) for port, x in zip(build.lowered.inputs, graph.truth.example, strict=True)]
    answers, found = set(), {}
    for compiler in compilers:
        with tempfile.TemporaryDirectory() as work:
            image = toolchain.build_model(build.folder, boards.load(board), work, compiler=compiler)
            counts = set()
            for emulator in ("qemu", "unicorn"):
                with device.open(image.board, image, 600.0, emulator=emulator) as dev:
                    outputs = dev.run(arrays)
                assert dev.counts is not None and image.sizes.code is not None
                answers.add(tuple(np.ascontiguousarray(y).tobytes() for y in outputs))
                counts.add(dev.counts.runs)
            if len(counts) != 1:
                raise SystemExit(f"{graph.name} on {board}, {compiler}: the emulators count differently")
            found[compiler] = Figures(image.sizes.code, dev.counts.totals[0])
    build.close()
    if len(answers) != 1:
        raise SystemExit(f"{graph.name} on {board}: the outputs differ")
    return found


def agreements() -> dict[str, int]:
    """Images on which both emulators give the same bytes and counts, by board; stops where they differ."""
    agreed = dict.fromkeys(BOARDS[1:], 0)
    for name, entry in zoo.ZOO.items():
        if entry.on_board:
            graph = graph_of(name, "float")
            for board in agreed:
                try:
                    measure(graph, board, ("gcc",))
                except DoesNotFitError:
                    continue
                agreed[board] += 1
            print(f"{name}: {agreed}", file=sys.stderr)
    return agreed


def percent(ours: int, theirs: int) -> str:
    return f"{ours:,} ({100 * (ours / theirs - 1):+.1f} %)"


def network_rows(names: list[tuple[str, str, str]]) -> list[list[str]]:
    rows = []
    for name, mode, board in names:
        try:
            found = measure(graph_of(name, mode), board)
        except pl.PilotlightError as error:
            print(f"{name} in {mode} on {board}: {error.message}", file=sys.stderr)
            continue
        gcc, zig = found["gcc"], found["zig"]
        rows.append([
            name, mode, board, f"{gcc.code:,}", percent(zig.code, gcc.code), f"{gcc.instructions:,}",
            percent(zig.instructions, gcc.instructions),
        ])
        print(" | ".join(rows[-1]), file=sys.stderr)
    return rows


def command_rows() -> list[list[str]]:
    """`pilotlight run` of kws in int8, with warm caches: the whole command, and PyTorch's own part."""
    spec, calibration = zoo.model_spec("kws"), ROOT / "build" / "anywhere.npz"
    graph = pl.load(spec)
    rows = [x.numpy() for x, in [graph.truth.example, *variations(graph.truth.example)]]
    calibration.parent.mkdir(exist_ok=True)
    np.savez(calibration, x=np.stack([row[0] for row in rows]))
    own = "import time; t = time.monotonic(); import torch, torchao; from pilotlight.capture import load_model; " \
          f"load_model({spec!r}, ()); print(time.monotonic() - t)"
    torch_only = min(float(subprocess.run([sys.executable, "-c", own], capture_output=True, text=True, check=True,
                                          cwd=ROOT / "examples" / "zoo").stdout) for _ in range(2))
    found = []
    for tools in (("gcc", "qemu"), ("zig", "unicorn")):
        command = [sys.executable, "-m", "pilotlight", "run", spec, "--quantize", "int8", "--calibrate",
                   str(calibration), "--toolchain", tools[0], "--emulator", tools[1], "--json"]
        times = []
        for _ in range(3):
            start = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times.append(time.monotonic() - start)
            assert json.loads(done.stdout)["match"]
        found.append([f"`pilotlight run` of kws in int8, {' and '.join(tools)}", f"{min(times):.1f} s, of which "
                      f"{torch_only:.1f} s to import PyTorch and capture"])
    return found


def first_minute_row() -> list[str]:
    """A new environment without GCC and QEMU on its PATH; the download is as fast as the index."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        venv.create(Path(folder) / "env", with_pip=True)
        python = Path(folder) / "env" / "bin" / "python"
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "torch==2.13.0"], check=True)
        subprocess.run([*pip, "--no-deps", "torchao==0.18.0"], check=True)
        subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(ROOT)], check=True)
        installed = time.monotonic() - start
        env = {"PATH": "", "HOME": folder, "PILOTLIGHT_CACHE": f"{folder}/cache", "LANG": "C.UTF-8"}
        subprocess.run([str(python), "-m", "pilotlight", "demo"], check=True, cwd=folder, env=env, capture_output=True)
        total = time.monotonic() - start
    return ["from an empty environment to the demo's result, without GCC and QEMU",
            f"{total:.0f} s, of which {installed:.0f} s `pip install`"]


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="kws alone, and no page")
    args = parser.parse_args()
    wanted = [(name, mode, BOARDS[0]) for name in TINY for mode in ("float", "int8")]
    wanted += [("kws", mode, board) for board in BOARDS[1:5] for mode in ("float", "int8")]
    wanted += [(name, "float", BOARDS[0]) for name, entry in zoo.ZOO.items() if entry.on_board and name not in TINY]
    rows = network_rows(wanted[:2] if args.quick else wanted)
    head = ["network", "type", "board", "code, GCC", "code, zig", "instructions, GCC", "instructions, zig"]
    if args.quick:
        return
    times = [*command_rows(), first_minute_row()]
    agreed = ", ".join(f"{count} on {board}" for board, count in agreements().items())
    text = TEXT.format(agreed=agreed)
    PAGE.write_text(f"{text}\n{table(head, rows)}\n## Time\n\nOn two cores.\n\n{table(['what', 'time'], times)}")


if __name__ == "__main__":
    main()
