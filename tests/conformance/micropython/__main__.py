"""Command line of the conformance run of the eager library."""

from __future__ import annotations

import argparse
import resource
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from conformance import results
from conformance.cases import Verdict
from conformance.micropython.device import known_names, run_board, run_unix
from conformance.micropython.overlaps import judge_overlaps, overlaps
from conformance.micropython.report import error_sentence, overlap_sentence, write_report
from conformance.micropython.samples import Sample, Samples
from conformance.micropython.text import DTYPES
from conformance.micropython.verdict import judge, judge_errors
from conformance.run import run_groups
from pilotlight.micropython.build import unix_binary
from support.paths import ROOT

BOARD = "mps2-an386"
LARGEST = 6000  # characters of a call that a board compiles


def judge_operators(samples: Samples, names: Sequence[str], binary: Path, folder: Path | None) -> list[
    tuple[results.Operator, results.Operator, results.Operator]
]:
    """Verdicts on the samples of operators, on the calls that must raise, and on those that write where they read."""
    run = partial(run_unix, binary)
    found = []
    for name in names:
        cases, errors = list(samples.cases(name)), list(samples.errors(name))
        laps = list(overlaps(samples, name))
        asked = {n.removesuffix(".__get__") for c in (*cases, *errors, *laps) if isinstance(c, Sample) for n in c.names}
        known = known_names(binary, asked)
        operator = results.collect(name, judge(cases, known, run))
        refusals = results.collect(name, judge_errors(errors, known, run))
        shared = results.collect(name, judge_overlaps(laps, known, run))
        if folder is not None:
            results.write(folder, operator)
            results.write(folder / "errors", refusals)
            results.write(folder / "overlaps", shared)
        found.append((operator, refusals, shared))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance.micropython", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this operator (repeatable)")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES.values()), help="this dtype (repeatable)")
    parser.add_argument("--resume", action="store_true", help="keep the results that are there")
    parser.add_argument("--again", action="store_true", help="like --resume, but repeat what was refused or wrong")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=int, help="at most N samples of an operator and dtype")
    parser.add_argument("--board", type=int, default=300, metavar="COUNT", help="samples that also run on a board")
    parser.add_argument("--sanitize", action="store_true", help="on a build with sanitizers")
    parser.add_argument("--binary", type=Path, help="a MicroPython with the module, instead of building one")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "micropython-operators.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "conformance-micropython")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torch.manual_seed = torch.default_generator.manual_seed  # PyTorch's own keeps a traceback for every other device
    binary = args.binary or unix_binary(sanitize=args.sanitize)
    samples = Samples(tuple(args.dtype or DTYPES.values()), args.limit)
    names = [n for n in samples.operators() if not args.only or n in args.only or n.partition(".")[0] in args.only]
    if args.resume or args.again:
        names = [n for n in names if not results.settled(results.path_of(args.folder, n), args.again)]
    lost = run_groups(
        lambda group: judge_operators(samples, group, binary, args.folder) and None, names, processes=args.processes,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU", file=sys.stderr)
    shown = names if args.only else samples.operators()
    operators = _read(args.folder, shown)
    errors = _read(args.folder / "errors", shown)
    shared = _read(args.folder / "overlaps", shown)
    if args.only:
        for operator in (*operators, *errors, *shared):
            for dtype, index, outcome, reason in operator.problems():
                print(f"{operator.name} {dtype} #{index} {outcome}: {reason}")
    print(results.summary(operators))
    print(error_sentence(errors))
    print(overlap_sentence(shared))
    if lost:
        print(f"no result: {', '.join(lost)}")
    right = not lost and not results.totals(operators)["wrong"] and not results.totals(shared)["wrong"]
    said = ""
    if not args.only and args.board:
        verdicts = judge_board(samples, operators, args.board)
        counts = Counter(v.outcome for v in verdicts)
        said = f"{BOARD}: {', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}"
        print(said)
        for v in verdicts:
            if v.outcome != "pass":
                print(f"{BOARD}: {v.case.operator} {v.case.dtype} #{v.case.index} {v.outcome}: {v.reason}")
        right = right and set(counts) == {"pass"}
    if not args.only and not args.dtype:
        write_report(operators, errors, shared, args.report, said, args.limit)
    return 0 if right else 1


def judge_board(samples: Samples, operators: Sequence[results.Operator], count: int) -> list[Verdict]:
    """Some of the samples that pass on this computer, on an emulated board."""
    keys = set(results.chosen(operators, count * 5 // 4))  # more: those that are too large for a board are left out
    cases = [case for name in dict.fromkeys(name for name, _, _ in keys) for case in samples.cases(name)
             if isinstance(case, Sample) and (name, case.dtype, case.index) in keys and len(case.line) <= LARGEST]
    known = {name.removesuffix(".__get__") for case in cases for name in case.names}
    return judge(cases[:count], known, partial(run_board, BOARD))


def _read(folder: Path, names: Sequence[str]) -> list[results.Operator]:
    paths = [results.path_of(folder, name) for name in names]
    return [results.read(path) for path in paths if path.exists()]


if __name__ == "__main__":
    sys.exit(main())
