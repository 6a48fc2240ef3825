"""The four MLPerf Tiny networks: instructions, cycles, flash and RAM on emulated boards, next to other systems; and
their time on this computer next to the runtimes that are installed (`pip install -c constraints.txt '.[bench]'`).

    python benchmarks/networks.py [--boards mps2-an386,mps3-an547,host] [--networks kws,ic] [--modes int8,float32]

One run prints its rows and writes benchmarks/results.md. Trained weights are used if the networks are next to the
project (../shared/models/mlperf_tiny); otherwise the same architectures with random weights, and the table says so. A
row counts only when the board's outputs matched in the same run. With a copy of CMSIS-NN (CMSIS_NN=DIR) its kernels
have rows of their own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import host
import pilotlight as pl
from pilotlight import boards
from pilotlight.capture.reference import variations
from pilotlight.fleet import chosen_workers
from pilotlight.quantize import quantize
from pilotlight.session import Session, run_session

HERE = Path(__file__).resolve().parent
TRAINED = HERE.parents[1] / "shared" / "models" / "mlperf_tiny"
NETWORKS = ("kws", "vww", "ic", "ad")
BOARDS = ("mps2-an386", "mps3-an547", "riscv32-virt", "host")
RUNS = 4
CMSIS_NN = os.environ.get("CMSIS_NN")
TFLITE, BY_CMSIS_NN = "tflite", "cmsis-nn"  # modes
MORE_FLASH = {("ic", "mps2-an386"): 256 * 1024}  # a second int8 row where flash buys speed


@dataclass(frozen=True)
class Row:
    """One network on one board, by Pilotlight or as recorded for another system."""

    network: str
    board: str
    system: str
    match: str
    instructions: int | None
    cycles: int | None
    code: int | None
    weights: int | None
    ram: int | None

    def cells(self) -> list[str]:
        numbers = (self.instructions, self.cycles, self.code, self.weights, self.ram)
        return [self.network, self.board, self.system, self.match, *("" if n is None else f"{n:,}" for n in numbers)]


Task = tuple[str, str, str, int | None]  # network, board, mode, --max-flash
HEAD = ["network", "board", "system", "match", "instructions", "cycles (est.)", "code", "weights", "RAM"]


def load(name: str, trained: bool) -> tuple[torch.nn.Module, Any, list[list[torch.Tensor]]]:
    """Model, example inputs, samples to calibrate with."""
    if trained:
        sys.path.insert(0, str(TRAINED))
        import models  # type: ignore[import-not-found]

        model, inputs = models.build(name)
        with np.load(TRAINED / f"{name}_calibration.npz") as data:
            x = torch.from_numpy(data["x"])
        return model, inputs, [[x[i : i + 1]] for i in range(len(x))]
    sys.path.insert(0, str(HERE.parent / "examples" / "zoo"))
    import zoo

    model, inputs = zoo.load(name)
    return model, inputs, [list(inputs), *variations(list(inputs))]


def measure(name: str, board: str, mode: str, trained: bool, max_flash: int | None = None) -> Row:
    model, inputs, samples = load(name, trained)
    graph = pl.capture(model, inputs, name)
    if mode == "int8":
        graph = quantize(graph, samples)
    build = pl.compile(graph, board=board, max_flash=max_flash)
    runs = samples[:RUNS] if mode == "int8" else [graph.truth.example, *samples[1:RUNS]]
    budget = f", --max-flash {max_flash // 1024}K" if max_flash else ""
    return _row(name, board, f"Pilotlight, {mode}{budget}", run_session(build, runs), "yes")


def measure_tflite(name: str, board: str, kernels: str | None = None) -> Row | None:
    """The .tflite file of a network, if there is one: the bytes of TFLM; with a copy of CMSIS-NN, by its kernels."""
    file = TRAINED / f"{name}_int8.tflite"
    if not file.exists():
        return None
    build = pl.compile(pl.load(str(file), name=name), board=board, cmsis_nn=kernels)
    whose = " with CMSIS-NN's kernels" if kernels else ""
    return _row(name, board, f"Pilotlight{whose}, int8 .tflite", run_session(build), "tflm")


def _row(name: str, board: str, system: str, session: Session, exact: str) -> Row:
    figures = session.figures
    flash, ram = figures["flash"], figures["ram"]
    total = ram["arena"] + ram["state"] + ram["static"]
    return Row(
        name, board, system, exact if session.match else "NO", figures["instructions"], figures["cycles_estimate"],
        flash["code"], flash["weights"], total,
    )


def recorded(name: str, board: str) -> list[Row]:
    data = tomllib.loads((HERE / "recorded.toml").read_text())
    return [
        Row(name, board, s["name"], "recorded", s["instructions"].get(name), None, s.get("code", {}).get(name), None,
            s.get("ram", {}).get(name))
        for s in data["system"] if s["board"] == board
    ]


def on_this_computer(name: str, mode: str, trained: bool) -> host.Host:
    model, _, samples = load(name, trained)
    lite = TRAINED / f"{name}_int8.tflite"
    return host.compare(name, mode, model, [x for (x,) in samples], lite if trained and lite.exists() else None)


def markdown(rows: list[Row], here: list[host.Host], trained: bool) -> str:
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * 4 + "---:|" * 5]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    weights = "trained weights" if trained else "random weights: the trained ones were not found beside the project"
    text = [
        f"One run of `make bench`, {weights}.",
        "Bytes; RAM is arena, state and static data with all inputs and outputs, without the stack.",
        "Instructions are exact counts of one inference in the emulator; cycles are an estimate where the core has a",
        "table. Rows marked recorded are kept in `recorded.toml`; those marked tflm gave TFLM's bytes.",
    ]
    boards = "\n".join(["# MLPerf Tiny networks", "", *text, "", *lines, ""])
    return f"{boards}\n{host.markdown(here)}" if here else boards


def tasks_of(board: str, name: str, modes: list[str]) -> list[Task]:
    """The rows of one network on one board."""
    tasks: list[Task] = []
    for mode in modes:
        if mode == "float32" and board != "mps2-an386":
            continue  # soft float is not what those cores are for
        if mode == BY_CMSIS_NN and boards.load(board).toolchain != "arm-none-eabi":
            continue  # it is for Cortex-M
        budgets = [None, MORE_FLASH.get((name, board))] if mode == "int8" else [None]
        tasks += [(name, board, mode, budget) for budget in dict.fromkeys(budgets)]
    return tasks


def run_task(trained: bool, task: Task) -> Row | None:
    name, board, mode, budget = task
    if mode in (TFLITE, BY_CMSIS_NN):
        return measure_tflite(name, board, CMSIS_NN if mode == BY_CMSIS_NN else None)
    return measure(name, board, mode, trained, budget)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--modes", default=f"int8,tflite,{f'{BY_CMSIS_NN},' if CMSIS_NN else ''}float32")
    parser.add_argument("--output", type=Path, default=HERE / "results.md")
    parser.add_argument("--dask", metavar="tcp://HOST:PORT", help="measure boards on a Dask cluster, see docs/fleet.md")
    chosen = parser.parse_args()
    trained = TRAINED.is_dir()
    modes = chosen.modes.split(",")
    places = [(board, name) for board in chosen.boards.split(",") for name in chosen.networks.split(",")]
    tasks = [task for board, name in places if board != "host" for task in tasks_of(board, name, modes)]
    found: dict[Task, Row | None] = {}
    with chosen_workers(1, chosen.dask) as workers:
        for task, row in workers.spread(partial(run_task, trained), tasks):
            found[task] = row
            print("  ".join(row.cells() if row else [*task[:3], "none"]), flush=True)
    rows: list[Row] = []
    here: list[host.Host] = []
    for board, name in places:
        if board != "host":
            rows += [row for task in tasks_of(board, name, modes) if (row := found[task]) is not None]
        for mode in modes if board == "host" else ():
            if mode not in (TFLITE, BY_CMSIS_NN):
                here.append(on_this_computer(name, mode, trained))
                print("  ".join(here[-1].summary()), flush=True)
        rows += recorded(name, board)
    chosen.output.write_text(markdown(rows, here, trained))
    print(f"wrote {chosen.output}")
    return 0 if all(row.match != "NO" for row in rows) else 1


if __name__ == "__main__":
    import networks  # under its own name, so that workers can import what they are to run

    raise SystemExit(networks.main())
