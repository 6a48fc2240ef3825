"""A loaded TorchScript module → an nn.Module that does the same in Python, which torch.export can run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from pilotlight.capture.torchscript.functions import Functions
from pilotlight.capture.torchscript.objects import ScriptedPart
from pilotlight.capture.torchscript.state import ScriptedModel
from pilotlight.errors import PilotlightError


def converted(script: Any, functions: Functions) -> ScriptedModel:
    """The module of an archive, a `torch._C.ScriptModule`, with copies of its tensors and its values before a call."""
    maker = _Maker(functions)
    model = maker.filled(_model_class(script)(script._type().qualified_name(), functions), script)
    assert isinstance(model, ScriptedModel)
    return model


def _model_class(script: Any) -> type[ScriptedModel]:
    """A class whose `forward` has the arguments of the archive's: torch.export names inputs after them."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for argument in script._get_method("forward").schema.arguments[1:]:
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        parameters.append(inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    signature = inspect.Signature(parameters)

    def forward(self: ScriptedModel, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return ScriptedModel.called(*bound.args)

    forward.__signature__ = signature  # type: ignore[attr-defined]
    name = script._type().qualified_name().rpartition(".")[2]
    return type(name, (ScriptedModel,), {"forward": forward})


def _items(members: Any) -> list[tuple[str, Any]]:
    return list(members.items())


class _Maker:
    """Keeps what is shared: a tensor or a submodule that has two names."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self.stored = functions.stored()
        self.tensors: dict[int, tuple[torch.Tensor, Any]] = {}  # by id, with the original to keep that id
        self.attributes = functions.attributes()

    def filled(self, part: ScriptedPart, script: Any) -> ScriptedPart:
        """A part with what its original has."""
        kind, held = part._torchscript.kind, part._torchscript.held
        if script._get_forward_hooks() or script._get_forward_pre_hooks():
            raise PilotlightError(
                f"the TorchScript module {kind} has forward hooks, which are not supported",
                where=self.functions.archive, hint="save the model again without them", kind="unsupported",
            )
        for name, tensor in _items(torch._C.ParameterDict(script)):
            part._parameters[name] = self.copy(tensor, nn.Parameter)
        for name, tensor in _items(torch._C.BufferDict(script)):
            if (kind, name) in self.stored or tensor is None:
                held[name] = self.copy(tensor)
            else:
                part._buffers[name] = self.copy(tensor)
        for name, child in _items(torch._C.ModuleDict(script)):
            part._modules[name] = self.filled(ScriptedPart(child._type().qualified_name(), self.functions), child)
        known = {*part._parameters, *part._buffers, *part._modules, *held, "training"}
        for name in sorted(self.attributes.get(kind, set()) - known):
            value = self.plain(script.getattr(name), f"{kind}.{name}")
            fixed = isinstance(value, torch.Tensor) and (kind, name) not in self.stored
            (part._buffers if fixed else held)[name] = value  # it may be written in place
        if script.hasattr("training"):
            part.training = script.getattr("training")
        return part

    def copy(self, tensor: Any, made: Callable[[torch.Tensor, bool], torch.Tensor] | None = None) -> Any:
        if tensor is None:
            return None
        if id(tensor) not in self.tensors:
            data = tensor.detach().clone()
            self.tensors[id(tensor)] = tensor, made(data, False) if made else data
        return self.tensors[id(tensor)][1]

    def plain(self, value: Any, name: str) -> Any:
        """An attribute's value: tensors, numbers, strings and containers of them."""
        if value is None or isinstance(value, bool | int | float | str | torch.device):
            return value
        if isinstance(value, torch.Tensor):
            return self.copy(value)
        if isinstance(value, list):
            return [self.plain(v, name) for v in value]
        if isinstance(value, tuple):
            inner = [self.plain(v, name) for v in value]
            return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
        if isinstance(value, dict):
            return {k: self.plain(v, name) for k, v in value.items()}
        raise PilotlightError(
            f"attribute {name} of the TorchScript model is a {type(value).__name__}, which is not supported",
            where=self.functions.archive, hint="keep tensors, numbers, and lists or dictionaries of them",
            kind="unsupported",
        )
