"""A slice of the conformance run: the first samples of every covered operator in two types, and some on boards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from conformance import results
from conformance.batch import BOARDS
from conformance.cases import Case
from conformance.judge import Truth
from conformance.layouts import LAYOUTS, LaidOut, laid_out
from conformance.opinfo import OpInfoSource
from conformance.program import Program
from conformance.run import judge_operators
from support.paths import ROOT

PARTS = 12
REPORT = ROOT / "docs" / "operators.md"


def covered() -> list[str]:
    """The operators that the last full run counted."""
    table = REPORT.read_text().partition("## Samples that do not count")[0]
    return re.findall(r"^\| (\S+) \| ", table, re.MULTILINE)[1:]


@pytest.mark.parametrize("part", range(PARTS))
def test_first_sample_of_every_covered_operator(part: int, tmp_path: Path) -> None:
    source = OpInfoSource(("float32", "int64" if part % 2 else "bool"), limit=1)
    names = [name for name in source.operators() if name in set(covered())]
    operators = judge_operators(source, names[part::PARTS], tmp_path, BOARDS)
    wrong = [f"{o.name} {dtype} #{index}: {reason}" for o in operators
             for dtype, index, outcome, reason in o.problems() if outcome == "wrong"]
    assert not wrong, "\n".join(wrong)
    total = results.totals(operators)
    assert total["pass"] >= 0.95 * sum(total[k] for k in results.COUNTED), results.by_reason(operators, "refused")


def test_samples_of_complex_tensors(tmp_path: Path) -> None:
    names = ["fft.hfft2", "fft.irfftn", "stft", "mul", "div.no_rounding_mode", "matmul", "index_put", "real", "tanh"]
    operators = judge_operators(OpInfoSource(("complex64",), limit=1), names, tmp_path)
    found = [(o.name, outcome) for o in operators for _, _, outcome, _ in o.problems()]
    assert found == [("tanh", "refused")] and results.totals(operators)["pass"] == len(names) - 1


@pytest.mark.parametrize("part", range(2))
def test_samples_with_tensors_that_are_views(part: int, tmp_path: Path) -> None:
    """Transposed, expanded, stepped, with offsets, with odd strides of size-1 dimensions."""
    source = LaidOut(OpInfoSource(("float32",), limit=2), "mixed")
    known = set(source.operators())
    names = [name for name in covered() if name in known][1::5]
    operators = judge_operators(source, names[part::2], tmp_path)
    assert [p for o in operators for p in o.problems() if p[2] == "wrong"] == []
    assert results.totals(operators)["pass"] >= 60


def test_a_layout_keeps_shape_and_changes_memory() -> None:
    x = torch.arange(12.0).view(3, 1, 4)
    for layout in LAYOUTS:
        laid = laid_out(case(lambda t: [t, torch.tensor(t.stride()), torch.tensor(t.storage_offset())], x), layout)
        assert laid is not None
        values, stride, offset = laid.call(laid.leaves())
        assert values.shape == x.shape and (layout == "expanded" or torch.equal(values, x))
        assert tuple(stride.tolist()) != x.stride() or int(offset)
    assert laid_out(case(torch.neg, torch.tensor(2.0)), "transposed") is None


def case(function: object, *args: object, operator: str = "test") -> Case:
    return Case(operator, "float32", 0, function, args, {})  # type: ignore[arg-type]


def test_the_judge_sees_small_differences() -> None:
    x = torch.tensor([1.0, 2.0, -3.0])
    truth = Truth(case(torch.exp, x))
    right = x.exp()
    assert truth.differs([right]) is None
    assert truth.differs([torch.nextafter(right, right + 1)]) is None
    assert "1 of 3 elements differ, the first at [2]" in str(truth.differs([right * torch.tensor([1, 1, 1 + 3e-5])]))
    assert truth.differs([right.double()]) is not None
    assert truth.differs([right[:2]]) is not None


def test_the_judge_wants_nan_and_infinity_in_place() -> None:
    truth = Truth(case(torch.log, torch.tensor([-1.0, 0.0, 2.0])))
    right = torch.tensor([-1.0, 0.0, 2.0]).log()
    assert truth.differs([right]) is None
    for k, value in ((0, 0.0), (1, torch.nan), (1, torch.inf), (2, torch.nan)):
        other = right.clone()
        other[k] = value
        assert truth.differs([other]) is not None


def test_the_judge_forgives_rounding_of_the_terms_but_no_jump() -> None:
    terms = torch.tensor([1000.0, -999.9375, 0.0009765625])
    truth = Truth(case(torch.sum, terms))
    assert truth.differs([torch.tensor(0.0634765625 + 2e-5)]) is None
    assert truth.differs([torch.tensor(0.0634765625 + 5e-2)]) is not None
    assert Truth(case(torch.floor, torch.tensor([3.0]))).differs([torch.tensor([2.0])]) is not None


def test_the_judge_takes_any_of_equal_elements_once() -> None:
    x = torch.tensor([2.0, 1.0, 2.0, 1.0])
    truth = Truth(case(torch.argsort, x, operator="argsort"))
    assert truth.differs([torch.tensor([3, 1, 2, 0])]) is None
    assert truth.differs([torch.tensor([1, 1, 2, 0])]) is not None
    assert truth.differs([torch.tensor([0, 1, 2, 3])]) is not None
    assert Truth(case(torch.argmax, x)).differs([torch.tensor(2)]) is not None
    turned = laid_out(case(torch.argsort, torch.tensor([[2, 1, 2], [0, 5, 0]]), operator="argsort"), "transposed")
    assert turned is not None
    assert Truth(turned).differs([torch.tensor([[1, 2, 0], [2, 0, 1]])]) is None
    assert Truth(turned).differs([torch.tensor([[1, 2, 0], [1, 0, 2]])]) is not None


def test_the_judge_takes_the_contiguous_answer_where_pytorch_contradicts_itself() -> None:
    """Offsets 0, 0, 0 are two empty bags; PyTorch takes expanded ones for others."""
    weight, offsets = torch.arange(1.0, 6.0)[:, None].repeat(1, 2), torch.tensor([0, 2, 4])
    bags = case(lambda i, w, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True), torch.arange(4), weight,
                offsets)
    laid = laid_out(bags, "expanded")
    assert laid is not None
    truth = Truth(laid)
    assert truth.single[0].any(), "PyTorch has mended this: another example is needed"
    assert truth.differs([torch.zeros(2, 2)]) is None and truth.differs([torch.ones(2, 2)]) is not None
    assert Truth(bags).differs([torch.zeros(2, 2)]) is not None


def test_what_does_not_count_is_recognised_by_the_graph() -> None:
    x = torch.ones(3)
    cases = [case(lambda x: torch.rand_like(x) + x, x), case(torch.empty_like, x), case(torch.neg, x),
             case(lambda x: x.double().sin(), x), case(lambda x: torch.empty_like(x).fill_(2.0), x),
             case(torch.linalg.qr, torch.eye(2))]
    program = Program(cases, [1, 1, 1, 1, 1, 2])
    assert program.capture() is not None
    assert {number: outcome for number, (outcome, _) in program.apart.items()} == {
        0: "random", 1: "uninitialised", 3: "outside", 5: "outside"
    }
