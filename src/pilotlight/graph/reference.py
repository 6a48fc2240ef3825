"""The truth of a graph: what the user's own model gives, whatever framework it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import torch


class Answers(Protocol):
    """A model that is called again and again; what it keeps between calls lasts until `reset`."""

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        """The tensors among the flat outputs, for flat or nested inputs."""

    def reset(self) -> None: ...


class Reference(Protocol):
    """These inputs give these outputs. A front end implements it for the models that it reads."""

    @property
    def name(self) -> str:
        """What computes it, as reports say it: "PyTorch"."""

    @property
    def example(self) -> list[torch.Tensor]:
        """The flat tensors of an example input, in the order of the graph's inputs."""

    @property
    def keywords(self) -> Sequence[str]:
        """The inputs that are given by keyword: the last ones."""

    @property
    def stateful(self) -> bool:
        """Whether a call changes the results of later ones."""

    def in_float32(self) -> Answers:
        """The model in its own types, as at its first call."""

    def in_float64(self) -> Iterator[Answers]:
        """Ways to compute it in float64, the best first; there may be none, and one may fail when it is called."""


class LayeredAnswers(Answers, Protocol):
    """A model that keeps what it computed on its way, where PyTorch does not compute it."""

    def layers(self) -> list[tuple[str, torch.Tensor]]:
        """The results of the last call in their order, each with the operator that computed it."""


@runtime_checkable
class LayeredReference(Reference, Protocol):
    """The truth of a model whose layers PyTorch cannot watch."""

    def in_layers(self) -> LayeredAnswers:
        """As `in_float32`."""


@runtime_checkable
class CoarseReference(Reference, Protocol):
    """The truth of a model whose integers it rounds by other rules."""

    @property
    def limits(self) -> Sequence[float]:
        """How far each output may be off; 0 where it may not."""
