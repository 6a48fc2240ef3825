"""torch.cond, while_loop and scan: subgraphs that run as the data says, in memory that is planned."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.scan import scan

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate
from support.c_compilers import SANITIZERS, STRICT, compile_c
from support.compiled import assert_matches, check, rows_of


class Branch(nn.Module):
    """Two ways of different depth, with weights, a convolution and two results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.point = nn.Conv2d(3, 6, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def dense(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.conv(x).relu(), x.amax((2, 3))

        def sparse(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.tanh(self.point(x)), x.mean((2, 3)) * 2

        y, z = torch.cond(x.mean() > 0, dense, sparse, (x,))
        return y + 1, z


class Newton(nn.Module):
    """Square roots until every one is good: the number of turns depends on the data."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def test(turn: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return ((y * y - x).abs().max() > 1e-2) & (turn < 50)

        def body(turn: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return turn + 1, 0.5 * (y + x / y)

        return while_loop(test, body, (torch.zeros((), dtype=torch.int64), torch.ones_like(x)))


class Fibonacci(nn.Module):
    """What one turn writes is what the next reads in the other place."""

    def forward(self, n: torch.Tensor) -> torch.Tensor:
        def body(k: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return k + 1, b.clone(), a + b

        start = [torch.tensor(v) for v in (0, 0, 1)]
        return while_loop(lambda k, a, b: k < n, body, tuple(start))[1]


class Cell(nn.Module):
    """A recurrent cell of the user's own over the steps of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(5, 7)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def step(h: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = self.cell(x, h)
            return h, h.softmax(-1)

        return scan(step, torch.zeros(x.shape[1], 7), x, dim=0)


class Nested(nn.Module):
    """A branch inside a loop."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        def body(k: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return k + 1, torch.cond(k % 2 == 0, lambda y: torch.sin(y) + y, lambda y: y * 0.5, (y,))

        return while_loop(lambda k, y: k < n, body, (torch.zeros((), dtype=torch.int64), x))[1]


class Remembers(nn.Module):
    """A state that only one of the branches changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("best", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.cond(x.sum() > self.best.sum(), lambda x, b: x + 0.0, lambda x, b: b * 0.75, (x, self.best))
        self.best.copy_(kept)
        return kept * 2


IMAGE = torch.rand(1, 3, 9, 7)
CASES = {
    "then": (Branch, (IMAGE,)),
    "otherwise": (Branch, (IMAGE - 2.0,)),
    "newton": (Newton, (torch.tensor([4.0, 9.0, 1e-3, 250.0]),)),
    "no turn": (Newton, (torch.ones(3),)),
    "fibonacci": (Fibonacci, (torch.tensor(30),)),
    "scan": (Cell, (torch.randn(6, 2, 5),)),
    "nested": (Nested, (torch.randn(5, 3), torch.tensor(7))),
}


@pytest.mark.parametrize("case", CASES)
def test_gives_what_pytorch_gives(case: str) -> None:
    torch.manual_seed(3)
    make, inputs = CASES[case]
    check(make().eval(), inputs)


@pytest.mark.parametrize("board", ["mps2-an386", "riscv32-virt"])
@pytest.mark.parametrize("case", ["then", "newton", "scan"])
def test_on_boards(case: str, board: str) -> None:
    torch.manual_seed(4)
    make, inputs = CASES[case]
    graph = pl.capture(make().eval(), inputs, "net")
    rows = rows_of(graph, 2)
    with pl.compile(graph, board=board).open() as running:
        assert_matches(graph, rows, [running.flat(row) for row in rows])


def test_a_state_after_a_branch_is_carried_along() -> None:
    graph = pl.capture(Remembers().eval(), (torch.zeros(4),), "net")
    rows = [[torch.full((4,), v)] for v in (1.0, -1.0, 0.5, 3.0, -9.0)]
    with pl.compile(graph).open("host", sanitize=SANITIZERS) as running:
        running.reset()
        outputs = [running.flat(row) for row in rows]
    assert [y[0][0].item() for y in outputs] == [2.0, 1.5, 1.125, 6.0, 4.5]


def test_only_the_chosen_branch_runs() -> None:
    """By the instructions that the board counts: the branch with the hyperbolic tangent takes far more."""

    class Lopsided(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x[0] > 0, lambda x: torch.tanh(torch.tanh(x)), lambda x: x * 2, (x,))

    graph = pl.capture(Lopsided().eval(), (torch.ones(200),), "net")
    with pl.compile(graph, board="mps2-an386").open() as running:
        for x in (torch.ones(200), -torch.ones(200)):
            running.flat([x])
        dev = running.device
    assert dev.counts is not None
    first, second = dev.counts.totals
    assert first > 5 * second


def test_subgraphs_need_the_memory_of_the_larger_one() -> None:
    """Branches share their scratch memory, and a branch reads its operands where they are."""
    graph = pl.capture(Branch().eval(), (IMAGE,), "net")
    build = pl.compile(graph)
    ((node,),) = ([n for n in build.plan.steps if n.op == "cond"],)
    sizes = [plan.size for plan in node.attrs["plans"].values()]
    (scratch,) = [b.size for b in build.plan.buffers if b.name == build.plan.scratch_name(node)]
    assert scratch == max(sizes)
    assert build.plan.arena.size < sum(sizes) + sum(v.bytes for v in (*node.inputs, *node.outputs))


def test_the_text_form_shows_subgraphs_and_the_digest_sees_them() -> None:
    torch.manual_seed(6)
    net = Branch().eval()
    graph = pl.capture(net, (IMAGE,), "net")
    assert "then=@then otherwise=@otherwise" in str(graph)
    assert "graph otherwise {" in str(graph)
    with torch.no_grad():
        net.point.weight.add_(1.0)
    assert pl.capture(net, (IMAGE,), "net").sha256 != graph.sha256


def test_the_reference_follows_the_data() -> None:
    torch.manual_seed(7)
    net = Newton().eval()
    graph = pl.capture(net, (torch.rand(4),), "net")
    for x in (torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([100.0, 0.01, 7.0, 1.0])):
        for ours, theirs in zip(evaluate(graph, [x]), net(x), strict=True):
            torch.testing.assert_close(ours, theirs)


def test_an_operator_inside_a_branch_is_refused_by_name() -> None:
    class Refused(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: torch.linalg.det(x) * x, lambda x: x * 2, (x,))

    with pytest.raises(PilotlightError, match="linalg_det"):
        pl.capture(Refused().eval(), (torch.rand(3, 3),), "net")


@pytest.mark.parametrize("compiler", [["gcc"], ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mthumb"]])
def test_the_generated_source_is_clean(compiler: list[str], tmp_path: Path) -> None:
    torch.manual_seed(8)
    for case in ("then", "scan", "nested"):
        make, inputs = CASES[case]
        folder = pl.compile(pl.capture(make().eval(), inputs, f"net_{case}")).write(tmp_path / case)
        compile_c([*compiler, *STRICT, "-O2", "-c", f"net_{case}.c", "-o", "net.o"], folder)
