"""Modules and objects of TorchScript as Python objects: parts of an nn.Module, and instances of plain classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils import _pytree as pytree


class Methods(Protocol):
    """The functions of an archive by their qualified names."""

    def __getitem__(self, name: str) -> Callable[..., Any]: ...


class ScriptedObject:
    """An instance of a class of the archive: its qualified name and its attributes."""

    def __init__(self, kind: str, functions: Methods):
        self.kind, self.functions = kind, functions
        self.held: dict[str, Any] = {}
        self.assigned: dict[str, list[Any]] | None = None  # all that attributes were set to, while that is watched


class ScriptedWhole(ScriptedObject):
    """What the model as a whole has besides."""

    def __init__(self, kind: str, functions: Methods):
        super().__init__(kind, functions)
        self.kept: tuple[tuple[str, str, Any], ...] = ()  # path of a part, attribute, its values as `state.py` has them
        self.results: Any = None  # the structure that PyTorch gives results: named tuples have their names


class ScriptedPart(nn.Module):
    """A module. Parameters, buffers and submodules are PyTorch's; every other attribute is in `_torchscript.held`.

    Whatever names the archive has for them, they meet only those of nn.Module and this one attribute.
    """

    def __init__(self, kind: str, functions: Methods):
        super().__init__()
        self._torchscript = ScriptedObject(kind, functions)

    def forward(self, *args: Any) -> Any:
        return call(self, "forward", *args)


def copied(value: Any) -> Any:
    """A value whose tensors are copies."""
    return pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, value)


def load(thing: Any, name: str) -> Any:
    """An attribute."""
    if isinstance(thing, ScriptedObject):
        return thing.held[name]
    for store in (thing._torchscript.held, thing._parameters, thing._buffers, thing._modules):
        if name in store:
            return store[name]
    return getattr(thing, name)  # training


def assign(thing: Any, name: str, value: Any) -> None:
    """Set an attribute."""
    script = thing if isinstance(thing, ScriptedObject) else thing._torchscript
    if script.assigned is not None:
        script.assigned.setdefault(name, []).append(copied(value))
    if name == "training":
        thing.training = value
    else:
        script.held[name] = value


def call(thing: Any, name: str, *args: Any) -> Any:
    """The archive's code of a method."""
    script = thing if isinstance(thing, ScriptedObject) else thing._torchscript
    return script.functions[f"{script.kind}.{name}"](thing, *args)


def invoke(thing: Any, name: str, *args: Any) -> Any:
    """A method, as the archive calls it: torch.export sees which module is called."""
    return thing(*args) if isinstance(thing, ScriptedPart) and name == "forward" else call(thing, name, *args)
