"""Weights from a file into a module: a state_dict that torch.save or safetensors wrote."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pilotlight.errors import PilotlightError, no_file

_NESTED = ("state_dict", "model_state_dict", "model")  # where training scripts keep it inside a checkpoint
_SHOWN = 4


def load_weights(module: torch.nn.Module, path: Path) -> None:
    """Load every tensor of the module from the file; keys and shapes must agree."""
    found = _read(path)
    wanted = module.state_dict()
    given = _without_prefix(found, wanted)
    missing = [key for key in wanted if key not in given]
    unknown = [key for key in given if key not in wanted]
    shapes = [
        f"{key} is {list(given[key].shape)}, expected {list(tensor.shape)}" for key, tensor in wanted.items()
        if key in given and given[key].shape != tensor.shape
    ]
    problems = [_list("misses", missing), _list("has keys that the model lacks:", unknown), _list("differs:", shapes)]
    if any(problems):
        raise PilotlightError(
            f"{path} does not fit {type(module).__name__}: it {'; it '.join(p for p in problems if p)}",
            hint="save model.state_dict() of this class, and give the same --init as in training",
            kind="weights",
        )
    module.load_state_dict(given)


def _read(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise no_file(path, "--weights: ")
    if path.suffix == ".safetensors":
        return _safetensors(path)
    try:
        data = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises whatever the bytes lead it to
        objects = "Unsupported global" in str(error) or "TorchScript" in str(error)
        raise PilotlightError(
            f"{path} holds Python objects; a file of weights holds only tensors" if objects
            else f"{path} cannot be read: torch.save did not write it, or it is damaged",
            hint="write it with torch.save(model.state_dict(), path)", kind="broken-file",
        ) from error
    return _state_dict(data, path)


def _state_dict(data: Any, path: Path) -> dict[str, torch.Tensor]:
    inner = [data[key] for key in _NESTED if key in data and isinstance(data[key], Mapping)] \
        if isinstance(data, Mapping) else []
    for candidate in (data, *inner):
        if isinstance(candidate, Mapping) and candidate and all(
            isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in candidate.items()
        ):
            return dict(candidate)
    holds = f"a dictionary with {', '.join(map(repr, list(data)[:_SHOWN]))}" if isinstance(data, Mapping) and data \
        else f"a {type(data).__name__}"
    raise PilotlightError(
        f"{path} holds {holds}; expected names and tensors, as model.state_dict() gives them",
        hint="write it with torch.save(model.state_dict(), path)", kind="broken-file",
    )


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        library = importlib.import_module("safetensors.torch")
    except ImportError as error:
        raise PilotlightError(
            f"{path} needs the library safetensors, which is not installed",
            hint="pip install safetensors, or save the weights with torch.save(model.state_dict(), path)",
            kind="missing-tool",
        ) from error
    try:
        return dict(library.load_file(path))
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PilotlightError(
            f"{path} cannot be read: {reason}", hint="write it with safetensors.torch.save_file", kind="broken-file"
        ) from error


def _without_prefix(given: dict[str, torch.Tensor], wanted: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Names without the common prefix that wrappers (DataParallel, torch.compile) add."""
    prefix = next(iter(given)).partition(".")[0] + "."
    if set(given) == set(wanted) or not all(key.startswith(prefix) for key in given):
        return given
    stripped = {key.removeprefix(prefix): tensor for key, tensor in given.items()}
    return stripped if set(stripped) & set(wanted) else given


def _list(what: str, items: list[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{what} {', '.join(items[:_SHOWN])}{more}" if items else ""
