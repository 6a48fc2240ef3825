"""How good a model is on the board: classes against labels, and a quantized model against the float one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight.capture.reference import ExportedAnswers, functionalize, one_thread
from pilotlight.compiler import Build
from pilotlight.measure.compare import Truth

Runs = list[list[torch.Tensor]]
FLOOR_DB = -200.0  # noise without any signal


@dataclass(frozen=True)
class Accuracy:
    """Classes against labels: how many PyTorch and the board get right, and where the two differ.

    `pt2e` is PyTorch's own quantized model, None for a float one. Samples labelled -1 do not count.
    """

    samples: int
    pytorch: int
    board: int
    different: int
    pt2e: int | None = None

    @property
    def loss(self) -> float | None:
        """How much of PyTorch's accuracy the board loses, as a share of all samples."""
        return (self.pytorch - self.board) / self.samples if self.samples else None

    def as_dict(self) -> dict[str, Any]:
        """Counts, and the same as shares of the samples."""
        shares = {"float": self.pytorch, "pt2e": self.pt2e, "board": self.board}
        return {
            "samples": self.samples, "right": shares, "different": self.different,
            **{k: None if v is None or not self.samples else v / self.samples for k, v in shares.items()},
        }


def accuracy(build: Build, truth: Truth, outputs: Runs, inputs: Runs, labels: torch.Tensor) -> Accuracy:
    """The largest element of the first output is the class."""
    known = labels >= 0

    def classes(rows: Runs) -> torch.Tensor:
        return torch.stack([row[0].reshape(-1).argmax() for row in rows])

    def right(found: torch.Tensor) -> int:
        return int((found[known] == labels[known]).sum())

    board, pytorch = classes(outputs), classes(truth.single)
    quantization = build.graph.quantization
    pt2e = None
    if quantization is not None and not quantization.weights_only:
        reference = ExportedAnswers(functionalize(quantization.program))
        with one_thread():
            pt2e = right(classes([reference(*row) for row in inputs]))
    return Accuracy(int(known.sum()), right(pytorch), right(board), int((board != pytorch).sum()), pt2e)


def snr_db(truth: Truth, outputs: Runs) -> list[float | None]:
    """Per output: how far the quantized model is from the float one, as signal over noise; None if it is not a
    float, or if there is no noise at all. A run whose data gives another size
    counts as pure noise."""
    result: list[float | None] = []
    for k in range(len(truth.exact[0])):
        signal = noise = 0.0
        for row, board in zip(truth.exact, outputs, strict=True):
            exact, got = row[k].double(), board[k].double()
            known = exact.isfinite()
            signal += float((exact[known] ** 2).sum())
            noise += float(((got - exact if got.shape == exact.shape else exact)[known] ** 2).nan_to_num(np.inf).sum())
        counts = truth.exact[0][k].is_floating_point() and noise > 0
        result.append(max(10 * float(np.log10(signal / noise)), FLOOR_DB) if counts and signal else
                      FLOOR_DB if counts else None)
    return result


def agreement(truth: Truth, outputs: Runs) -> list[float | None]:
    """Per integer output of a quantized model: the share of elements that equal the float model's."""
    result: list[float | None] = []
    for k in range(len(truth.exact[0])):
        pairs = [(row[k], got[k]) for row, got in zip(truth.exact, outputs, strict=True)]
        if pairs[0][0].is_floating_point():
            result.append(None)
            continue
        same = sum(int((want == got).sum()) for want, got in pairs if want.shape == got.shape)
        count = sum(want.numel() for want, _ in pairs)
        result.append(same / count if count else None)
    return result
