"""docs/micropython-operators.md from the result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.micropython.text import DTYPES
from conformance.report import left_out, sentence, table
from conformance.results import Operator, totals
from pilotlight.micropython.composed import covered

_HEAD = """# Operators under MicroPython

Written by `make conformance-micropython`; do not edit. The eager library has {overloads} overloads of {operators}
operators, in C or in Python (in-place forms and out= are not counted separately). PyTorch has samples of them (OpInfo).
The unix build ran {samples} samples of the dtypes that the compiler is judged by and the first few of the
others, the first few in every form that the operator has: function, method, operator sign, in place, out=; and again
with arguments that are transposed, stepped, expanded, or have meaningless strides of single rows (the first few
in float32 with all of these, the others with one of them). They are
compared with eager PyTorch: types and shapes exactly, integers exactly, floats by the rule of
`tests/conformance/judge.py`, and the arguments as the call leaves them. The columns show samples passed / run.

{summary}.

{errors}

{overlaps}

Some of the samples that pass also run on an emulated board, whose MicroPython has single floats: {board}.
"""
_LEFT_OUT = {
    "missing": "A function or method that the library does not have.",
    "raises": "Eager PyTorch itself raises.",
    "no-tensor": "The result has no tensor or number in it.",
    "outside": "A dtype that the library does not have, an argument that is not a Python or PyTorch value, or a "
    "call without a public name.",
}


def error_sentence(errors: Sequence[Operator]) -> str:
    total = totals(errors)
    return (f"Of {sum(total.values())} calls that PyTorch refuses (OpInfo's error inputs) {total['pass']} raise its "
            f"type of exception, {total['other']} another one, {total['wrong']} none.")


def overlap_sentence(shared: Sequence[Operator]) -> str:
    total = totals(shared)
    judged = total["pass"] + total["refused"] + total["wrong"]
    return (f"Of {judged} calls in place or with out= that write to memory which they read, or to one element twice, "
            f"{total['pass']} do what PyTorch does (raise, or compute), {total['refused']} raise where it computes, "
            f"{total['wrong']} are wrong.")


def write_report(
    operators: Sequence[Operator], errors: Sequence[Operator], shared: Sequence[Operator], path: Path, board: str,
    limit: int | None,
) -> None:
    rows = sorted(operators, key=lambda o: o.name.lower())
    names = [name for name in covered() if not name.partition(".")[0].endswith("_")]
    head = _HEAD.format(
        overloads=len(names), operators=len({name.partition(".")[0] for name in names}), summary=sentence(rows),
        samples="all" if limit is None else f"the first {limit}", errors=error_sentence(errors),
        overlaps=overlap_sentence(shared),
        board=board or "not in this run",
    )
    unmet = [f"- {o.name}: {reason}" for o in errors for _, _, outcome, reason in o.problems() if outcome == "wrong"]
    parts = [head, "## Samples by operator\n", table(rows, tuple(DTYPES.values()))]
    if unmet:
        parts += ["## Calls that PyTorch refuses and the library takes\n", "\n".join(unmet) + "\n"]
    path.write_text("\n".join([*parts, left_out(rows, _LEFT_OUT)]))
