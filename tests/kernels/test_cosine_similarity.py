"""Cosine similarity against eager PyTorch: shapes that broadcast, layouts, and a quantized model of embeddings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import pilotlight as pl
from pilotlight.graph.evaluate import evaluate
from support.c_compilers import SANITIZERS
from support.modules import Forward
from support.q_checks import snr

G = torch.Generator().manual_seed(0)


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=G)


CASES: dict[str, tuple[torch.Tensor, torch.Tensor, dict[str, Any]]] = {
    "rows": (rand(3, 20), rand(3, 20), {}),
    "columns": (rand(7, 4, 5), rand(7, 4, 5), {"dim": 0}),
    "one against many": (rand(1, 20), rand(6, 20), {}),
    "many against one": (rand(6, 4, 9), rand(9), {"dim": -1}),
    "the axis repeats": (rand(3, 1, 4), rand(3, 8, 4), {}),
    "both broadcast": (rand(3, 1, 6), rand(1, 4, 6), {"dim": 2}),
    "one number": (rand(5, 1), rand(5, 1), {}),
    "transposed": (rand(20, 3).T, rand(3, 40)[:, ::2], {}),
    "zeros": (torch.zeros(2, 8), rand(2, 8), {}),
    "large eps": (rand(4, 8), rand(4, 8), {"eps": 100.0}),
    "large numbers": (rand(4, 8) * 1e18, rand(4, 8) * 1e-18, {}),
    "nothing": (torch.zeros(3, 0), torch.zeros(3, 0), {}),
    "vectors": (rand(9), rand(9), {"dim": 0}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_float_is_eager(case: tuple[torch.Tensor, torch.Tensor, dict[str, Any]]) -> None:
    x, z, options = case
    want = F.cosine_similarity(x.double(), z.double(), **options)
    graph = pl.capture(Forward(lambda a, b: F.cosine_similarity(a, b, **options)), (x, z), "net")
    with pl.compile(graph).open("host", sanitize=SANITIZERS) as running:
        torch.testing.assert_close(running.flat([x, z])[0].double(), want, rtol=0, atol=2e-6)


class Embeddings(torch.nn.Module):
    """How much an input is like each of a few that are known."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 24))
        self.register_buffer("known", rand(5, 24))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.cosine_similarity(self.layers(x)[:, None], self.known[None], dim=-1)


def test_quantized_model_is_near_float_and_the_same_on_a_board() -> None:
    torch.manual_seed(0)
    net, samples = Embeddings().eval(), [rand(1, 16) for _ in range(32)]
    quantized = pl.quantize(pl.capture(net, (samples[0],), "net"), samples)
    build = pl.compile(quantized, float_io=True)
    assert not build.lowered.fallbacks and "qcosine_similarity" in [node.op for node in build.lowered.nodes]
    wanted = [evaluate(build.lowered, [x])[0] for x in samples]
    assert snr(torch.cat(wanted), torch.cat([net(x) for x in samples]).detach()) > 30
    for board in ("host", "mps2-an386"):
        with pl.compile(quantized, board=board, float_io=True).open(board) as running:
            assert all(torch.equal(running.flat([x])[0], want) for x, want in zip(samples[:4], wanted, strict=False))
