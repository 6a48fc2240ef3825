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
from pilotlight.graph import Answers, LayeredAnswers, LayeredReference, Reference

_IDLE = {"aten::clone", "aten::empty", "aten::detach", "aten::alias", "aten::t", "aten::transpose", "aten::permute"}
SAME = 1e-3  # of the largest element: how near two ways to compute one tensor are


class _Recorder(TorchDispatchMode):
    """Keeps a copy of every result, but of those that have the same numbers as another one, in another order."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []
        self.results: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):  # its subgraphs are Python functions here
            return func.py_kernels[CONTROL](*map(self._inside, args), **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        for leaf in () if _is_idle(func._schema.name, args, result) else pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.operators.append(func._schema.name)
                self.results.append(leaf.detach().clone())
        return result

    def _inside(self, item: Any) -> Any:
        def run(*args: Any) -> Any:
            with self:
                return item(*args)

        return run if callable(item) else item


def _is_idle(name: str, args: Any, result: Any) -> bool:
    """Whether an operator computes nothing; float32 and float64 are converted at different places."""
    if name == "aten::_to_copy":
        return bool(args[0].is_floating_point() == result.is_floating_point())
    return name in _IDLE


@dataclass(frozen=True)
class Recording:
    """One run after another: all results in the order in which they were computed, and what computed them."""

    operators: list[str]
    runs: list[list[torch.Tensor]]


def record(reference: Reference, inputs: Sequence[Sequence[torch.Tensor]]) -> Recording:
    """What the model computes in its own types."""
    answers = _answers(reference)
    runs: list[list[torch.Tensor]] = []
    operators: list[str] = []
    for row in inputs:
        operators, results = _computed(answers, row)
        if runs and len(results) != len(runs[0]):
            raise PilotlightError(
                "the model runs other operators in one run than in another, because it decides by its data; its layers "
                "cannot be compared", kind="unsupported",
                hint="give --inputs whose samples all decide alike, or compare the outputs with `pilotlight run`",
            )
        runs.append(results)
    return Recording(operators, runs)


def _answers(reference: Reference) -> Answers | LayeredAnswers:
    return reference.in_layers() if isinstance(reference, LayeredReference) else reference.in_float32()


def _computed(answers: Answers | LayeredAnswers, inputs: Sequence[Any]) -> tuple[list[str], list[torch.Tensor]]:
    """What a call computes on its way, and by which operators."""
    with _layers_apart(), _Recorder() as recorder:
        answers(*inputs)
    if hasattr(answers, "layers"):
        layers = answers.layers()
        return [operator for operator, _ in layers], [tensor for _, tensor in layers]
    return recorder.operators, recorder.results


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
        self.name = reference.name

    def in_float32(self) -> Answers:
        return _RecordedAnswers(_answers(self._reference), self._recording, self._places)

    def in_float64(self) -> Iterator[Answers]:
        for answers in self._reference.in_float64():
            yield _RecordedAnswers(answers, self._recording, self._places)


class _RecordedAnswers:
    def __init__(self, answers: Answers | LayeredAnswers, recording: Recording, places: Sequence[int]):
        self._answers, self._recording, self._places = answers, recording, places
        self._at: list[int] | None = None  # the same places here

    def reset(self) -> None:
        self._answers.reset()

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        operators, results = _computed(self._answers, inputs)
        if self._at is None:
            same = operators == self._recording.operators
            self._at = list(self._places) if same else [self._nearest(place, results) for place in self._places]
        return [results[at] for at in self._at]

    def _nearest(self, place: int, results: list[torch.Tensor]) -> int:
        """PyTorch may compute float64 by other operators: the result with the same shape and nearly the same numbers,
        for the inputs that were recorded first."""
        want = self._recording.runs[0][place]
        found = [(apart(x, want), at) for at, x in enumerate(results) if x.shape == want.shape]
        if not found or min(found)[0] > SAME:
            raise PilotlightError("PyTorch computes a layer in another way in float64", kind="internal")
        return min(found)[1]


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest distance over the largest element; infinite where one is infinite or NaN and the other is not."""
    x, y = a.double(), b.double()
    if not bool((x.isnan() == y.isnan()).all() and (x.isinf() == y.isinf()).all()):
        return float("inf")
    x, y = (t.nan_to_num(0.0, 1.0, -1.0) for t in (x, y))
    largest = float(y.abs().max()) if y.numel() else 0.0
    distance = float((x - y).abs().max()) if y.numel() else 0.0
    return distance / largest if largest else distance
