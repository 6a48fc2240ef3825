"""Command line of the run over ONNX's tests."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from conformance import results
from conformance.cases import Case, Verdict
from conformance.onnx.cases import make_case, named
from conformance.onnx.judge import OnnxJudge
from conformance.onnx.report import write_report
from conformance.onnx.tests import OnnxTest, file_tests, node_tests
from conformance.program import REFUSALS, crash
from conformance.run import run_groups
from pilotlight.errors import PilotlightError
from support.paths import ROOT

BOARD = "mps2-an386"
TOGETHER = 24


def judge(
    tests: Sequence[OnnxTest], names: Sequence[str], work: Path, boards: Sequence[str] = ()
) -> list[results.Operator]:
    """A verdict for each test of these operators."""
    verdicts: dict[str, list[Verdict]] = {name: [] for name in names}
    cases: list[Case] = []
    for name in names:
        for index, test in enumerate(named(tests, name)):
            try:
                cases.append(make_case(test, index))
            except PilotlightError as error:
                refused = error.kind in REFUSALS
                verdicts[name].append(_refused(test, index, "refused" if refused else "wrong", error.message))
            except Exception as error:
                verdicts[name].append(_refused(test, index, "wrong", crash(error)))
    for verdict in OnnxJudge(work, boards=boards).judge(cases):
        verdicts[verdict.case.operator].append(verdict)
    return [results.collect(name, found) for name, found in verdicts.items()]


def _refused(test: OnnxTest, index: int, outcome: str, reason: str) -> Verdict:
    return Verdict(Case(test.operator, "run time", index, lambda: None, (), {}), outcome, reason)


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance.onnx", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this operator (repeatable)")
    parser.add_argument("--again", action="store_true", help="keep the results in which nothing was refused or wrong")
    parser.add_argument("--no-boards", action="store_true", help="on this computer only")
    parser.add_argument("--report-only", action="store_true", help="write the page from the results that are there")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "onnx.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "conformance-onnx")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tests = [*node_tests(), *file_tests()]
    names = [n for n in dict.fromkeys(t.operator for t in tests) if not args.only or n in args.only]
    left = [] if args.report_only else [
        n for n in names if not (args.again and results.settled(results.path_of(args.folder, n), True))]
    boards = () if args.no_boards else (BOARD,)

    def run(group: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(prefix="pilotlight-") as work:
            for operator in judge(tests, group, Path(work), boards):
                results.write(args.folder, operator)

    lost = run_groups(run, left, processes=args.processes, together=TOGETHER,
                      say=lambda text: print(text, file=sys.stderr, flush=True))
    operators = [results.read(path) for path in (results.path_of(args.folder, n) for n in names) if path.exists()]
    for operator in operators:
        for _, index, outcome, reason in operator.problems():
            if args.only or outcome == "wrong":
                print(f"{named(tests, operator.name)[index].name} {outcome}: {reason}")
    print(results.summary(operators))
    print(f"on boards: {results.on_boards(operators)}")
    if lost:
        print(f"no result: {', '.join(lost)}")
    if not args.only:
        write_report(operators, tests, args.report)
    return 1 if lost or results.totals(operators)["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
