"""The same samples with other memory: their tensors are views, made inside the model from larger or turned ones.

`transposed`, `stepped` and `offset` keep a sample's values; `expanded` repeats its first element along a dimension;
`ones` gives dimensions of size 1 (and tensors without dimensions) the strides of what they were cut from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.cases import Case, Source

Change = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class View:
    """`view(base(x))` has the shape of x; `base` is what the model is given."""

    base: Change
    view: Change


def _transposed(x: torch.Tensor) -> View | None:
    if x.dim() < 2:
        return None
    pairs = [(i, j) for i in range(x.dim()) for j in range(i)]
    a, b = max(pairs, key=lambda p: (x.shape[p[0]] > 1) + (x.shape[p[1]] > 1))
    return View(lambda t: t.transpose(a, b).contiguous(), lambda t: t.transpose(a, b))


def _expanded(x: torch.Tensor) -> View | None:
    dims = [d for d in range(x.dim()) if x.shape[d] > 1]
    if not dims:
        return None
    shape = x.shape
    return View(lambda t: t.narrow(dims[-1], 0, 1).contiguous(), lambda t: t.expand(shape))


def _stepped(x: torch.Tensor) -> View | None:
    dims = [d for d in range(x.dim()) if x.shape[d] > 0]
    if not dims:
        return None
    at = (*[slice(None)] * dims[-1], slice(None, None, 2))
    return View(lambda t: t.repeat_interleave(2, dims[-1]), lambda t: t[at])


def _offset(x: torch.Tensor) -> View | None:
    if x.dim() == 0 or x.numel() == 0:
        return None
    return View(lambda t: torch.cat([t[-1:], t, t[:1]]), lambda t: t[1:-1])


def _ones(x: torch.Tensor) -> View | None:
    if x.dim() == 0:
        return View(lambda t: t.repeat(3), lambda t: t[1])
    dims = [d for d in range(x.dim()) if x.shape[d] == 1]
    if not dims or x.numel() == 0:
        return None
    wide = [3 if d in dims else 1 for d in range(x.dim())]

    def cut(t: torch.Tensor) -> torch.Tensor:
        for d in dims:
            t = t.narrow(d, 1, 1)
        return t

    return View(lambda t: t.repeat(wide), cut)


LAYOUTS: dict[str, Callable[[torch.Tensor], View | None]] = {
    "transposed": _transposed, "expanded": _expanded, "stepped": _stepped, "offset": _offset, "ones": _ones,
}


@dataclass(frozen=True)
class Laid:
    """A function whose tensors are made from others first."""

    function: Callable[..., Any]
    views: tuple[View | None, ...]  # for each leaf of the arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        args, kwargs = pytree.tree_unflatten(self.operands(leaves), spec)
        return self.function(*args, **kwargs)

    def operands(self, leaves: Sequence[Any]) -> list[Any]:
        """What the function itself is called with."""
        return [x if view is None else view.view(x) for x, view in zip(leaves, self.views, strict=True)]


def _has_strides(x: object) -> bool:
    return isinstance(x, torch.Tensor) and x.layout == torch.strided


def laid_out(case: Case, layout: str) -> Case | None:
    """The case with every tensor that can be in that layout; None where none can."""
    if layout == "expanded" and case.kwargs.get("include_last_offset"):
        return None  # the last offset would no longer be the number of ids
    leaves, spec = pytree.tree_flatten((case.args, case.kwargs))
    views = tuple(LAYOUTS[layout](x) if _has_strides(x) else None for x in leaves)
    if not any(views):
        return None
    bases = [x if view is None else view.base(x) for x, view in zip(leaves, views, strict=True)]
    args, kwargs = pytree.tree_unflatten(bases, spec)
    return replace(case, function=Laid(case.function, views), args=args, kwargs=kwargs)


@dataclass(frozen=True)
class LaidOut:
    """A source in one layout, or, with the layout "mixed", each case in one that its seed chooses."""

    source: Source
    layout: str
    apart: frozenset[tuple[str, str, int]] = frozenset()  # operator, dtype and index of cases that are left out

    def operators(self) -> list[str]:
        return self.source.operators()

    def cases(self, operator: str) -> Iterator[Case]:
        for case in self.source.cases(operator):
            if (operator, case.dtype, case.index) in self.apart:
                continue
            names = [self.layout]
            if self.layout == "mixed":
                names = list(LAYOUTS)
                random.Random(f"{operator} {case.dtype} {case.index}").shuffle(names)
            found = next((laid for name in names if (laid := laid_out(case, name)) is not None), None)
            if found is not None:
                yield found
