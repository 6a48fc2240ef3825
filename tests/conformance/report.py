"""docs/operators.md from the result files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.batch import EVERY
from conformance.opinfo import DTYPES
from conformance.results import Operator, general, summary, totals

_HEAD = """# Operators

Written by `make conformance`; do not edit. PyTorch ships samples for its operators (OpInfo). Every sample in float32,
int64, bool and complex64 becomes a module, is captured, compiled to C, built with all warnings as errors and sanitizers
on, run on the host and compared with eager PyTorch: integers exactly, floats and the parts of complex numbers against
float64 (`tests/conformance/judge.py` has the rule). A sample that the compiler refuses must be refused by name. The
columns show samples passed / run.

{summary}.
"""

_LEFT_OUT = {
    "random": "Random numbers: recognised by PyTorch's tag `nondeterministic_seeded`.",
    "uninitialised": "Uninitialised memory: there is no right answer.",
    "export": "`torch.export` itself fails, or eager PyTorch does.",
    "no-tensor": "The result has no tensor in it.",
    "outside": "An operator that is neither core ATen nor on the list of what else exports contain "
    "(`tests/conformance/scope.py`), or a dtype that is not covered (float64, complex128).",
}


def write_report(
    operators: Iterable[Operator], path: Path, boards: str = "", layouts: Sequence[str] = ()
) -> None:
    rows = sorted(operators, key=lambda o: o.name.lower())
    on_boards = f"Every {EVERY}th of them also passes on emulated boards: {boards}.\n" if boards else ""
    varied = f"The same with tensors that are views made inside the model: {'; '.join(layouts)}.\n" if layouts else ""
    parts = [_HEAD.format(summary=sentence(rows)), on_boards, varied]
    parts += ["## Samples by operator\n", table(rows, tuple(DTYPES))]
    parts.append(left_out(rows, _LEFT_OUT))
    path.write_text("\n".join(part for part in parts if part))


def sentence(rows: list[Operator]) -> str:
    return summary(rows).partition("; left out")[0]


def table(rows: list[Operator], dtypes: Sequence[str]) -> str:
    """One row per operator that has samples that count."""
    lines = ["| operator | " + " | ".join(dtypes) + " | refused because |", "|---|" + "---|" * (len(dtypes) + 1)]
    for operator in rows:
        if operator.run:
            cells = [_cell(operator, dtype) for dtype in dtypes]
            lines.append(f"| {operator.name} | {' | '.join(cells)} | {_reasons(operator)} |")
    return "\n".join(lines) + "\n"


def _cell(operator: Operator, dtype: str) -> str:
    """Samples passed / run."""
    row = operator.rows.get(dtype)
    return f"{row.counts.get('pass', 0)} / {row.run}" if row is not None and row.run else ""


def _reasons(operator: Operator) -> str:
    counts = Counter(
        f"{'**wrong:** ' if outcome == 'wrong' else ''}{general(reason)}"
        for _, _, outcome, reason in operator.problems() if outcome in ("refused", "wrong")
    )
    return "; ".join(f"{reason} ({count})" for reason, count in counts.most_common()).replace("|", "\\|")


def left_out(rows: list[Operator], kinds: Mapping[str, str]) -> str:
    """The samples that do not count, by reason."""
    total = totals(rows)
    lines = ["## Samples that do not count\n"]
    for kind, why in kinds.items():
        lines.append(f"**{total[kind]} samples.** {why}\n")
        groups: dict[str, Counter[str]] = {}
        for operator in rows:
            for _, _, outcome, reason in operator.problems():
                if outcome == kind:
                    groups.setdefault(general(reason), Counter())[operator.name] += 1
        for reason, names in sorted(groups.items()):
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()))
            lines.append(f"- {f'{reason}: ' if reason else ''}{listed}")
        lines.append("")
    return "\n".join(lines)
