"""A match means something: every way to be wrong that was thought of is found, in outputs that were tampered with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture.eager import Eager
from pilotlight.capture.reference import ExportedReference, ModuleReference, variations
from pilotlight.graph import Graph, Reference
from pilotlight.graph.arithmetic import Arithmetic, arithmetic
from pilotlight.measure.compare import OutputMatch, Truth, identical, nearly_same_numbers, same_numbers
from support.modules import Forward

Outputs = list[list[torch.Tensor]]
Tamper = Callable[[Outputs], Any]
INF, NAN = float("inf"), float("nan")
X = torch.randn(1, 40, generator=torch.Generator().manual_seed(3))


def truth_of(function: Callable[..., Any], *inputs: torch.Tensor, runs: int = 3) -> Truth:
    """Of a function; of a module, which may have a state, by way of its capture."""
    reference: Reference = ModuleReference(Eager(Forward(function), inputs), stateful=False)
    if isinstance(function, nn.Module):
        reference = pl.capture(function, inputs, "net").truth
    return Truth(reference, [list(inputs), *variations(inputs, runs)])


def verdict(truth: Truth, tamper: Tamper = lambda runs: None) -> list[OutputMatch]:
    """PyTorch's own float32 as the board's answer, after something was done to it."""
    runs = [[y.clone() for y in row] for row in truth.single]
    tamper(runs)
    return truth.compare(runs, [str(k) for k in range(len(runs[0]))])


def put(run: int, place: int, value: float | int | bool, output: int = 0) -> Tamper:
    def tamper(runs: Outputs) -> None:
        runs[run][output].view(-1)[place] = value
    return tamper


def add(amount: float, output: int = 0) -> Tamper:
    def tamper(runs: Outputs) -> None:
        for row in runs:
            row[output] += amount
    return tamper


def reshape(runs: Outputs) -> None:
    runs[-1][0] = runs[-1][0][..., :-1]


def as_integers(runs: Outputs) -> None:
    for row in runs:
        row[0] = row[0].to(torch.int32)


class Sum(nn.Module):
    """A state, and outputs of four kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(1, 40))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.h = self.h + torch.tanh(x)
        return self.h.clone(), self.h.sum(1) > 0, self.h.argmax(1), self.h.half()


def overflows(x: torch.Tensor) -> torch.Tensor:
    """Element 0 leaves float32 on the way, though not float64; element 1 is NaN; element 2 infinite in both."""
    scale = torch.ones(1, 40)
    scale[0, 0] = 1e30
    y = torch.tanh(x) * scale * scale / scale / scale
    return torch.cat([y[:, :1], torch.sqrt(-1 - y[:, 1:2].abs()), 1 / (y[:, 2:3] * 0).abs(), y[:, 3:]], 1)


def masked(x: torch.Tensor) -> torch.Tensor:
    return (x * 1.1).masked_fill(torch.arange(40) % 3 == 0, -1e9)


def lowest(x: torch.Tensor) -> torch.Tensor:
    return (x * 1.1).masked_fill(torch.arange(40) % 3 == 0, torch.finfo(x.dtype).min)


def biased(x: torch.Tensor) -> torch.Tensor:
    return x * 1.1 + (torch.arange(40) % 3 == 0) * -1e9


def denormal(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * 1e-20 * 1e-20


CASES: dict[str, tuple[Any, tuple[torch.Tensor, ...], dict[str, Tamper]]] = {
    "floats": (torch.tanh, (X,), {
        "one element": put(0, 5, 0.5), "one of the last run": put(3, 39, 9.0), "NaN in a later run": put(2, 1, NAN),
        "infinity": put(1, 1, INF), "a small shift": add(1e-4), "another shape": reshape, "another type": as_integers,
        "all zero": lambda runs: [y.zero_() for row in runs for y in row],
    }),
    "overflow": (overflows, (X,), {
        "a finite number for infinity": put(0, 0, 1.0), "NaN for infinity": put(0, 0, NAN),
        "the other infinity": lambda runs: runs[1][0][:, 2].neg_(), "a number for NaN": put(0, 1, 0.0),
        "infinity for NaN": put(2, 1, INF), "its neighbour": put(0, 7, 3.0), "all its neighbours": add(0.01),
        "infinity for a neighbour": put(0, 7, INF),
    }),
    "masked with -1e9": (masked, (X,), {
        "a score": put(0, 1, 9.0), "all scores": add(1e-3), "the mask": put(0, 0, -1.1e9)}),
    "masked with the lowest number": (lowest, (X,), {"a score": put(0, 1, 9.0), "the mask": put(0, 0, -3e38)}),
    "-1e9 added": (biased, (X,), {"a score": put(0, 1, 9.0), "the mask": put(0, 0, -1.1e9)}),
    "denormal numbers": (denormal, (X,), {"flushed to zero": lambda runs: [row[0].zero_() for row in runs]}),
    "float16": (lambda x: torch.tanh(x), (X.half(),), {"one element": put(0, 5, 1.5), "NaN": put(3, 5, NAN)}),
    "float16 overflow": (lambda x: torch.exp(x * 12), (X.half(),), {
        "the largest number for infinity": lambda runs: [row[0].clamp_(max=65504.0) for row in runs]}),
    "bfloat16": (lambda x: torch.tanh(x), (X.bfloat16(),), {"one element": put(0, 5, 1.5), "NaN": put(3, 5, NAN)}),
    "integers": (lambda x: (x * 4).int(), (X,), {"one off": put(0, 5, 77), "one off in a later run": put(3, 5, 77)}),
    "zeros are no ties": (lambda x: (x.relu() > 0).int(), (X,), {
        "at zero": lambda runs: [row[0].fill_(1) for row in runs]}),
    "booleans": (lambda x: x > 0.3, (X,), {"one": lambda runs: runs[0][0].logical_not_()}),
    "a size that data decide": (lambda x: x[x > 0], (X,), {
        "one less": lambda runs: runs[0].__setitem__(0, runs[0][0][:-1]), "another element": put(0, 2, 9.0)}),
    "state": (Sum(), (X,), {
        "the old state": lambda runs: runs[2].__setitem__(0, runs[1][0]), "a flag": lambda r: r[3][1].logical_not_(),
        "an index": put(3, 0, 41, 2), "a half": put(3, 0, 9.0, 3),
    }),
}


@pytest.mark.parametrize("name", CASES)
def test_pytorch_itself_matches_and_nothing_else_does(name: str) -> None:
    module, inputs, tampered = CASES[name]
    truth = truth_of(module, *inputs)
    assert [m.match for m in verdict(truth)] == [True] * len(truth.single[0])
    wrong = [how for how, tamper in tampered.items() if all(m.match for m in verdict(truth, tamper))]
    assert wrong == [], f"these were taken for PyTorch's answer: {wrong}"


def test_the_float64_answer_is_right_where_float32_overflows_on_the_way() -> None:
    truth = truth_of(overflows, X)
    exact = [float(row[0][0, 0]) for row in truth.exact]
    assert all(-1 < y < 1 for y in exact) and not any(bool(row[0][0, 0].isfinite()) for row in truth.single)
    (match,) = verdict(truth, lambda runs: [row[0][:, 0].fill_(y) for row, y in zip(runs, exact, strict=True)])
    assert match.match and match.not_finite == 3 * len(exact)


def asks_for_its_type(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * (3.0 if x.dtype == torch.float32 else 500.0)


def insists_on_its_type(x: torch.Tensor) -> torch.Tensor:
    if x.dtype != torch.float32:
        raise TypeError("float32 only")
    return torch.tanh(x) * 3.0


@pytest.mark.parametrize("function", [asks_for_its_type, insists_on_its_type])
def test_what_float64_does_otherwise_does_not_widen_the_limit(function: Callable[..., Any]) -> None:
    """The program that was exported in float32 takes its place."""
    truth = truth_of(Forward(function), X)
    (match,) = verdict(truth)
    assert match.match and match.limit < 1e-4 and truth.exact[0][0].dtype == torch.float64
    assert not verdict(truth, put(0, 0, 9.0))[0].match


def test_without_any_float64_the_perturbed_copies_give_the_limit() -> None:
    truth = truth_of(insists_on_its_type, X)
    (match,) = verdict(truth)
    assert match.match and 1e-6 < match.limit < 1e-4 and truth.exact is truth.single
    assert not verdict(truth, add(1e-3))[0].match


def test_ties_are_explained_only_by_what_pytorch_gives() -> None:
    """Two elements that differ in the last place: either is the largest, no third one."""
    x = torch.tensor([[1.0, 1.0000001, 0.5]])
    truth = truth_of(lambda x: (x * 3).argmax(1), x, runs=0)
    assert verdict(truth, put(0, 0, 0))[0].match and verdict(truth, put(0, 0, 1))[0].match
    assert not verdict(truth, put(0, 0, 2))[0].match


WARNED: dict[str, tuple[Any, torch.Tensor, str]] = {
    "NaN": (lambda x: torch.sqrt(-1 - x.abs()), X, "is NaN everywhere"),
    "constant": (lambda x: x * 0 + 2.5, X, "is 2.5 everywhere"),
    "the same class in all runs": (lambda x: (x * 0).argmax(1), X, "is 0 everywhere"),
    "empty": (lambda x: x[:, 40:], X, "is empty in every run"),
    "unstable": (lambda x: torch.sin(x * 1e7), X, "the comparison says little"),
}


@pytest.mark.parametrize("name", WARNED)
def test_a_match_that_shows_little_says_so(name: str) -> None:
    function, x, text = WARNED[name]
    (match,) = verdict(truth_of(function, x))
    assert len(match.warnings) == 1 and text in match.warnings[0] and "output 0" in match.warnings[0]
    assert verdict(truth_of(torch.tanh, X))[0].warnings == ()


def test_quantized_outputs_are_the_reference_bit_by_bit() -> None:
    want = [torch.tensor([1.0, NAN, INF]), torch.tensor([4.0, 5.0, -INF])]
    assert same_numbers("y", [w.clone() for w in want], want).match
    for run, place, value in [(0, 0, NAN), (1, 0, NAN), (0, 1, 0.0), (1, 2, INF), (1, 2, 3e38), (1, 1, 5.0000005)]:
        got = [w.clone() for w in want]
        got[run][place] = value
        assert not same_numbers("y", got, want).match
        assert same_numbers("y", got, want, 1e-5).match == (value == 5.0000005)
    assert not same_numbers("y", [w[:2] for w in want], want).match
    assert not same_numbers("y", [w.double() for w in want], want).match


def test_integers_after_computed_floats_may_flip_seldom() -> None:
    want = [torch.randn(400, generator=torch.Generator().manual_seed(5)).mul(50).round()]
    for places, by, match in (((7,), 1.0, True), (range(8), 1.0, True), (range(9), 1.0, False), ((7,), 12.0, False),
                              ((7,), INF, False), ((7,), NAN, False)):
        got = [want[0].clone()]
        got[0][list(places)] += by
        assert nearly_same_numbers("y", got, want, 1e-5).match is match
        assert not same_numbers("y", got, want, 1e-5).match
    assert not nearly_same_numbers("i", [torch.tensor([3, 4])], [torch.tensor([3, 5])], 1e-5).match


class _FloatBetween(nn.Module):
    """A layer in integers, one that stays float, a layer in integers again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.kept, self.second = nn.Linear(3, 2), nn.GRU(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = self.first(x)
        z, _ = self.kept(y)
        return y, z, self.second(z)


def test_only_what_follows_floats_may_be_inexact() -> None:
    x = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(1))
    captured = pl.capture(_FloatBetween().eval(), (x,), "net")
    graph = pl.compile(pl.quantize(captured, calibration=[x], mode="int16x8")).lowered
    assert "gru" in [node.op for node in graph.nodes]
    kinds = arithmetic(graph)
    found = [kinds.get(port.value, Arithmetic.EXACT) for port in graph.outputs]
    assert found[0] is Arithmetic.EXACT
    assert {found[1], found[2]} <= {Arithmetic.FLOAT, Arithmetic.QUANTIZED_FLOAT}
    assert found[2] is Arithmetic.QUANTIZED_FLOAT


def test_identical() -> None:
    x = torch.tensor([1.0, NAN, INF])
    assert identical(x, x.clone())
    assert not identical(x, torch.tensor([1.0, 0.0, INF]))  # NaN is no zero
    assert not identical(x, torch.tensor([1.0, NAN, torch.finfo(torch.float32).max]))
    assert not identical(x, x[:2]) and not identical(x, x.double())


def test_a_file_has_the_exported_program_for_truth() -> None:
    graph: Graph = pl.capture(Sum(), (X,), "net")
    rows = [[X], *variations([X], 4)]
    program, module = Truth(ExportedReference(graph.torch_program, False), rows), Truth(graph.truth, rows)
    for left, right in zip(program.single, module.single, strict=True):
        assert all(map(identical, left, right))
