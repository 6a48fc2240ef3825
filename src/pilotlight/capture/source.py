"""What the user names on the command line → a graph: `file.py:name`, or a `.pt2` file."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import traceback
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pilotlight.capture.exported import capture_exported, export
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.dtypes import BY_NAME
from pilotlight.graph.names import model_name


def capture(module: torch.nn.Module, example_inputs: Sequence[Any] | torch.Tensor, name: str | None = None) -> Graph:
    """Capture a PyTorch module with example inputs as a graph."""
    if not isinstance(module, torch.nn.Module):
        raise PilotlightError(
            f"expected a torch.nn.Module, got {type(module).__name__}",
            hint="pass the model object itself",
            kind="usage",
        )
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else example_inputs
    return capture_exported(export(module, inputs), model_name(name or type(module).__name__))


def load_model(model: str, inputs: Sequence[str] = (), name: str | None = None) -> Graph:
    """The graph of `file.py:name` or `file.pt2`; `inputs` are shapes such as "1x3x96x96:int8"."""
    if model.endswith(".pt2"):
        return capture_exported(load_exported(Path(model)), model_name(name or Path(model).stem))
    file, colon, attribute = model.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise PilotlightError(
            f"{model!r} names no model",
            hint="write file.py:name (a function, module or class in it), or a .pt2 file from torch.export.save",
            kind="usage",
        )
    module, examples = _resolve(_load_file(Path(file)), file, attribute, [parse_input(i) for i in inputs])
    return capture(module, examples, name or attribute)


def parse_input(text: str) -> torch.Tensor:
    """`1x3x96x96` or `1x3x96x96:int8` as an example input: seeded noise, or zeros for integers."""
    shape, _, dtype = text.partition(":")
    kind = BY_NAME.get(dtype or "float32")
    if kind is None or not re.fullmatch(r"\d+(x\d+)*|scalar", shape):
        raise PilotlightError(
            f"--input {text!r} is not understood",
            hint=f"write a shape such as 1x3x96x96, with a dtype if it is not float32: 1x16:int64 "
            f"(known: {', '.join(BY_NAME)})",
            kind="usage",
        )
    sizes = [] if shape == "scalar" else [int(s) for s in shape.split("x")]
    if kind.kind in "fh":
        return torch.randn(sizes, generator=torch.Generator().manual_seed(0)).to(kind.torch)
    return torch.zeros(sizes, dtype=kind.torch)


def load_exported(path: Path) -> torch.export.ExportedProgram:
    if not path.is_file():
        raise PilotlightError(f"{path} does not exist", hint="check the path", kind="no-file")
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


def _load_file(path: Path) -> Any:
    """Run the user's file; an exception in it is shown with the user's own line."""
    if not path.is_file():
        raise PilotlightError(f"{path} does not exist", hint="check the path before the colon", kind="no-file")
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise user_error(error, path, f"running {path}") from error
    return module


def user_error(error: Exception, path: Path, doing: str) -> PilotlightError:
    """An exception from the user's file as one sentence with the line it came from."""
    if isinstance(error, PilotlightError):
        return error
    here = path.resolve()
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == here]
    if isinstance(error, SyntaxError):
        return PilotlightError(
            f"{doing} failed: {error.msg}\n      {(error.text or '').strip()}", where=f"{path}:{error.lineno}",
            hint="correct this line", kind="user-code",
        )
    line = f"\n      {frames[-1].line}" if frames else ""
    return PilotlightError(
        f"{doing} failed: {type(error).__name__}: {error}{line}",
        where=f"{path}:{frames[-1].lineno}" if frames else str(path),
        hint="the exception comes from this line of the model's own code",
        kind="user-code",
    )


def _resolve(loaded: Any, file: str, name: str, inputs: list[torch.Tensor]) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """The named thing as (module, example inputs)."""
    if not hasattr(loaded, name):
        names = sorted(k for k, v in vars(loaded).items() if callable(v) and not k.startswith("_"))
        raise PilotlightError(
            f"{file} has no {name!r}", hint=f"it has: {', '.join(names) or 'nothing callable'}", kind="usage"
        )
    thing = getattr(loaded, name)
    if (isinstance(thing, type) and issubclass(thing, torch.nn.Module)) or not isinstance(thing, torch.nn.Module):
        if not callable(thing):
            raise PilotlightError(
                f"{file}:{name} is a {type(thing).__name__}; expected a function, a module or a class", kind="usage"
            )
        try:
            thing = thing()
        except Exception as error:
            raise user_error(error, Path(file), f"calling {name}()") from error
    if isinstance(thing, torch.nn.Module):
        if not inputs:
            raise PilotlightError(
                f"{file}:{name} gives a module without example inputs",
                hint="add --input SHAPE, for example --input 1x3x96x96, once per input",
                kind="usage",
            )
        return thing, tuple(inputs)
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], torch.nn.Module):
        module, examples = thing
        return module, tuple(inputs) or (examples if isinstance(examples, tuple) else (examples,))
    raise PilotlightError(
        f"{file}:{name} gave {type(thing).__name__}; expected a module, or (module, example_inputs)", kind="usage"
    )
