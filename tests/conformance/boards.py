"""Some of the cases that pass on the host, on emulated boards: the same verdicts are expected there."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

import pilotlight as pl
from conformance.batch import Judge
from conformance.cases import Case, Source, Verdict
from conformance.results import Operator
from pilotlight.graph import Graph

BOARDS = ("mps2-an386", "riscv32-virt")
LARGEST = 16384  # bytes of inputs of one case: a batch has to fit into a board's memory


def chosen(operators: Sequence[Operator], count: int) -> list[tuple[str, str, int]]:
    """Every n-th case that passed, over all operators and dtypes: operator, dtype, index."""
    passed = [
        (operator.name, dtype, index)
        for operator in operators for dtype, row in operator.rows.items()
        for index in sorted(set(range(sum(row.counts.values()))) - {int(str(c["index"])) for c in row.cases})
    ]
    return [passed[i * len(passed) // count] for i in range(min(count, len(passed)))]


def find(source: Source, keys: Sequence[tuple[str, str, int]]) -> list[Case]:
    wanted = set(keys)
    cases = []
    for name in dict.fromkeys(name for name, _, _ in keys):
        for case in source.cases(name):
            size = sum(x.numel() * x.element_size() for x in case.inputs())
            if (name, case.dtype, case.index) in wanted and size <= LARGEST:
                cases.append(case)
    return cases


def run_on(board: str, graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    build = pl.compile(graph, board)
    try:
        with build.open(timeout=300.0, count=False) as running:
            return running.flat(inputs)
    finally:
        build.close()


def judge_on(board: str, cases: Sequence[Case], work: Path) -> list[Verdict]:
    return list(Judge(work, run=lambda graph, inputs, _: run_on(board, graph, inputs)).judge(cases))


def run_boards(
    source: Source, keys: Sequence[tuple[str, str, int]], board: str, folder: Path, processes: int
) -> Counter[str]:
    """Counts of verdicts; those that are not passes are in BOARD.board in the folder."""
    parts = [keys[i::processes] for i in range(processes)]
    counts: Counter[str] = Counter()
    problems = []
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        for verdicts in pool.map(_part, [source] * len(parts), parts, [board] * len(parts)):
            for case, index, outcome, reason in verdicts:
                counts[outcome] += 1
                if outcome != "pass":
                    problems.append({"case": case, "index": index, "outcome": outcome, "reason": reason})
    (folder / f"{board}.board").write_text(json.dumps({"counts": counts, "problems": problems}, indent=1) + "\n")
    return counts


def _part(source: Source, keys: Sequence[tuple[str, str, int]], board: str) -> list[tuple[str, int, str, str]]:
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as work:
        verdicts = judge_on(board, find(source, keys), Path(work))
    return [(f"{v.case.operator} {v.case.dtype}", v.case.index, v.outcome, v.reason) for v in verdicts]
