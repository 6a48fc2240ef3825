"""`--quantize auto`: int8 with as few 16-bit results as keep the loss within the limit.

Results are ranked by the noise that each alone adds to the outputs. Bisection finds the shortest prefix of that list
that, in int16, keeps the loss within the limit; if the whole list is not enough, dense layers are kept float in the
same way. Then each choice is taken back, the least important first, if the loss stays within the limit without it.

The loss is the share of labelled samples that PyTorch gets right and the integers get wrong, minus those the other way
round. Without labels it is the largest, over the outputs, root mean square error as a share of the output's own root
mean square. Both are computed with the integer reference, whose bytes are the board's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from pilotlight.capture.reference import ExportedAnswers, functionalize, one_thread
from pilotlight.errors import LossError
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.passes.pipeline import optimize
from pilotlight.quantize.choice import AutoQuantization, NamedLayer, among
from pilotlight.quantize.flat import flat_module
from pilotlight.quantize.sensitivity import candidates, rank_results, rank_weights

UNLABELLED = 32  # samples that are compared where there are no labels


@dataclass
class _WidthSearch:
    """The loss of every choice that was tried."""

    graph: Graph
    samples: list[list[torch.Tensor]]
    labels: torch.Tensor | None
    observer: str
    max_loss: float
    progress: Callable[[int, int], None] | None
    expected: int = 0  # about how many choices will be tried
    tried: dict[tuple[frozenset[str], frozenset[str]], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = None if self.labels is None else self.labels >= 0
        self.judged, self.classes = self.samples[:UNLABELLED], None
        if self.labels is not None and known is not None and bool(known.any()):
            kept = known.nonzero().flatten().tolist()
            self.judged, self.classes = [self.samples[k] for k in kept], self.labels[known]
        self.functional = functionalize(self.graph.torch_program)
        reference = ExportedAnswers(self.functional)
        with one_thread():
            self.real = [reference(*row) for row in self.judged]

    @property
    def rule(self) -> str:
        count = len(self.judged)
        if self.classes is not None:
            return f"accuracy on {count} labelled samples"
        return f"root mean square error over that of the output, {count} samples without labels"

    def quantized(self, wide: Sequence[NamedLayer], kept: Sequence[NamedLayer]) -> Graph:
        from pilotlight.quantize import quantize_pt2e

        names = [{layer.node for layer in layers} for layers in (wide, kept)]
        chosen = among(names[0]), among(names[1])
        return quantize_pt2e(self.graph, self.functional, self.samples, "auto", self.observer, *chosen)

    def loss(self, wide: Sequence[NamedLayer], kept: Sequence[NamedLayer] = ()) -> float:
        key = frozenset(layer.node for layer in wide), frozenset(layer.node for layer in kept)
        if key not in self.tried:
            lowered = optimize(self.quantized(wide, kept))
            with torch.no_grad(), one_thread():
                got = evaluate_runs(lowered, self.judged)
            self.tried[key] = self._accuracy_loss(got) if self.classes is not None else self._size_loss(got)
            if self.progress is not None:
                self.progress(len(self.tried), max(self.expected, len(self.tried) + 1))
        return self.tried[key]

    def holds(self, wide: Sequence[NamedLayer], kept: Sequence[NamedLayer] = ()) -> bool:
        return self.loss(wide, kept) <= self.max_loss

    def _accuracy_loss(self, got: list[list[torch.Tensor]]) -> float:
        assert self.classes is not None
        right = [
            sum(int(row[0].reshape(-1).argmax()) == int(c) for row, c in zip(rows, self.classes, strict=True))
            for rows in (self.real, got)
        ]
        return (right[0] - right[1]) / len(self.judged)

    def _size_loss(self, got: list[list[torch.Tensor]]) -> float:
        worst = 0.0
        for k, first in enumerate(self.real[0]):
            if first.is_floating_point():
                exact, mine = (torch.cat([r[k].double().reshape(-1) for r in rows]) for rows in (self.real, got))
                size = float((exact**2).sum())
                worst = max(worst, float(((exact - mine) ** 2).sum() / size) ** 0.5 if size else 0.0)
        return worst


def search(
    graph: Graph, samples: list[list[torch.Tensor]], labels: torch.Tensor | None, max_loss: float, observer: str,
    progress: Callable[[int, int], None] | None = None,
) -> Graph:
    """The quantized graph with the fewest 16-bit results that stays within the loss; LossError if none does."""
    s = _WidthSearch(graph, samples, labels, observer, max_loss, progress)
    s.expected = 4 + 2 * len(candidates(flat_module(s.functional))).bit_length()
    wide: list[NamedLayer] = []
    kept: list[NamedLayer] = []
    if not s.holds([]):
        results = rank_results(s.functional, samples)
        if s.holds(results):
            wide = results[: _shortest(len(results), lambda n: s.holds(results[:n]))]
        else:
            dense = rank_weights(s.functional, samples)
            if not s.holds(results, dense):
                raise _impossible(s, results, dense)
            wide, kept = results, dense[: _shortest(len(dense), lambda n: s.holds(results, dense[:n]))]
        s.expected = len(s.tried) + len(kept) + len(wide)
        for layer in reversed(kept):
            fewer = [k for k in kept if k is not layer]
            kept = fewer if s.holds(wide, fewer) else kept
        for layer in reversed(wide):
            fewer = [w for w in wide if w is not layer]
            wide = fewer if s.holds(fewer, kept) else wide
    quantized = s.quantized(wide, kept)
    assert quantized.quantization is not None
    quantized.quantization = AutoQuantization(
        "auto", quantized.quantization.program, wide=wide, kept_float=kept, rule=s.rule, max_loss=max_loss,
        loss=s.loss(wide, kept), int8_loss=s.loss([]), int8=s.quantized([], []) if wide or kept else None,
    )
    return quantized


def _shortest(count: int, holds: Callable[[int], bool]) -> int:
    """The least n up to `count` with holds(n), of which holds(count) is known."""
    low, high = 0, count
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _impossible(s: _WidthSearch, results: list[NamedLayer], dense: list[NamedLayer]) -> LossError:
    return LossError(
        f"no choice of 16-bit layers stays within --max-loss {s.max_loss:.2%}: the loss is {s.loss([]):.2%} in int8, "
        f"{s.loss(results):.2%} in int16x8, {s.loss(results, dense):.2%} with dense layers in float ({s.rule})",
        hint="allow more loss, or calibrate with more samples or another --observer",
        kind="loss",
    )
