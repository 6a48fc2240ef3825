"""`--input` for a TorchScript model: its forward says which arguments are tensors, and which are numbers or text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pilotlight.capture.inputs import parse_input
from pilotlight.errors import PilotlightError

_PLAIN = {"int": int, "float": float, "bool": bool, "str": str}


def read_arguments(schema: Any, inputs: Sequence[str], path: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of `forward`."""
    wanted = list(schema.arguments)[1:]
    takes = ", ".join(f"{a.name}: {a.type}" for a in wanted) or "none"
    kinds = {a.name: str(a.type) for a in wanted}
    given: list[Any] = []
    named: dict[str, Any] = {}
    for number, text in enumerate(inputs):
        key, equals, shape = text.partition("=")
        if equals and key not in kinds:
            raise _wrong(f"{path} has no input {key!r}", takes)
        if not equals and len(given) >= len(wanted):
            raise _wrong(f"{path} takes {len(wanted)} inputs, got {len(inputs)}", takes)
        name = key if equals else wanted[len(given)].name
        value = _value(shape if equals else text, name, kinds[name], number, path)
        if equals:
            named[name] = value
        else:
            given.append(value)
    have = {a.name for a in wanted[: len(given)]} | set(named)
    missing = [a.name for a in wanted if a.name not in have and not a.has_default_value()]
    if missing:
        raise _wrong(f"{path} needs an --input for {', '.join(missing)}", takes)
    return tuple(given), named


def _value(text: str, name: str, kind: str, number: int, path: Path) -> Any:
    kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional[") else kind
    if kind == "Tensor":
        return parse_input(text, number)
    if kind not in _PLAIN:
        raise PilotlightError(
            f"input {name} of {path} is a {kind}; only tensors, numbers and text can be given with --input",
            hint="give the model's own Python, file.py:name, which returns (module, example_inputs)",
            kind="wrong-input",
        )
    if kind == "str":
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if type(value) is not _PLAIN[kind] and not (kind == "float" and type(value) is int):
        raise PilotlightError(
            f"input {name} of {path} is a number of type {kind}; --input {text!r} is none",
            hint=f"write its value: --input {name}={_PLAIN[kind](1)}", kind="wrong-input",
        )
    return _PLAIN[kind](value)


def _wrong(message: str, takes: str) -> PilotlightError:
    return PilotlightError(
        message, kind="wrong-input",
        hint=f"its forward takes: {takes}; give one --input for each: a shape such as 1x512, the value of a number",
    )
