"""A case: a function with arguments whose result PyTorch knows; many cases make one module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Case:
    """`function(*args, **kwargs)`; tensors among the arguments become the inputs of the model, the rest constants."""

    operator: str  # the group that the case is counted in
    dtype: str
    index: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def leaves(self) -> list[Any]:
        return pytree.tree_leaves((self.args, self.kwargs))

    def inputs(self) -> list[torch.Tensor]:
        return [leaf for leaf in self.leaves() if isinstance(leaf, torch.Tensor)]

    def operands(self) -> list[Any]:
        """The leaves that the operator itself sees: views of the inputs, where the function makes some."""
        return self.function.operands(self.leaves()) if hasattr(self.function, "operands") else self.leaves()

    def contiguous(self) -> Case | None:
        """The same values without views, where the function makes some."""
        if not hasattr(self.function, "operands"):
            return None
        _, spec = pytree.tree_flatten((self.args, self.kwargs))
        copies = [x.clone(memory_format=torch.contiguous_format) if isinstance(x, torch.Tensor) else x
                  for x in self.operands()]
        args, kwargs = pytree.tree_unflatten(copies, spec)
        return replace(self, function=self.function.function, args=args, kwargs=kwargs)

    def call(self, leaves: Sequence[Any]) -> list[torch.Tensor]:
        """The tensors in the result of calling with other leaves."""
        _, spec = pytree.tree_flatten((self.args, self.kwargs))
        args, kwargs = pytree.tree_unflatten(list(leaves), spec)
        result = self.function(*args, **kwargs)
        return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


@dataclass(frozen=True)
class Verdict:
    """outcome: pass, refused, wrong; or why it does not count: random, uninitialised, outside, export, no-tensor."""

    case: Case
    outcome: str
    reason: str = ""
    boards: tuple[str, ...] = ()  # where it passed as well


class Source(Protocol):
    """Where cases come from. Operators are the unit of work and of the report."""

    def operators(self) -> list[str]: ...

    def cases(self, operator: str) -> Iterator[Case]: ...


class CaseModule(torch.nn.Module):
    """One case, its tensors as arguments of forward."""

    def __init__(self, case: Case):
        super().__init__()
        self.case = case
        self.function = case.function  # a module's constants are the model's

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        given = iter(tensors)
        return self.case.call([next(given) if isinstance(x, torch.Tensor) else x for x in self.case.leaves()])


class BatchModule(torch.nn.Module):
    """Cases side by side. Each is a submodule `case_N`, so that the module path of a problem names its case."""

    def __init__(self, cases: Sequence[Case]):
        super().__init__()
        self.parts = [CaseModule(case) for case in cases]
        for number, part in enumerate(self.parts):
            self.add_module(f"case_{number}", part)

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = iter(tensors)
        outputs: list[torch.Tensor] = []
        for part in self.parts:
            outputs += part(*[next(given) for _ in part.case.inputs()])
        return tuple(outputs)
