"""What measured kernels bring: the MLPerf Tiny networks in int8 with and without `--tuned`, on emulated boards.

    python benchmarks/tune.py [--boards mps2-an386,microbit] [--networks kws,ic] [--jobs 2 | --dask tcp://HOST:PORT]

Measurements are kept in build/tune/BOARD.tuned, so that a run that was stopped goes on, and are used by all networks of
a board. Writes benchmarks/tune.md. Trained weights are used as in networks.py. A network counts only if the board's
outputs matched with and without.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import torch

import networks
import pilotlight as pl
from pilotlight import boards
from pilotlight.errors import PilotlightError
from pilotlight.fleet import Workers, chosen_workers, usable_cores
from pilotlight.quantize import quantize
from pilotlight.trials.confirm import Whole, confirm
from pilotlight.trials.search import Limits, Search
from pilotlight.tune.costs import read_costs

HERE = Path(__file__).resolve().parent
BOARDS = ("mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547", "riscv32-virt", "microbit")
HEAD = ("board", "network", "unit", "default", "tuned", "less", "weights", "RAM", "candidates", "a minute")


@dataclass(frozen=True)
class Row:
    """A network on a board."""

    board: str
    network: str
    before: Whole
    after: Whole
    known: int  # candidates, now or before
    candidates: int
    measured: int  # in this run
    seconds: float
    won: frozenset[str]  # kernels that took the place of the usual ones

    @property
    def ratio(self) -> float:
        return self.after.cost / self.before.cost

    def cells(self) -> list[str]:
        unit = "instructions" if self.after.profile.cycles is None else "cycles (est.)"
        weights, ram = ([_size(whole, part) for whole in (self.before, self.after)] for part in ("weights", "ram"))
        rate = f"{60 * self.measured / self.seconds:,.0f}" if self.measured else ""
        return [
            self.board, self.network, unit, f"{self.before.cost:,}", f"{self.after.cost:,}",
            f"{100 * (1 - self.ratio):.1f} %", " → ".join(f"{n:,}" for n in dict.fromkeys(weights)),
            " → ".join(f"{n:,}" for n in dict.fromkeys(ram)), f"{self.known:,} of {self.candidates:,}", rate,
        ]


def _size(whole: Whole, part: str) -> int:
    if part == "weights":
        return int(whole.figures["flash"]["weights"])
    return sum(int(whole.figures["ram"][name]) for name in ("arena", "state", "static"))


@cache
def quantized(network: str, trained: bool) -> tuple[pl.Graph, list[list[torch.Tensor]]]:
    model, inputs, samples = networks.load(network, trained)
    return quantize(pl.capture(model, inputs, network), samples), samples[: networks.RUNS]


def measure(network: str, board: str, trained: bool, workers: Workers, folder: Path, limits: Limits) -> Row:
    graph, samples = quantized(network, trained)
    build = pl.compile(graph, board=board)
    _ = build.info  # what does not fit is said before anything is measured
    file = folder / f"{board}.tuned"
    search = Search(build, read_costs([file] if file.exists() else [], boards.load(board)))
    search.run(limits, workers, lambda now: now.costs.write(file))
    before, after = confirm(search, file, samples)
    if not (before.match and after.match):
        raise PilotlightError(f"{network} on {board} does not match", kind="mismatch")
    chosen = {node.output.name: choice.candidate.name for node, choice in after.build.selection.choices.items()}
    won = {
        f"{kind(name)} for {kind(usual)}" for layer in search.layers
        if (name := chosen[layer.node.output.name]) != (usual := search.default(layer))
    }
    known = search.total - search.left
    return Row(board, network, before, after, known, search.total, search.measured, search.seconds, frozenset(won))


def kind(name: str) -> str:
    """A kernel without its sizes: dsp.conv.wide.p12 is dsp.conv.wide.p."""
    return ".".join(part.rstrip("0123456789") for part in name.split("."))


def markdown(made: list[Row], left_out: list[str], trained: bool, seconds: float | None) -> str:
    rows = sorted(made, key=lambda row: BOARDS.index(row.board) if row.board in BOARDS else len(BOARDS))
    limit = "All candidates of all layers" if seconds is None else f"For each network {seconds:.0f} s of candidates"
    weights = "trained weights" if trained else "random weights: the trained ones were not found beside the project"
    lines = [
        "# Measured kernels", "",
        f"One run of `make bench-tune` with {', '.join(dict.fromkeys(row.network for row in made))}: {weights}, int8,",
        "without a budget: what [`--tuned`](../docs/tuning.md) brings.",
        f"{limit} are measured, those that layers of several networks share once. Outputs matched",
        "in the same run, with and without. RAM is arena, state and static data; the last column counts the candidates",
        "that were measured in a minute, with the time that processes take to start.",
        "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * 3 + "---:|" * (len(HEAD) - 3),
        *("| " + " | ".join(row.cells()) + " |" for row in rows), "",
        "| board | networks | less, geometric mean |", "|---|---:|---:|",
    ]
    by_board: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_board[row.board].append(row)
    for board, some in by_board.items():
        mean = math.exp(sum(math.log(row.ratio) for row in some) / len(some))
        lines.append(f"| {board} | {len(some)} | {100 * (1 - mean):.1f} % |")
    counted = Counter((row.board, change) for row in rows for change in row.won)
    lines += ["", "What won over what, and in how many networks (sizes left out):", ""]
    lines += [f"- {board}: {change}: {times}" for (board, change), times in sorted(counted.items())]
    lines += ["", *(f"- {line}" for line in left_out)] if left_out else []
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--networks", default=",".join(networks.NETWORKS))
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--seconds", type=float, help="for each network on a board; default: all candidates")
    parser.add_argument("--dask", metavar="tcp://HOST:PORT", help="measure on a Dask cluster, see docs/fleet.md")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "build" / "tune")
    parser.add_argument("--output", type=Path, default=HERE / "tune.md")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    trained = networks.TRAINED.is_dir()
    rows: list[Row] = []
    left_out: list[str] = []
    with chosen_workers(chosen.jobs, chosen.dask) as workers:
        for name, board in product(chosen.networks.split(","), chosen.boards.split(",")):
            try:
                rows.append(measure(name, board, trained, workers, chosen.folder, Limits(chosen.seconds)))
                print("  ".join(rows[-1].cells()), flush=True)
            except PilotlightError as error:
                if error.kind != "does-not-fit":
                    raise
                left_out.append(f"{name} on {board}: {error.message.splitlines()[0]}")
                print(left_out[-1], flush=True)
            chosen.output.write_text(markdown(rows, left_out, trained, chosen.seconds))
    print(f"wrote {chosen.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
