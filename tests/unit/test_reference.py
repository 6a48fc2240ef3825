"""A front end brings its own truth: a graph built by hand, compared with numpy, through compile, run and inspect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.figures.inspection import inspect_build
from pilotlight.graph import FLOAT32, Answers, Graph, Node, Port, State, verify
from pilotlight.measure.compare import Truth
from pilotlight.session import run_session

TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)


class Numpy:
    """y = x * TABLE + total, where `total` has been raised by 1 at each call."""

    def __init__(self, dtype: Any, step: float):
        self.dtype, self.step = dtype, step
        self.reset()

    def reset(self) -> None:
        self.total = self.dtype(0)

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        (x,) = inputs
        self.total = self.total + self.dtype(self.step)
        return [torch.from_numpy(x.numpy().astype(self.dtype) * TABLE.astype(self.dtype) + self.total)]


class NumpyReference:
    keywords: Sequence[str] = ("x",)
    stateful = True
    name = "numpy"

    def __init__(self, step: float = 1.0, wide: bool = True):
        self.step, self.wide = step, wide

    @property
    def example(self) -> list[torch.Tensor]:
        return [torch.linspace(-1, 1, 6).reshape(2, 3)]

    def in_float32(self) -> Answers:
        return Numpy(np.float32, self.step)

    def in_float64(self) -> Iterator[Answers]:
        if self.wide:
            yield Numpy(np.float64, self.step)


def by_hand(reference: NumpyReference | None) -> Graph:
    graph = Graph("net", reference=reference)
    x, product, y = (graph.fresh(name, FLOAT32, (2, 3)) for name in ("x", "product", "y"))
    total, more = (graph.fresh(name, FLOAT32, (1,)) for name in ("total", "more"))
    table, one = graph.constant(TABLE), graph.constant(np.ones(1, np.float32))
    graph.inputs = [Port("x", x, (2, 3))]
    graph.states = [State("total", total, more, np.zeros(1, np.float32))]
    graph.nodes = [Node("add", [total, one], [more]), Node("mul", [x, table], [product]),
                   Node("add", [product, more], [y])]
    graph.outputs = [Port("0", y, (2, 3))]
    verify(graph)
    return graph


@pytest.mark.parametrize("wide", [True, False])
def test_any_front_end_can_say_what_is_right(wide: bool) -> None:
    build = pl.compile(by_hand(NumpyReference(wide=wide)))
    session = run_session(build)
    assert session.match and len(session.outputs) == 8 and session.repeated
    assert not run_session(pl.compile(by_hand(NumpyReference(step=1.001)))).match
    assert inspect_build(build, build.info)["parameters"] == TABLE.size + 1
    with build.open() as running:
        x = torch.ones(2, 3)
        assert torch.equal(running(x=x), torch.from_numpy(TABLE + 1))


def test_float64_that_fails_is_passed_over() -> None:
    class Fails:
        def reset(self) -> None: ...

        def __call__(self, *inputs: Any) -> list[torch.Tensor]:
            raise RuntimeError("no float64")

    class Halting(NumpyReference):
        def in_float64(self) -> Iterator[Answers]:
            yield Fails()
            yield Numpy(np.float64, self.step)

    truth = Truth(Halting(), [NumpyReference().example] * 2)
    assert all(row[0].dtype == torch.float64 for row in truth.exact)


def test_what_needs_a_reference_or_pytorch_says_so() -> None:
    alone = pl.compile(by_hand(None))
    assert torch.equal(alone.run(torch.ones(2, 3)), torch.from_numpy(TABLE + 1))
    with pytest.raises(pl.PilotlightError, match="the graph net has no reference"):
        run_session(alone)
    with pytest.raises(pl.PilotlightError, match="net does not come from PyTorch, so it cannot be quantized"):
        pl.quantize(by_hand(NumpyReference()), calibration=[torch.ones(2, 3)])
