"""Verdicts as files: one JSON file per operator, with counts for each dtype and every case that did not pass."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from conformance.cases import Verdict

COUNTED = ("pass", "refused", "wrong")


@dataclass
class Row:
    """One operator with one dtype."""

    counts: dict[str, int] = field(default_factory=dict)
    cases: list[dict[str, object]] = field(default_factory=list)  # index, outcome, reason of those that did not pass
    boards: dict[str, int] = field(default_factory=dict)  # cases that passed on a board as well

    @property
    def run(self) -> int:
        return sum(self.counts.get(k, 0) for k in COUNTED)


@dataclass
class Operator:
    name: str
    rows: dict[str, Row] = field(default_factory=dict)

    def count(self, outcome: str) -> int:
        return sum(row.counts.get(outcome, 0) for row in self.rows.values())

    @property
    def run(self) -> int:
        return sum(row.run for row in self.rows.values())

    def problems(self) -> Iterator[tuple[str, int, str, str]]:
        """dtype, index, outcome, reason of every case that did not pass."""
        for dtype, row in self.rows.items():
            for case in row.cases:
                yield dtype, int(str(case["index"])), str(case["outcome"]), str(case["reason"])


def collect(name: str, verdicts: Iterable[Verdict]) -> Operator:
    operator = Operator(name)
    for verdict in sorted(verdicts, key=lambda v: (v.case.dtype, v.case.index)):
        row = operator.rows.setdefault(verdict.case.dtype, Row())
        row.counts[verdict.outcome] = row.counts.get(verdict.outcome, 0) + 1
        for board in verdict.boards:
            row.boards[board] = row.boards.get(board, 0) + 1
        if verdict.outcome != "pass":
            row.cases.append({"index": verdict.case.index, "outcome": verdict.outcome, "reason": verdict.reason})
    return operator


def path_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def write(folder: Path, operator: Operator) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path_of(folder, operator.name).write_text(json.dumps(asdict(operator), indent=1) + "\n")


def read(path: Path) -> Operator:
    data = json.loads(path.read_text())
    return Operator(data["name"], {dtype: Row(**row) for dtype, row in data["rows"].items()})


def settled(path: Path, passed: bool) -> bool:
    """Whether there is a result; with `passed` one in which nothing was refused or wrong."""
    return path.exists() and not (passed and (read(path).count("refused") or read(path).count("wrong")))


def totals(operators: Iterable[Operator]) -> Counter[str]:
    total: Counter[str] = Counter()
    for operator in operators:
        for row in operator.rows.values():
            total.update(row.counts)
    return total


def summary(operators: list[Operator]) -> str:
    total = totals(operators)
    run = sum(total[k] for k in COUNTED)
    share = 100 * total["pass"] / run if run else 0.0
    counted = sum(1 for o in operators if o.run)
    apart = ", ".join(f"{total[k]} {k}" for k in sorted(total) if k not in COUNTED)
    return (f"{run} samples of {counted} operators: {total['pass']} pass ({share:.2f} %), {total['refused']} refused, "
            f"{total['wrong']} wrong; left out: {apart or 'none'}")


def counted(operators: Iterable[Operator]) -> str:
    """Samples that count, by outcome."""
    total = totals(operators)
    return ", ".join(f"{total[k]:,} {k}" for k in COUNTED)


def on_boards(operators: Iterable[Operator]) -> str:
    """Samples that passed on each board as well."""
    total: Counter[str] = Counter()
    for operator in operators:
        for row in operator.rows.values():
            total.update(row.boards)
    return ", ".join(f"{count:,} on {board}" for board, count in sorted(total.items()))


def chosen(operators: Sequence[Operator], count: int) -> list[tuple[str, str, int]]:
    """Every n-th case that passed, over all operators and dtypes: operator, dtype, index."""
    passed = [
        (operator.name, dtype, index)
        for operator in operators for dtype, row in operator.rows.items()
        for index in sorted(set(range(sum(row.counts.values()))) - {int(str(c["index"])) for c in row.cases})
    ]
    return [passed[i * len(passed) // count] for i in range(min(count, len(passed)))]


def by_reason(operators: list[Operator], outcome: str) -> list[tuple[str, int, dict[str, int], str]]:
    """Reasons without their numbers, most frequent first: reason, cases, cases by operator, an example."""
    groups: dict[str, tuple[dict[str, int], str]] = {}
    for operator in operators:
        for dtype, index, kind, reason in operator.problems():
            if kind == outcome:
                names, _ = groups.setdefault(general(reason), ({}, f"{operator.name} {dtype} #{index}: {reason}"))
                names[operator.name] = names.get(operator.name, 0) + 1
    rows = [(reason, sum(names.values()), names, example) for reason, (names, example) in groups.items()]
    return sorted(rows, key=lambda row: -row[1])


def general(reason: str) -> str:
    """A reason with shapes and numbers left out, so that equal ones can be counted."""
    text = re.sub(r"\[[^\]]*\]|\([\d, ]*\)", "[…]", reason)
    text = re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e[-+]?\d+)?|-?\b(nan|inf)\b", "N", text)
    return re.sub(r"\b(tensors_|slice_|u)\d+\b", r"\1N", text)
