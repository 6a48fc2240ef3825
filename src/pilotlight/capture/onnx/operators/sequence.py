"""Sequences of tensors and optional values inside a model: Python lists, of a length that is known."""

from __future__ import annotations

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

operator("SequenceEmpty")(lambda *, dtype=1: [])
operator("SequenceAt", fixed=("position",))(lambda sequence, position: sequence[position])
operator("SequenceLength")(lambda sequence: torch.tensor(len(sequence)))
operator("OptionalGetElement")(lambda x: x)
operator("OptionalHasElement")(lambda x=None: torch.tensor(x is not None))


@operator("SequenceConstruct")
def construct(*xs: Tensor) -> list[Tensor]:
    return list(xs)


@operator("SequenceInsert", fixed=("position",))
def insert(sequence: list[Tensor], x: Tensor, position: int | None = None) -> list[Tensor]:
    at = len(sequence) if position is None else position
    return [*sequence[:at], x, *sequence[at:]]


@operator("SequenceErase", fixed=("position",))
def erase(sequence: list[Tensor], position: int = -1) -> list[Tensor]:
    position %= len(sequence)
    return [x for k, x in enumerate(sequence) if k != position]


@operator("ConcatFromSequence")
def concat(sequence: list[Tensor], *, axis: int, new_axis: int = 0) -> Tensor:
    return torch.stack(sequence, axis) if new_axis else torch.cat(sequence, axis)


@operator("SplitToSequence", fixed=("split",))
def split(x: Tensor, split: int | list[int] | None = None, *, axis: int = 0, keepdims: int = 1) -> list[Tensor]:
    parts = list(torch.split(x, 1 if split is None else split, axis))
    return parts if keepdims or split is not None else [part.squeeze(axis) for part in parts]
