"""`if`: one of two branches, or `torch.cond` of both where only the data knows which.

While torch.export runs the model, a condition on a tensor's value is a tensor here. Each branch is run once to see what
it reads, and then traced as a function of that. What a branch writes must be its own, or an attribute of a module:
attributes that either branch sets are results of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from pilotlight.capture.torchscript.objects import ScriptedPart
from pilotlight.errors import PilotlightError

_State = dict[tuple[int, str], Any]  # the number of a part, and an attribute
running: list[ScriptedPart] = []  # the models that are being called, the innermost last


def data_dependent(why: str) -> PilotlightError:
    return PilotlightError(
        f"the model decides by the values of a tensor, and {why}; a compiled model runs the same operators every time",
        hint="compute both results and choose with torch.where, or move the decision out of the model",
        kind="data-dependent",
    )


def decided(condition: Any) -> bool:
    """The condition of a loop; one that only the data knows is refused."""
    if isinstance(condition, torch.Tensor | torch.SymBool):
        raise data_dependent("how often a loop runs depends on it")
    return bool(condition)


def negated(condition: Any) -> Any:
    return torch.logical_not(condition) if isinstance(condition, torch.Tensor) else not condition


def choose(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any], obstacle: str) -> Any:
    """Run one of two branches; `obstacle` says why both cannot be compiled, if they cannot."""
    if not isinstance(condition, torch.Tensor):
        return then() if decided(condition) else otherwise()
    if obstacle:
        raise data_dependent(obstacle)
    return _Both(then, otherwise).run(condition)


class _Reads(TorchFunctionMode):
    """Sees which tensors from outside are read; puts others in their place, where they have one."""

    def __init__(self, places: dict[int, torch.Tensor]):
        super().__init__()
        self.places = places
        self.found: dict[int, torch.Tensor] = {}
        self.own: dict[int, tuple[torch.Tensor, bool]] = {}  # with whether it shares memory with one from outside

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, self.take, (args, kwargs or {}))
        leaves = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        schema = getattr(func, "_schema", None)
        if schema is not None and schema.is_mutable and any(not self.is_own(x) for x in leaves[:1]):
            raise data_dependent("a branch writes to a tensor from outside it")
        view = bool(getattr(func, "is_view", False)) and not all(map(self.is_own, leaves))
        result = func(*args, **kwargs)
        for item in pytree.tree_leaves(result):
            if isinstance(item, torch.Tensor) and id(item) not in self.found:
                self.own.setdefault(id(item), (item, view))
        return result

    def is_own(self, x: torch.Tensor) -> bool:
        return id(x) in self.own and not self.own[id(x)][1]

    def take(self, x: torch.Tensor) -> torch.Tensor:
        if id(x) in self.own:
            return x
        if id(x) in self.places:
            return self.places[id(x)]
        self.found[id(x)] = x
        return x


class _Both:
    """Two branches as functions of what they read."""

    def __init__(self, then: Callable[[], Any], otherwise: Callable[[], Any]):
        self.branches = (then, otherwise)
        modules = [part for model in running[-1:] for part in model.modules()]
        self.parts = [part._torchscript for part in modules if isinstance(part, ScriptedPart)]
        self.before = self._attributes()

    def _attributes(self) -> _State:
        return {(k, name): value for k, part in enumerate(self.parts) for name, value in part.held.items()}

    def _restore(self, state: _State) -> None:
        for (k, name), value in state.items():
            self.parts[k].held[name] = value

    def run(self, condition: torch.Tensor) -> Any:
        operands: dict[int, torch.Tensor] = {}
        ends, results = [], []
        for branch in self.branches:
            with _Reads({}) as reads:
                results.append(branch())
                ends.append(self._attributes())
                pytree.tree_map_only(torch.Tensor, reads.take, (results[-1], ends[-1]))
            self._restore(self.before)
            operands |= reads.found
        changed = [key for key, old in self.before.items() if any(end[key] is not old for end in ends)]
        trees = [(result, [end[key] for key in changed]) for result, end in zip(results, ends, strict=True)]
        spec, fixed = _agreed(trees)
        keys = list(operands)
        functions = [self._traced(branch, keys, changed, fixed) for branch in self.branches]
        found = torch.ops.higher_order.cond(condition, *functions, tuple(operands.values()))
        rest = iter(found)
        whole = pytree.tree_unflatten([next(rest) if f is _TENSOR else f for f in fixed], spec)
        self._restore(dict(zip(changed, whole[1], strict=True)))
        return whole[0]

    def _traced(
        self, branch: Callable[[], Any], keys: Sequence[int], changed: Sequence[tuple[int, str]], fixed: Sequence[Any]
    ) -> Callable[..., Any]:
        def function(*given: torch.Tensor) -> Any:
            with _Reads(dict(zip(keys, given, strict=True))) as reads:
                result = branch()
                now = self._attributes()
                self._restore(self.before)
                leaves = pytree.tree_leaves((result, [now[key] for key in changed]))
                return tuple(_fresh(x, reads) for x, f in zip(leaves, fixed, strict=True) if f is _TENSOR)

        return function


def _fresh(x: Any, reads: _Reads) -> torch.Tensor:
    """A result that shares no memory with what a branch reads; a bool as a tensor."""
    if isinstance(x, torch.Tensor):
        return reads.take(x).clone(memory_format=torch.contiguous_format)
    return torch.full((), x, dtype=torch.bool)


_TENSOR = object()  # among the results of branches: a tensor


def _agreed(trees: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The structure of both branches' results, with what is the same in both and `_TENSOR` for the rest."""
    (left, spec), (right, other) = map(pytree.tree_flatten, trees)
    if spec != other:
        raise data_dependent("its branches give results of different structure")
    fixed = []
    for a, b in zip(left, right, strict=True):
        if _is_bool(a) and _is_bool(b) and (isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor) or a != b):
            fixed.append(_TENSOR)
        elif isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise data_dependent(f"its branches give {_shown(a)} and {_shown(b)}, which differ")
            fixed.append(_TENSOR)
        elif type(a) is type(b) and a == b:
            fixed.append(a)
        else:
            raise data_dependent(f"its branches give {_shown(a)} and {_shown(b)}, which are not both tensors")
    return spec, fixed


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or (isinstance(x, torch.Tensor) and x.dtype == torch.bool and x.dim() == 0)


def _shown(x: Any) -> str:
    return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" if isinstance(x, torch.Tensor) else repr(x)
