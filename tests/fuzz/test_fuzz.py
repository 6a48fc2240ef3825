"""The fuzzer: its judge and its shrinking, a slice of random models, and what it found before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from fuzz.check import Verdict, check
from fuzz.child import isolated
from fuzz.generate import generate
from fuzz.program import Input, Program, Statement, load
from fuzz.run import Choice, boards_of
from fuzz.shrink import shrink
from fuzz.truth import Truth, decibels
from pilotlight import device
from pilotlight.boards import load as load_board

REPRODUCERS = sorted((Path(__file__).parent / "reproducers").glob("*.py"))
SLICE = range(20_000, 20_012)
PARTS = 4


def program(*bodies: str, result: str = "y", make: str = "torch.randn(3, generator=g)") -> Program:
    return Program(1, tuple(Statement(b) for b in bodies), (Input("x", make),), result)


def truth_of(tested: Program) -> Truth:
    loaded = load(tested.text())
    return Truth(loaded, [loaded.inputs(call) for call in range(3)])


@pytest.mark.parametrize("part", range(PARTS))
def test_random_models_compute_what_eager_pytorch_does(part: int) -> None:
    failures = []
    for seed in SLICE[part::PARTS]:
        model = generate(seed)
        verdict = check(model.text(), model.mode, boards_of(model, Choice())[:1])
        if verdict.outcome in ("wrong", "crashed"):
            failures.append(f"seed {seed}: {verdict}\n{model.text()}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(("mode", "kind", "seed"), [
    ("entries", "states", 30_000), ("entries", "in_place", 30_001), ("lengths", "indexing", 30_003),
    ("lengths", "convolution", 30_058), ("float", "complex", 0),
])
def test_random_models_in_other_forms(mode: str, kind: str, seed: int) -> None:
    model = generate(seed, kind, mode)
    verdict = check(model.text(), mode)
    assert verdict.outcome == "right", f"{verdict}\n{model.text()}"


@pytest.mark.parametrize("path", REPRODUCERS, ids=lambda path: path.stem)
def test_what_was_found_once_is_right_now(path: Path) -> None:
    text = path.read_text()
    boards = re.findall(r"^# on (\S+)$", text, re.MULTILINE)
    for name in boards:
        device.chosen_emulator(load_board(name))  # an error names what is missing
    verdict = check(text, re.search(r"mode (\S+)", text).group(1), boards)  # type: ignore[union-attr]
    assert verdict.outcome == "right", verdict


def test_a_seed_gives_the_same_model_always() -> None:
    assert generate(17).text() == generate(17).text() != generate(18).text()


def test_the_judge_sees_a_difference_of_a_few_units_in_the_last_place() -> None:
    truth = truth_of(program("y = x.exp()"))
    right = [[t.clone() for t in row] for row in truth.single]
    assert truth.differs(right) is None
    right[2][0][1] += 3e-5 * right[2][0].abs().max()
    assert "1 of 3 elements further than" in str(truth.differs(right))
    assert "shape" in str(truth.differs([[t[:2] for t in row] for row in truth.single]))


def test_an_infinity_widens_no_limit() -> None:
    """float32 overflows where float64 does not; the other elements are judged as ever."""
    truth = truth_of(program("y = torch.cat([x, (x.abs() + 60).exp() * 1e13])"))
    right = [[t.clone() for t in row] for row in truth.single]
    assert not bool(right[0][0].isfinite().all())
    assert truth.differs(right) is None
    right[1][0][0] += 0.01
    assert "further than" in str(truth.differs(right))
    right = [[t.clone() for t in row] for row in truth.single]
    right[1][0][4] = torch.nan
    assert "not the infinity or NaN" in str(truth.differs(right))


def test_the_truth_is_the_module_over_several_calls() -> None:
    state = Statement("old = self.h\nself.h = self.h + x", ('self.register_buffer("h", torch.zeros(3))',))
    tested = Program(1, (state,), (Input("x", "torch.randn(3, generator=g)"),), "old, self.h")
    truth = truth_of(tested)
    x = [load(tested.text()).inputs(call)[0][0] for call in range(3)]
    assert torch.equal(truth.single[2][0], x[0] + x[1]) and torch.equal(truth.single[2][1], x[0] + x[1] + x[2])


def test_noise_is_that_of_each_output() -> None:
    truth = truth_of(program("y = x * 2"))
    near = [[row[0] + 0.02] for row in truth.single]
    (signal,), (noise,) = truth.signal(), truth.noise(near)
    assert noise == pytest.approx(9 * 0.02**2, rel=1e-3)
    assert 25 < decibels(signal, noise) < 50
    assert decibels(signal, 0.0) == 200.0


def test_a_failing_model_becomes_small() -> None:
    large = Program(
        5,
        (Statement("a = x.relu()"), Statement("b = torch.cumsum(a, 0)\nc = b * 2"), Statement("d = c.flip(0).sin()"),
         Statement("e = self.fc(d)", ("self.fc = nn.Linear(3, 4)",))),
        (Input("x", "torch.randn(3, generator=g) * 2 + 1", "batch"), Input("z", "torch.randn(2)", "batch")),
        '{"out": e, "more": a + 1, "last": z}', name="Model", dicts=frozenset(["batch"]),
    )

    def judge(text: str, mode: str, boards: Sequence[str], seconds: int) -> tuple[Verdict, float]:
        return Verdict("crashed" if "cumsum" in text else "right"), 0.0

    small, _ = shrink(large, Verdict("crashed"), judge=judge)
    assert [s.body for s in small.statements] == ["b = torch.cumsum(x, 0)"]
    assert small.name == "Net" and [i.place for i in small.inputs] == [""] and "fc" not in small.text()
    load(small.text()).model()


def test_what_never_ends_is_stopped_and_named() -> None:
    endless = program("y = x", "while self.training is False:\n    pass").text()
    verdict, _ = isolated(endless, "float", (), 1)
    assert (verdict.outcome, verdict.where) == ("crashed", "time")
