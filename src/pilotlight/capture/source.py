"""What the user names on the command line → a graph: `file.py:name`, `package.module:name`, or a file that ends with
.pt2, .pt, .onnx or .tflite."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, overload

import torch
from torch.export import ExportedProgram

from pilotlight.capture.calls import check_call
from pilotlight.capture.checkpoint import load_weights
from pilotlight.capture.entries import capture_entries, entry_points
from pilotlight.capture.exported import capture_exported, capture_module
from pilotlight.capture.inputs import parse_input
from pilotlight.capture.onnx.package import need_onnx
from pilotlight.capture.tflite.capture import SUFFIX, capture_tflite, tflite_operators
from pilotlight.capture.torchscript.archive import SUFFIXES
from pilotlight.capture.torchscript.capture import capture_archive
from pilotlight.capture.userfile import from_here, load_file, load_module, seeded, user_error
from pilotlight.capture.uses import OperatorUse
from pilotlight.errors import PilotlightError, no_file
from pilotlight.graph import Graph, Program
from pilotlight.graph.names import model_name

_FORMS = "write file.py:name or package.module:name (a function, module or class in it), a .pt2 file from " \
    "torch.export.save, a .pt file from torch.jit.save, or an .onnx or .tflite file"


@overload
def capture(
    module: Mapping[str, Any], *, name: str | None = None,
) -> Program: ...


@overload
def capture(
    module: torch.nn.Module | ExportedProgram, example_inputs: Sequence[Any] | torch.Tensor = (),
    name: str | None = None, *, kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None,
) -> Graph: ...


def capture(
    module: torch.nn.Module | ExportedProgram | Mapping[str, Any], example_inputs: Sequence[Any] | torch.Tensor = (),
    name: str | None = None, *, kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None,
) -> Graph | Program:
    """Capture a PyTorch module with example inputs, positional and by keyword, as a graph; or an exported program.

    `dynamic_shapes` are torch.export's: a dimension that is a `torch.export.Dim` with a `max` is planned at it, and its
    length is given at run time. A dictionary of entry points of one module, `{"prefill": (net.prefill, (tokens,)),
    "decode": (net.decode, (token,))}`, is captured as a program (`capture/entries.py` has the forms).
    """
    if isinstance(module, ExportedProgram):
        return capture_exported(module, model_name(name or "model"))
    if isinstance(module, Mapping):
        entries = entry_points(module, name or "the model")
        owner = next(iter(entries.values())).module
        return capture_entries(entries, model_name(name or type(owner).__name__))
    if not isinstance(module, torch.nn.Module):
        raise PilotlightError(
            f"expected a torch.nn.Module, got {type(module).__name__}",
            hint="pass the model object itself",
            kind="usage",
        )
    if isinstance(example_inputs, Mapping):
        raise PilotlightError(
            "the example inputs are a dictionary; expected a tuple of them",
            hint="write (dictionary,) where forward takes it as one argument, kwargs=dictionary where its keys are the "
            "names of arguments", kind="usage",
        )
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    check_call(module.forward, f"{type(module).__name__}.forward", inputs, kwargs or {})
    return capture_module(module, inputs, kwargs, model_name(name or type(module).__name__), dynamic_shapes)


def load_model(
    model: str, inputs: Sequence[str] = (), name: str | None = None, *, init: Mapping[str, Any] | None = None,
    weights: Path | str | None = None, bake: Sequence[str] | Mapping[str, Any] = (),
) -> Graph | Program:
    """The graph of `file.py:name`, `package.module:name`, `file.pt2`, `file.pt` or `file.onnx`; the program of a
    dictionary of entry points.

    `inputs` are shapes such as "1x3x96x96:int8" or "mask=1x96", `init` are arguments of the class or function,
    `weights` is a file with the module's state_dict, `bake` are values of inputs that become part of an ONNX model.
    """
    if model.endswith(".onnx"):
        _refuse_changes(model, (), init, weights, "an ONNX model")
        need_onnx()
        from pilotlight.capture.onnx.capture import capture_file

        return capture_file(Path(model), inputs, bake, model_name(name or Path(model).stem))
    if bake:
        raise PilotlightError(f"--bake does nothing for {model}", hint="it is for .onnx files", kind="usage")
    if model.endswith(".pt2"):
        _refuse_changes(model, inputs, init, weights)
        return capture_exported(load_exported(Path(model)), model_name(name or Path(model).stem))
    if model.endswith(SUFFIX):
        _refuse_changes(model, inputs, init, weights, "a TensorFlow Lite model", "convert the model again")
        return capture_tflite(Path(model), model_name(name or Path(model).stem))
    if model.endswith(SUFFIXES):
        _refuse_changes(model, (), init, weights, "a TorchScript model")
        return capture_archive(Path(model), inputs, model_name(name or Path(model).stem))
    place, colon, attribute = model.rpartition(":")
    if not colon or not place or not attribute:
        raise PilotlightError(f"{model!r} names no model", hint=_FORMS, kind="usage")
    loaded = load_file(Path(place)) if place.endswith(".py") else load_module(place, model)
    thing = _made(_named(loaded, place, attribute), f"{place}:{attribute}", loaded, dict(init or {}))
    name = name or attribute.rpartition(".")[2]
    if isinstance(thing, ExportedProgram):
        _refuse_changes(model, inputs, None, weights)
        return capture_exported(thing, model_name(name))
    if isinstance(thing, Mapping):
        return _load_entries(thing, f"{place}:{attribute}", inputs, name, weights)
    module, args, kwargs, shapes = _with_inputs(thing, f"{place}:{attribute}", inputs)
    if weights is not None:
        load_weights(module, Path(weights))
    return capture(module, args, name, kwargs=kwargs, dynamic_shapes=shapes)


def file_operators(model: str) -> list[OperatorUse]:
    """The operators of a file of another framework, each with whether it is supported; none for other models."""
    if model.endswith(SUFFIX):
        return tflite_operators(Path(model))
    if not model.endswith(".onnx"):
        return []
    need_onnx()
    from pilotlight.capture.onnx import support

    return support.file_operators(Path(model))


def _load_entries(
    thing: Mapping[str, Any], what: str, inputs: Sequence[str], name: str, weights: Path | str | None
) -> Program:
    """The program of a dictionary of entry points, with weights from a file."""
    if inputs:
        raise PilotlightError(
            f"{what} has several entry points with inputs of their own; --input cannot say whose it is",
            hint="omit --input, and give the example inputs in the dictionary", kind="usage",
        )
    entries = entry_points(thing, what)
    if weights is not None:
        load_weights(next(iter(entries.values())).module, Path(weights))
    return capture_entries(entries, model_name(name))


def _refuse_changes(
    model: str, inputs: Sequence[str], init: Mapping[str, Any] | None, weights: Path | str | None,
    kind: str = "an exported program", instead: str = "export the model again",
) -> None:
    """Refuse options that a saved program cannot take any more: shapes, layers and weights."""
    for option, given, what in (("--input", inputs, "shapes"), ("--init", init, "layers"),
                                ("--weights", weights, "weights")):
        if given:
            raise PilotlightError(
                f"{model} is {kind} with {what} of its own; {option} cannot change them",
                hint=f"omit {option}, or {instead}", kind="usage",
            )


def load_exported(path: Path) -> torch.export.ExportedProgram:
    if not path.is_file():
        raise no_file(path)
    if not zipfile.is_zipfile(path):
        raise PilotlightError(
            f"{path} is not a .pt2 file: a .pt2 file is a zip archive, this one begins with "
            f"{path.read_bytes()[:8]!r}",
            hint="write it again with torch.export.save(torch.export.export(model, inputs), path)",
            kind="broken-file",
        )
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return torch.export.load(path)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PilotlightError(
            f"{path} cannot be read: {reason}",
            hint="write it again with torch.export.save, with the same version of PyTorch",
            kind="broken-file",
        ) from error


def _named(loaded: ModuleType, place: str, attribute: str) -> Any:
    """What a name in the user's module stands for; `Outer.inner` too."""
    thing: Any = loaded
    for part in attribute.split("."):
        if not hasattr(thing, part):
            inside = getattr(thing, "__dict__", {})
            names = sorted(k for k, v in inside.items() if not k.startswith("_") and _is_model(v, loaded))
            near = difflib.get_close_matches(part, names, n=1)
            raise PilotlightError(
                f"{place} has no {attribute!r}",
                hint=(f"did you mean {near[0]}? " if near else "")
                + f"it has: {', '.join(names) or 'no function, class or module'}",
                kind="usage",
            )
        thing = getattr(thing, part)
    return thing


def _is_model(thing: Any, loaded: ModuleType) -> bool:
    """What a user may mean: modules and programs, and functions and classes of this file rather than imported ones."""
    if isinstance(thing, torch.nn.Module | ExportedProgram | tuple | dict):
        return True
    return callable(thing) and getattr(thing, "__module__", None) == loaded.__name__


def _made(thing: Any, what: str, loaded: ModuleType, init: dict[str, Any]) -> Any:
    """A module, program, tuple or dictionary: classes and functions are called, with the arguments of `--init`."""
    finished = isinstance(thing, torch.nn.Module | ExportedProgram | tuple | dict)
    if not finished and not callable(thing):
        raise PilotlightError(
            f"{what} is a {'Python module' if isinstance(thing, ModuleType) else type(thing).__name__}; expected a "
            "function, a torch.nn.Module or a class", hint=_FORMS, kind="usage",
        )
    if finished:
        if init:
            raise PilotlightError(
                f"{what} already exists; --init cannot change it",
                hint="name the class, or a function that makes the module", kind="usage",
            )
        return thing
    _check_init(thing, what, init)
    file = Path(getattr(loaded, "__file__", None) or what)
    shown = Path(what.rpartition(":")[0])
    with seeded():
        try:
            return thing(**init)
        except Exception as error:
            place = shown if shown.is_file() else from_here(file)
            raise user_error(error, place, f"calling {what.rpartition(':')[2]}()", file.parent) from error


def _check_init(thing: Callable[..., Any], what: str, init: dict[str, Any]) -> None:
    """Check that `--init` names only arguments that exist, and all that are required."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return  # built in: calling it will tell
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes = f"it takes: {', '.join(named)}" if named else "it takes no arguments"
    for key in init:
        if key not in named and not any(p.kind == p.VAR_KEYWORD for p in parameters):
            near = difflib.get_close_matches(key, named, n=1)
            raise PilotlightError(
                f"{what} has no argument {key!r}", hint=(f"did you mean {near[0]}? " if near else "") + takes,
                kind="usage",
            )
    missing = [p.name for p in parameters if p.name in named and p.default is p.empty and p.name not in init]
    if missing:
        raise PilotlightError(
            f"{what} needs {', '.join(missing)}",
            hint=f"give {'it' if len(missing) == 1 else 'them'} with --init, such as --init {missing[0]}=32",
            kind="usage",
        )


def _with_inputs(
    thing: Any, what: str, inputs: Sequence[str]
) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any], Any]:
    """(module, positional example inputs, those by keyword, dynamic shapes); `--input` overrides what a function
    returned."""
    given: list[torch.Tensor] = []
    named: dict[str, torch.Tensor] = {}
    for number, text in enumerate(inputs):
        key, equals, shape = text.rpartition("=")
        if equals:
            named[key] = parse_input(shape, number)
        else:
            given.append(parse_input(shape, number))
    if isinstance(thing, torch.nn.Module):
        if not inputs and inspect.signature(thing.forward).parameters:
            raise PilotlightError(
                f"{what} returns a module without example inputs",
                hint="add --input SHAPE, for example --input 1x3x96x96, once per input",
                kind="usage",
            )
        return thing, tuple(given), dict(named), None
    if isinstance(thing, tuple) and 2 <= len(thing) <= 4 and isinstance(thing[0], torch.nn.Module):
        module, args, kwargs, shapes = (*thing, None, None)[:4]
        kwargs = {} if kwargs is None else kwargs
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
            raise PilotlightError(
                f"{what} gave (module, args, {type(kwargs).__name__}); expected a dictionary of keyword arguments",
                kind="usage",
            )
        return module, tuple(given) or args, {**kwargs, **named}, shapes
    shape = f"({', '.join(type(t).__name__ for t in thing)})" if isinstance(thing, tuple) else type(thing).__name__
    raise PilotlightError(
        f"{what} gave {shape}; expected a module, (module, example_inputs), (module, args, kwargs), an exported "
        "program or a dictionary of entry points",
        hint="make it return the module and a tuple of example tensors", kind="usage",
    )
