"""Command line of the conformance run."""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

import torch

from conformance import results
from conformance.batch import BOARDS, EVERY
from conformance.cases import Source
from conformance.layouts import LAYOUTS, LaidOut
from conformance.opinfo import DTYPES, OpInfoSource
from conformance.report import write_report
from conformance.run import run
from support.paths import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this operator (repeatable)")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES), help="this dtype (repeatable)")
    parser.add_argument("--resume", action="store_true", help="keep the results that are there")
    parser.add_argument("--again", action="store_true", help="like --resume, but repeat what was refused or wrong")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dask", metavar="tcp://HOST:PORT", help="on the workers of a Dask cluster, see docs/fleet.md")
    parser.add_argument("--limit", type=int, help="at most N samples of an operator and dtype")
    parser.add_argument("--no-boards", action="store_true",
                        help=f"on this computer only; default: every {EVERY}th sample also on {' and '.join(BOARDS)}")
    parser.add_argument("--layout", action="append", choices=["dense", *LAYOUTS, "mixed"],
                        help="tensors in this layout (repeatable; mixed: each sample in one of them); default: dense, "
                        "then all others but mixed")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "operators.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "conformance")
    args = parser.parse_args()
    torch.set_num_threads(1)
    source = OpInfoSource(tuple(args.dtype or DTYPES), args.limit)
    layouts = args.layout or ["dense", *LAYOUTS]
    done: dict[str, tuple[list[results.Operator], bool]] = {}
    for layout in layouts:
        if layout == "dense":
            done[layout] = _run(args, source, args.folder, layout)
        else:  # what does not pass as it is says nothing more in another layout
            apart = {(o.name, *case[:2]) for o in done.get("dense", ([], True))[0] for case in o.problems()}
            laid = LaidOut(source, layout, frozenset(apart))
            done[layout] = _run(args, laid, args.folder / layout, layout)
    right = all(passed for _, passed in done.values())
    if args.only or "dense" not in done:
        return 0 if right else 1
    operators = done["dense"][0]
    lines = [f"{layout} views: {results.counted(rows)}" for layout, (rows, _) in done.items() if layout != "dense"]
    on_boards = results.on_boards(operators)
    if on_boards:
        print(f"on boards: {on_boards}")
    if not args.dtype and not args.layout and args.limit is None:
        write_report(operators, args.report, on_boards, lines)
    return 0 if right else 1


def _run(
    args: argparse.Namespace, source: Source, folder: Path, layout: str
) -> tuple[list[results.Operator], bool]:
    """All operators in one layout, and whether nothing is wrong."""
    names = [n for n in source.operators() if not args.only or n in args.only or n.partition(".")[0] in args.only]
    left = names
    if args.resume or args.again:
        left = [n for n in names if not results.settled(results.path_of(folder, n), args.again)]
    boards = BOARDS if layout == "dense" and not args.no_boards else ()
    lost = run(
        source, left, folder, processes=args.processes, boards=boards, dask=args.dask,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU", file=sys.stderr)
    paths = [results.path_of(folder, n) for n in names]
    operators = [results.read(path) for path in paths if path.exists()]
    if args.only:
        for operator in operators:
            for dtype, index, outcome, reason in operator.problems():
                print(f"{operator.name} {dtype} #{index} {outcome}: {reason}")
    print(f"{layout}: {results.summary(operators)}")
    if lost:
        print(f"no result: {', '.join(lost)}")
    return operators, not lost and not results.totals(operators)["wrong"]


if __name__ == "__main__":
    sys.exit(main())
