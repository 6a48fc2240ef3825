"""A TorchScript archive → Graph, with the archive's own module as its truth."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from pilotlight.capture.eager import Eager
from pilotlight.capture.exported import capture_module
from pilotlight.capture.frames import user_frame
from pilotlight.capture.reference import ExportedReference, ModuleReference
from pilotlight.capture.torchscript.archive import load_archive
from pilotlight.capture.torchscript.arguments import read_arguments
from pilotlight.capture.torchscript.difference import difference, failed, one_tensor
from pilotlight.capture.torchscript.functions import Functions
from pilotlight.capture.torchscript.module import converted
from pilotlight.capture.torchscript.objects import copied
from pilotlight.capture.torchscript.state import Attributes, ScriptedModel, changing, keep, structure
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph

_PLACE = re.compile(r'File "(code/[^"]+)", line (\d+)')
_STARTS = (("held", "zeros"), ("held", "assigned", "zeros"), ("assigned", "held", "zeros"))
_State = dict[tuple[str, str], Any]


def capture_archive(path: Path, inputs: Sequence[str], name: str) -> Graph:
    """The graph of a TorchScript file for inputs such as "1x512" or, where forward takes a number, "16000"."""
    unit, script = load_archive(path)
    args, kwargs = read_arguments(script._get_method("forward").schema, inputs, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = Eager(_wrapped(script), args, kwargs)
        _check_call(truth, path)
        model = _settled(script, Functions(unit, path.name), truth, args, kwargs)
        graph = capture_module(model, args, kwargs, name)
    assert graph.exported is not None
    stateful = bool(graph.states)
    graph.reference = ModuleReference(truth, stateful, ExportedReference(graph.exported, stateful))
    return graph


def _wrapped(script: Any) -> nn.Module:
    """PyTorch's own module around what was loaded, in evaluation mode."""
    module: nn.Module = torch.jit._recursive.wrap_cpp_module(script)
    module.eval()
    return module


def _check_call(truth: Eager, path: Path) -> None:
    """Refuse inputs that the model itself does not take."""
    args, kwargs = truth.arguments([x.clone() for x in truth.example])
    try:
        with torch.no_grad():
            truth.module()(*args, **kwargs)
    except Exception as error:  # whatever an operator raises
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        found = _PLACE.findall(str(error))
        raise PilotlightError(
            f"the model itself fails for these inputs: {lines[-1] if lines else type(error).__name__}",
            where=f"{path.name}:{found[-1][0]}:{found[-1][1]}" if found else str(path),
            hint="check the shapes and types of --input", kind="wrong-input",
        ) from error


def _settled(script: Any, functions: Functions, truth: Eager, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The model in Python, with what it keeps between calls in buffers; it agrees with the archive's own module."""
    model = converted(script, functions)
    attributes = Attributes(model, functions.stored())
    before, lists = copied_state(attributes.now()), attributes.containers()
    attributes.watch()
    _call(model, args, kwargs)
    assigned = attributes.assigned()
    steady = copied_state(attributes.now())
    _call(model, args, kwargs)
    steady = {key: value for key, value in steady.items() if not attributes.is_untouched(key, lists)}
    for (part, name), value in attributes.now().items():
        if (part, name) in steady and structure(value) != structure(steady[part, name]):
            raise changing(f"{part}.{name}" if part else name)
    problems: list[PilotlightError] = []
    for order in _STARTS:
        candidate = converted(script, functions)
        candidate._torchscript.results = pytree.tree_structure(truth.result())
        keep(candidate, _start(before, assigned, steady, order), steady)
        problem = difference(Eager(candidate, args, kwargs), truth)
        if problem is None:
            return candidate
        problems.append(problem)
    raise one_tensor(script, functions.attributes()) or problems[0]


def copied_state(state: _State) -> _State:
    return {key: copied(value) for key, value in state.items()}


def _call(model: ScriptedModel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        with torch.no_grad():
            model(*copied(args), **copied(kwargs))
    except PilotlightError as error:
        error.where = error.where or user_frame(error)
        raise
    except Exception as error:  # the module itself runs with these inputs
        raise failed(error, user_frame(error)) from error


def _start(before: _State, assigned: dict[tuple[str, str], list[Any]], steady: _State, order: Sequence[str]) -> _State:
    """What attributes start with, in the shapes that they keep: what they hold before the first call, zeros, or what
    it first assigns."""
    initial = {}
    for key, value in steady.items():
        wanted = _shapes(value)
        found = {
            "held": [item for item in [before[key]] if _shapes(item) == wanted],
            "assigned": [item for item in assigned[key] if _shapes(item) == wanted],
            "zeros": [pytree.tree_map_only(torch.Tensor, torch.zeros_like, value)],
        }
        initial[key] = next(found[source][0] for source in order if found[source])
    return initial


def _shapes(value: Any) -> list[Any]:
    """Of tensors alone: numbers next to them start as they stay."""
    return [(x.shape, x.dtype) for x in pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]
