"""Slices and permutes around attention and matrix products become strides of theirs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from pilotlight.capture import capture
from pilotlight.compiler import compile as compile_graph
from support.c_compilers import SANITIZERS


class Heads(nn.Module):
    """Attention by hand or whole, heads taken out of one linear layer."""

    def __init__(self, whole: bool):
        super().__init__()
        self.whole = whole
        self.inlet = nn.Linear(12, 36)
        self.outlet = nn.Linear(12, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, w = x.shape
        q, k, v = (y.view(n, t, 3, w // 3).transpose(1, 2) for y in self.inlet(x).chunk(3, -1))
        if self.whole:
            mixed = F.scaled_dot_product_attention(q, k, v)
        else:
            mixed = torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ v
        return self.outlet(mixed.transpose(1, 2).reshape(n, t, w))


def operators(module: nn.Module, x: torch.Tensor) -> list[str]:
    build = compile_graph(capture(module.eval(), (x,)), board="host")
    with torch.no_grad():
        torch.testing.assert_close(build.run(x, on="host", sanitize=SANITIZERS), module(x), rtol=0, atol=2e-6)
    return [node.op for node in build.plan.steps]


def test_attention_reads_heads_where_they_lie() -> None:
    assert operators(Heads(True), torch.randn(2, 5, 12)) == ["linear", "attention", "linear"]


def test_matrix_products_read_heads_where_they_lie() -> None:
    steps = operators(Heads(False), torch.randn(2, 5, 12))
    assert [op for op in steps if op in ("permute", "slice", "copy")] == []
    assert steps.count("matmul") == 2


def test_a_small_part_of_a_large_tensor_is_copied() -> None:
    class Part(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(x)
            return y[:, :, ::16] @ y[:, :, ::16].transpose(1, 2)

    assert "slice" in operators(Part(), torch.randn(2, 3, 64))
