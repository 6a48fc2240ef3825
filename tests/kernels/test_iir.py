"""Recursive filters as one loop with state: `pilotlight::lfilter` against its eager form, call after call."""

from __future__ import annotations

import torch
from torch import nn

from pilotlight.capture import capture
from pilotlight.compiler import compile as compile_graph
from pilotlight.nn.lfilter import lfilter
from support.c_compilers import SANITIZERS


class Sections(nn.Module):
    """Two sections on rows of signals; the state goes on, or is the caller's."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.tensor([[0.1, 0.2, 0.1], [0.3, -0.1, 0.05]]))
        self.register_buffer("a", torch.tensor([[1.0, -0.5, 0.2], [1.0, 0.3, -0.1]]))
        self.register_buffer("z", torch.full((2, 3, 2, 2), 0.5))

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, after = lfilter(x, self.b, self.a, self.z)
        self.z.copy_(after)
        return y, *lfilter(x, self.b[1:], self.a[1:], z)


def test_filters_keep_their_state() -> None:
    torch.manual_seed(2)
    rows = [(torch.randn(2, 3, 20), torch.randn(2, 3, 1, 2)) for _ in range(3)]
    graph = capture(Sections(), rows[0])
    build = compile_graph(graph, board="host")
    assert [n.op for n in build.lowered.nodes].count("iir") == 2
    truth = Sections()
    with build.open("host", sanitize=SANITIZERS) as running, torch.no_grad():
        for row in rows:
            for got, want in zip(running(*row), truth(*row), strict=True):
                torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
