"""A slice of the conformance run of the eager library, and random calls: nothing is wrong, nothing crashes."""

from __future__ import annotations

from functools import partial

import pytest

from conformance import results
from conformance.micropython.__main__ import judge_operators
from conformance.micropython.device import known_names, run_unix
from conformance.micropython.fuzz import calls
from conformance.micropython.samples import Samples
from conformance.micropython.verdict import judge
from pilotlight.micropython.build import unix_binary
from pilotlight.micropython.composed import covered
from support.micropython_scripts import default_binary

PARTS = 6
pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch's, about its own samples


@pytest.mark.parametrize("part", range(PARTS))
def test_first_sample_of_every_operator(part: int) -> None:
    samples = Samples(("float32", "int64", "bool"), limit=1)
    judged = judge_operators(samples, samples.operators()[part::PARTS], default_binary(), None)
    operators = [operator for operator, _, _ in judged]
    wrong = [f"{o.name} {dtype} #{index}: {reason}" for o in operators
             for dtype, index, outcome, reason in o.problems() if outcome == "wrong"]
    assert not wrong, "\n".join(wrong)
    total = results.totals(operators)
    assert total["pass"] >= 0.98 * sum(total[k] for k in results.COUNTED), results.by_reason(operators, "refused")
    taken = [f"{o.name} #{index}: {reason}" for _, *others in judged for o in others
             for _, index, outcome, reason in o.problems() if outcome == "wrong"]
    assert not taken, "\n".join(taken)


def test_the_tables_hold_many_operators() -> None:
    names = {name.partition(".")[0].rstrip("_") for name in covered()}
    assert len(names) >= 150


def test_the_samples_run_with_sanitizers() -> None:
    samples = Samples(("float32",), limit=1)
    judged = judge_operators(samples, samples.operators()[::6], unix_binary(sanitize=True), None)
    assert [(o.name, reason) for parts in judged for o in parts for _, _, outcome, reason in o.problems()
            if outcome == "wrong"] == []


def test_random_calls_give_what_pytorch_gives() -> None:
    cases = list(calls(8, 1500, wild=False))
    known = known_names(default_binary(), {name for case in cases for name in case.names})
    verdicts = judge(cases, known, partial(run_unix, default_binary(), heap="64m"))
    assert sum(v.outcome == "pass" for v in verdicts) > 400
    wrong = [v for v in verdicts if v.outcome == "wrong" and not v.reason.startswith("IndexError")]  # strict when empty
    assert [(v.case, v.reason) for v in wrong] == []


@pytest.mark.parametrize("sanitize", [False, True])
def test_nonsense_does_not_crash(sanitize: bool) -> None:
    cases = list(calls(2 + sanitize, 2500, wild=True))
    answers = run_unix(unix_binary(sanitize=sanitize), [case.line for case in cases], heap="64m")
    died = [(cases[k].line, answer) for k, answer in answers.items() if answer.startswith("died")]
    assert not died
