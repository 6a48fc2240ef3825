"""An ONNX graph as an nn.Module: each node is a submodule of the node's name that calls the operator's function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Live:
    """An argument that the model computes: its place among those that a call is given."""

    position: int


@dataclass(frozen=True)
class Held:
    """An argument that is a constant tensor: a buffer of the node."""

    name: str


@dataclass(frozen=True)
class Fixed:
    """An argument that is a Python value."""

    value: Any


Argument = Live | Held | Fixed


class OnnxNode(nn.Module):
    """One node: its operator's function with the arguments in their places."""

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[Argument], attributes: dict[str, Any],
        constants: dict[str, torch.Tensor],
    ):
        super().__init__()
        self.function, self.arguments, self.attributes = function, tuple(arguments), attributes
        for name, tensor in constants.items():
            self.register_buffer(name, tensor)

    def forward(self, *live: Any) -> tuple[Any, ...]:
        args = [live[a.position] if isinstance(a, Live) else getattr(self, a.name) if isinstance(a, Held) else a.value
                for a in self.arguments]
        result = self.function(*args, **self.attributes)
        return result if isinstance(result, tuple) else (result,)


@dataclass(frozen=True)
class Step:
    """The call of one node: what it reads and writes, by name."""

    module: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class OnnxBody(nn.Module):
    """The nodes of a graph, called in order."""

    def __init__(self, inputs: Sequence[str]):
        super().__init__()
        self.inputs = tuple(inputs)
        self.outputs: tuple[str, ...] = ()
        self.steps: list[Step] = []

    def add(self, name: str, node: nn.Module, reads: Sequence[str], writes: Sequence[str]) -> None:
        """Append a node; its name becomes one that a submodule can have."""
        wanted = re.sub(r"\.", "_", name).strip("/") or "node"
        chosen, number = wanted, 2
        while chosen in self._modules or hasattr(self, chosen):
            chosen, number = f"{wanted}_{number}", number + 1
        self.add_module(chosen, node)
        self.steps.append(Step(chosen, tuple(reads), tuple(writes)))

    def forward(self, *tensors: Any) -> tuple[Any, ...]:
        values = dict(zip(self.inputs, tensors, strict=True))
        for step in self.steps:
            results = self._modules[step.module](*[values[name] for name in step.reads])  # type: ignore[misc]
            values.update(zip(step.writes, results, strict=False))
        return tuple(values[name] for name in self.outputs)


def named_model(body: OnnxBody, outputs: Sequence[str]) -> nn.Module:
    """A model whose `forward` has the graph's inputs as arguments: torch.export names its inputs after them."""
    names = distinct([as_identifier(name) for name in body.inputs])
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", *names)]

    def forward(self: OnnxBody, *tensors: torch.Tensor) -> dict[str, torch.Tensor]:
        return dict(zip(distinct(list(outputs)), OnnxBody.forward(self, *tensors), strict=True))

    forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    model: nn.Module = type("OnnxModel", (OnnxBody,), {"forward": forward})(body.inputs)
    model.__dict__ |= {"steps": body.steps, "outputs": body.outputs}
    model._modules = body._modules
    return model


def as_identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name)
    return text if text.isidentifier() else f"input_{text}"


def distinct(names: list[str]) -> list[str]:
    result: list[str] = []
    for name in names:
        wanted, number = name, 2
        while wanted in result or wanted == "self":
            wanted, number = f"{name}_{number}", number + 1
        result.append(wanted)
    return result
