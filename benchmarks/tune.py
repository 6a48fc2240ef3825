"""What measured kernels bring: the int8 networks of the zoo with and without `--tuned`, on emulated boards.

    python benchmarks/tune.py [--boards mps2-an386,microbit] [--networks kws,ic] [--jobs 2 | --dask tcp://HOST:PORT]

Measurements are kept in build/tune/BOARD.tuned, so that a run that was stopped goes on, and are used by all networks of
a board. Writes benchmarks/tune.md. The MLPerf Tiny networks have trained weights as in networks.py, where they are. A
network counts only if the board's outputs matched with and without; one that does not fit a board, that has no int8
form, or whose layers have one kernel each is named.
"""

from __future__ import annotations

import argparse
import sys
from functools import lru_cache
from itertools import product
from pathlib import Path

import torch

import networks
import pilotlight as pl
from pilotlight import boards
from pilotlight.capture.reference import variations
from pilotlight.errors import PilotlightError
from pilotlight.fleet import Workers, chosen_workers, usable_cores
from pilotlight.quantize import quantize
from pilotlight.trials.confirm import confirm
from pilotlight.trials.search import Limits, Search
from pilotlight.tune.costs import read_costs
from tune_page import Page, Row, Size, kind

HERE = Path(__file__).resolve().parent
BOARDS = ("mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547", "riscv32-virt", "microbit")
NOTHING = "nothing-to-tune"
NO_INT8 = "unsupported"
VARIED = 3  # copies of an example that a network is calibrated and run with, besides the example


def zoo_names() -> list[str]:
    """The models of examples/zoo, the MLPerf Tiny ones first."""
    sys.path.insert(0, str(HERE.parent / "examples" / "zoo"))
    import zoo

    return [*networks.NETWORKS, *(name for name in zoo.ZOO if name not in networks.NETWORKS)]


@lru_cache(maxsize=1)
def quantized(network: str, trained: bool) -> tuple[pl.Graph, list[list[torch.Tensor]]]:
    """The network in int8, and what it is run with."""
    if network in networks.NETWORKS:
        model, inputs, samples = networks.load(network, trained)
        return quantize(pl.capture(model, inputs, network), samples), samples[: networks.RUNS]
    import zoo

    model, inputs = zoo.load(network)
    graph = pl.capture(model, inputs, network)
    samples = [graph.truth.example, *variations(graph.truth.example, VARIED)]
    return quantize(graph, samples), samples


def measure(network: str, board: str, trained: bool, workers: Workers, folder: Path, limits: Limits) -> Row:
    graph, samples = quantized(network, trained)
    build = pl.compile(graph, board=board)
    file = folder / f"{board}.tuned"
    search = Search(build, read_costs([file] if file.exists() else [], boards.load(board)))
    if not search.layers:
        raise PilotlightError(f"no layer of {network} has more than one kernel on {board}", kind=NOTHING)
    _ = build.info  # what does not fit is said before anything is measured
    search.run(limits, workers, lambda now: now.costs.write(file))
    before, after = confirm(search, file, samples)
    if not (before.match and after.match):
        raise PilotlightError(f"{network} on {board} does not match", kind="mismatch")
    usual = map(search.default, search.layers)
    changes = [(now, then) for now, then in zip(search.kernels(after.build), usual, strict=True) if now != then]
    won = {f"{kind(now)} for {kind(then)}" for now, then in changes}
    unit = "instructions" if after.cycles is None else "cycles (est.)"
    return Row(
        board, network, unit, Size.of(before), Size.of(after), search.total - search.left, search.total,
        search.measured, search.seconds, frozenset(won),
    )


def add(page: Page, network: str, board: str, trained: bool, workers: Workers, folder: Path, limits: Limits) -> str:
    """Measure a network on a board, and put it where it belongs; what happened, in a line."""
    try:
        page.rows.append(measure(network, board, trained, workers, folder, limits))
        return "  ".join(page.rows[-1].cells())
    except PilotlightError as error:
        said = f"{network} on {board}: {error.message.splitlines()[0]}"
        if error.kind == NOTHING:
            page.fixed[network].append(board)
        elif error.kind == "mismatch":
            page.wrong.append(said)
        elif error.kind in ("does-not-fit", NO_INT8):
            page.left_out.append(said)
        else:
            raise
        return said


def main() -> int:
    names = zoo_names()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", default=",".join(BOARDS))
    parser.add_argument("--networks", default=",".join(names), help="default: all of the zoo")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--seconds", type=float, help="for each network on a board; default: all candidates")
    parser.add_argument("--dask", metavar="tcp://HOST:PORT", help="measure on a Dask cluster, see docs/fleet.md")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "build" / "tune")
    parser.add_argument("--output", type=Path, default=HERE / "tune.md")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.networks.split(",") if name not in names]
    if unknown:
        parser.error(f"there is no network {unknown[0]!r}; there are: {', '.join(names)}")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    trained = networks.TRAINED.is_dir()
    whose = ", ".join(networks.NETWORKS)
    page = Page(
        f"trained weights for {whose}, random ones for others" if trained
        else f"random weights: the trained ones of {whose} were not found beside the project",
        "All candidates of all layers" if chosen.seconds is None
        else f"For each network {chosen.seconds:.0f} s of candidates",
    )
    with chosen_workers(chosen.jobs, chosen.dask) as workers:
        for name, board in product(chosen.networks.split(","), chosen.boards.split(",")):
            print(add(page, name, board, trained, workers, chosen.folder, Limits(chosen.seconds)), flush=True)
            chosen.output.write_text(page.markdown(BOARDS))
    print(f"wrote {chosen.output}")
    return 1 if page.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
