"""Every tensor that a model computes on its way, as PyTorch has it: what single layers are compared with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from pilotlight.capture.eager import CONTROL
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, Reference

_COPIES = {"aten::clone", "aten::_to_copy", "aten::_unsafe_view", "aten::contiguous"}


class _Recorder(TorchDispatchMode):
    """Keeps a copy of every result that is computed or cut out of another one."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []
        self.results: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):  # its subgraphs are Python functions here
            return func.py_kernels[CONTROL](*map(self._inside, args), **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        for leaf in () if self._only_moves(func, args, result) else pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.operators.append(func._schema.name)
                self.results.append(leaf.detach().clone())
        return result

    def _only_moves(self, func: Any, args: Any, result: Any) -> bool:
        """Whether the result has the same numbers as the first argument, or none yet. Float32 and float64 copy at
        different places."""
        if func._schema.name == "aten::empty":
            return True
        if not args or not isinstance(args[0], torch.Tensor) or not isinstance(result, torch.Tensor):
            return False
        same = result.numel() == args[0].numel() and result.is_floating_point() == args[0].is_floating_point()
        return same and (func.is_view or func._schema.name in _COPIES)

    def _inside(self, item: Any) -> Any:
        def run(*args: Any) -> Any:
            with self:
                return item(*args)

        return run if callable(item) else item


@dataclass(frozen=True)
class Recording:
    """One run after another: all results in the order in which they were computed, and what computed them."""

    operators: list[str]
    runs: list[list[torch.Tensor]]


def record(reference: Reference, inputs: Sequence[Sequence[torch.Tensor]]) -> Recording:
    """What the model computes in its own types."""
    answers, runs, operators = reference.in_float32(), [], []
    for row in inputs:
        with _layers_apart(), _Recorder() as recorder:
            answers(*row)
        runs.append(recorder.results)
        operators = recorder.operators
    return Recording(operators, runs)


@contextlib.contextmanager
def _layers_apart() -> Iterator[None]:
    """PyTorch has an operator for a whole layer of a transformer, which would show nothing of what is inside."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class RecordedReference:
    """A reference whose outputs are some of the results on the way, by their places in a recording."""

    def __init__(self, reference: Reference, recording: Recording, places: Sequence[int]):
        self._reference, self._recording, self._places = reference, recording, places
        self.example, self.keywords, self.stateful = reference.example, reference.keywords, reference.stateful

    def in_float32(self) -> Answers:
        return _RecordedAnswers(self._reference.in_float32(), self._recording, self._places)

    def in_float64(self) -> Iterator[Answers]:
        for answers in self._reference.in_float64():
            yield _RecordedAnswers(answers, self._recording, self._places)


class _RecordedAnswers:
    def __init__(self, answers: Answers, recording: Recording, places: Sequence[int]):
        self._answers, self._recording, self._places = answers, recording, places

    def reset(self) -> None:
        self._answers.reset()

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        with _layers_apart(), _Recorder() as recorder:
            self._answers(*inputs)
        if recorder.operators != self._recording.operators:
            raise PilotlightError("the model computes its results in another way in this run", kind="internal")
        return [recorder.results[place] for place in self._places]
