"""Whether a model takes its example inputs; torch.export's own error is less clear."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pilotlight.errors import PilotlightError


def check_call(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse example inputs that the function cannot be called with."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # built in: torch.export will tell
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        by_name = [p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
        raise PilotlightError(
            f"{name}{signature} does not take these example inputs: {error}",
            hint=f"give {by_name[0]} by its name: (module, args, kwargs), or --input {by_name[0]}=SHAPE" if by_name
            else "give one example for each argument, in this order",
            kind="wrong-input",
        ) from error
