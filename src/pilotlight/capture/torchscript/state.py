"""What a TorchScript model keeps between calls, as buffers.

A scripted module may set any attribute while it runs: tensors, lists of them, None that becomes a tensor at the first
call. A compiled model has tensors of fixed shapes. So the model is called twice: what the first call leaves is what the
attributes look like from then on, and a call must leave it so again. Their tensors become buffers, which start with
what the attribute held before the first call, or was first set to in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from pilotlight.capture.torchscript.branches import running
from pilotlight.capture.torchscript.objects import Methods, ScriptedPart, ScriptedWhole, call
from pilotlight.errors import PilotlightError


class Kept:
    """The place of a tensor among an attribute's values: it is in this buffer."""

    def __init__(self, buffer: str):
        self.buffer = buffer


class ScriptedModel(ScriptedPart):
    """The whole model. A call fills the attributes from the buffers, and the buffers from the attributes at its end."""

    def __init__(self, kind: str, functions: Methods):
        super().__init__(kind, functions)
        self._torchscript: ScriptedWhole = ScriptedWhole(kind, functions)

    def called(self, *args: Any) -> Any:
        parts = dict(self.named_modules())
        for path, name, tree in self._torchscript.kept:
            part = parts[path]
            part._torchscript.held[name] = pytree.tree_map(lambda leaf, part=part: _filled(part, leaf), tree)
        running.append(self)
        try:
            result = call(self, "forward", *args)
        finally:
            running.pop()
        for path, name, tree in self._torchscript.kept:
            part = parts[path]
            _leave(part, f"{path}.{name}" if path else name, tree, part._torchscript.held[name])
            part._torchscript.held[name] = tree
        spec = self._torchscript.results
        return result if spec is None else pytree.tree_unflatten(pytree.tree_leaves(result), spec)


def _filled(part: Any, leaf: Any) -> Any:
    return part._buffers[leaf.buffer].clone() if isinstance(leaf, Kept) else leaf


def _leave(part: Any, name: str, tree: Any, value: Any) -> None:
    """Write an attribute's tensors into their buffers."""
    wanted, spec = pytree.tree_flatten(tree)
    given, found = pytree.tree_flatten(value)
    if spec != found:
        raise changing(name)
    for leaf, item in zip(wanted, given, strict=True):
        if not isinstance(leaf, Kept):
            if type(leaf) is not type(item) or leaf != item:
                raise changing(name)
            continue
        buffer = part._buffers[leaf.buffer]
        if not isinstance(item, torch.Tensor) or item.shape != buffer.shape or item.dtype != buffer.dtype:
            raise changing(name)
        buffer.copy_(item)


def changing(name: str) -> PilotlightError:
    return PilotlightError(
        f"the model changes its attribute {name!r} from call to call, and it is not a tensor of a fixed shape; a "
        "compiled model keeps only such tensors",
        hint="keep it as a tensor of fixed shape, a number as torch.zeros(1), and save the model again", kind="capture",
    )


def structure(value: Any) -> tuple[Any, list[Any]]:
    """All that has to be the same in every call: everything but the numbers in tensors."""
    leaves, spec = pytree.tree_flatten(value)
    return spec, [(x.shape, x.dtype) if isinstance(x, torch.Tensor) else (type(x), x) for x in leaves]


class Attributes:
    """The attributes of a model that its code may change, and what they are over the first calls."""

    def __init__(self, model: ScriptedModel, stored: set[tuple[str, str]]):
        self.model = model
        self.names = [
            (path, name) for path, part in _parts(model) for name, value in part._torchscript.held.items()
            if (part._torchscript.kind, name) in stored or isinstance(value, list | dict)
        ]
        self._assigned = {
            (path, name) for path, part in _parts(model) for name in part._torchscript.held
            if (part._torchscript.kind, name) in stored
        }

    def now(self) -> dict[tuple[str, str], Any]:
        parts = dict(_parts(self.model))
        return {(path, name): parts[path]._torchscript.held[name] for path, name in self.names}

    def containers(self) -> dict[tuple[str, str], list[Any]]:
        """What lists and dictionaries hold that no function assigns anew."""
        return {key: pytree.tree_leaves(value) for key, value in self.now().items() if key not in self._assigned}

    def is_untouched(self, key: tuple[str, str], before: dict[tuple[str, str], list[Any]]) -> bool:
        """Whether a list or dictionary still holds the same objects."""
        if key not in before:
            return False
        leaves = pytree.tree_leaves(self.now()[key])
        return len(leaves) == len(before[key]) and all(map(_is_same, leaves, before[key]))

    def watch(self) -> None:
        for _, part in _parts(self.model):
            part._torchscript.assigned = {}

    def assigned(self) -> dict[tuple[str, str], list[Any]]:
        """What they were set to since `watch`, in order; they are not watched any more."""
        parts = dict(_parts(self.model))
        found = {(path, name): (parts[path]._torchscript.assigned or {}).get(name, []) for path, name in self.names}
        for part in parts.values():
            part._torchscript.assigned = None
        return found


def _is_same(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor):
        return left is right and left._version == 0
    return type(left) is type(right) and bool(left == right)


def _parts(model: ScriptedModel) -> Iterator[tuple[str, ScriptedPart]]:
    for path, part in model.named_modules():
        assert isinstance(part, ScriptedPart)
        yield path, part


def keep(model: ScriptedModel, initial: dict[tuple[str, str], Any], steady: dict[tuple[str, str], Any]) -> None:
    """Make buffers of attributes: with the values that they start with, in the structure that they keep."""
    parts = dict(_parts(model))
    kept = []
    for (path, name), tree in steady.items():
        part, count = parts[path], len([x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)])
        values = [x for x in pytree.tree_leaves(initial[path, name]) if isinstance(x, torch.Tensor)]
        leaves, spec = pytree.tree_flatten(tree)
        marked, number = [], 0
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                buffer = name if count == 1 else f"{name}_{number}"
                while buffer in part._buffers or buffer in part._parameters or buffer in part._modules:
                    buffer += "_"
                part._buffers[buffer] = values[number].detach().clone()
                number += 1
                leaf = Kept(buffer)
            marked.append(leaf)
        whole = pytree.tree_unflatten(marked, spec)
        part._torchscript.held[name] = whole
        kept.append((path, name, whole))
    model._torchscript.kept = tuple(kept)
