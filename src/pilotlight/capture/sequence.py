"""Entry points of one module, called one after another: they see what the others changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram

from pilotlight.capture.eager import Eager, EagerAnswers
from pilotlight.capture.reference import PYTORCH, ExportedAnswers, functionalize
from pilotlight.graph import Answers, Reference

Joined = Mapping[str, EagerAnswers] | Mapping[str, ExportedAnswers]


class SequenceAnswers:
    """Call k is of the entry point `order[k]`."""

    def __init__(self, order: Sequence[str], entries: Joined):
        self._order, self._entries = order, entries
        self.reset()

    def reset(self) -> None:
        self._calls = 0
        first, *others = self._entries.values()
        first.reset()
        for other in others:
            other.join(first)  # type: ignore[arg-type]  # they are of one kind

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        self._calls += 1
        return self._entries[self._order[self._calls - 1]](*inputs)


@dataclass(frozen=True)
class SequenceReference:
    """The truth of such a sequence; `eager` and `exported` begin anew."""

    example: list[torch.Tensor]
    eager: Callable[[torch.dtype], Answers]
    exported: Callable[[torch.dtype], Answers]
    stateful: bool
    keywords: Sequence[str] = ()
    name = PYTORCH

    def in_float32(self) -> Answers:
        return self.eager(torch.float32)

    def in_float64(self) -> Iterator[Answers]:
        yield self.eager(torch.float64)
        yield self.exported(torch.float64)


class EntriesReference:
    """The truth of a program: methods of one module, run eagerly."""

    def __init__(self, eagers: Mapping[str, Eager], programs: Mapping[str, ExportedProgram], stateful: bool):
        self._eagers, self._programs, self._stateful = eagers, programs, stateful

    def along(self, order: Sequence[str]) -> Reference:
        def eager(dtype: torch.dtype) -> Answers:
            return SequenceAnswers(order, {name: e.start(dtype) for name, e in self._eagers.items()})

        def exported(dtype: torch.dtype) -> Answers:
            functional = {name: functionalize(p) for name, p in self._programs.items()}
            return SequenceAnswers(order, {name: ExportedAnswers(p, dtype) for name, p in functional.items()})

        return SequenceReference(self._eagers[order[0]].example, eager, exported, self._stateful)
