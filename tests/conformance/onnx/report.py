"""The generated part of docs/onnx.md: everything after a marker line is written anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx

from conformance.onnx.cases import BAKED, CONSTANT, RUN_TIME, named
from conformance.onnx.judge import CANCELLED, NARROW
from conformance.onnx.tests import EVERY, SMALL, OnnxTest
from conformance.results import COUNTED, Operator, Row, general, on_boards, totals

MARKER = "<!-- The rest is written by `make conformance-onnx`; do not edit. -->"
KINDS = (RUN_TIME, BAKED, CONSTANT)


def write_report(operators: Sequence[Operator], tests: Sequence[OnnxTest], path: Path) -> None:
    head = path.read_text(encoding="utf-8").partition(MARKER)[0]
    path.write_text(f"{head}{MARKER}\n\n{generated(operators, tests)}", encoding="utf-8")


def generated(operators: Sequence[Operator], tests: Sequence[OnnxTest]) -> str:
    rows = sorted(operators, key=lambda o: o.name.lower())
    nodes, files = [o for o in rows if o.name not in SMALL], [o for o in rows if o.name in SMALL]
    total = totals(nodes)
    passed = Counter({kind: sum(o.rows[kind].counts.get("pass", 0) for o in nodes if kind in o.rows) for kind in KINDS})
    lines = [
        f"## ONNX's own tests\n\nonnx {onnx.__version__} has {sum(total.values()):,} tests of single operators (not "
        "counting those of definitions in others). Each is imported, compiled to C, built with all warnings as errors "
        "and sanitizers on, run on the host with its data given at run time, and held to the outputs and the tolerance "
        f"that ONNX gives: **{total['pass']:,} pass, {total['wrong']} are wrong**, {total['refused']:,} are refused by "
        f"name. {passed[RUN_TIME]:,} of those that pass are given all of their inputs at run time; in {passed[BAKED]} "
        "shapes, axes, counts and the like are baked in, as `--bake` does, because a compiled model needs them before "
        f"it runs, and {passed[CONSTANT]} have no other inputs, so that their results are constants, such as those of "
        f"`Range`. Of every {EVERY}th test by name ({sum(t.chosen for t in tests):,}), {_chosen(nodes, tests)} pass on "
        f"the host; of these, {on_boards(nodes) or 'none'} as well.\n",
        f"{len(NARROW) + len(CANCELLED)} tests have a wider tolerance than ONNX gives. Of {len(NARROW)} with 16-bit "
        f"floats the expected outputs were rounded to 16 bits after each step, and ONNX's tolerance is less than the "
        f"last of these bits: two units of it are allowed ({_names(NARROW)}). Of {len(CANCELLED)} some expected "
        f"outputs are what float32 leaves of zeros: 2^-20 of the largest output is allowed ({_names(CANCELLED)}).\n",
        "Networks that come as files with the package:\n",
        *(f"- {o.name}: {o.count('pass')} of {sum(sum(r.counts.values()) for r in o.rows.values())} pass, "
          f"{o.count('wrong')} wrong{_reasons(o)}" for o in files),
        "\n## Operators\n", "Tests passed / all.\n", "| operator | at run time | baked | constant | refused because |",
        "|---|---|---|---|---|",
    ]
    for operator in nodes:
        cells = [_cell(operator.rows.get(kind)) for kind in KINDS]
        lines.append(f"| {operator.name} | {' | '.join(cells)} | {_reasons(operator).removeprefix('; ')} |")
    lines.append(f"\n{_missing(nodes, tests)}")
    return "\n".join(lines) + "\n"


def _chosen(nodes: Sequence[Operator], tests: Sequence[OnnxTest]) -> int:
    """The tests for the board that pass on the host."""
    failed = {named(tests, o.name)[index].name for o in nodes for _, index, _, _ in o.problems()}
    return sum(test.chosen and test.name not in failed for test in tests)


def _names(tests: Iterable[str]) -> str:
    return ", ".join(sorted(name.removeprefix("test_") for name in tests))


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{row.counts.get('pass', 0)} / {sum(row.counts.values())}"


def _reasons(operator: Operator) -> str:
    counts = Counter(
        f"{'**wrong:** ' if outcome == 'wrong' else ''}{_short(reason)}"
        for _, _, outcome, reason in operator.problems()
    )
    found = "; ".join(f"{reason} ({count})" for reason, count in counts.most_common()).replace("|", "\\|")
    return f"; {found}" if found else ""


def _short(reason: str) -> str:
    text = reason.replace("\n", " ").removeprefix("this model cannot be compiled: ")
    return general(text.partition("; expected one of")[0].removeprefix("it is not supported with these inputs and "
                                                                       "attributes: "))


def _missing(nodes: Sequence[Operator], tests: Sequence[OnnxTest]) -> str:
    """Tests that do not pass, by name."""
    lines = ["## Tests that are refused\n"]
    for operator in nodes:
        names = [named(tests, operator.name)[index].name.removeprefix("test_")
                 for _, index, outcome, _ in operator.problems() if outcome in COUNTED or outcome]
        if names:
            lines.append(f"- {operator.name}: {', '.join(sorted(names))}")
    return "\n".join(lines)
