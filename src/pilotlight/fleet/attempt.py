"""A piece of work in another process: its result or its error, which must survive the way back."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pilotlight.errors import PilotlightError

Item = TypeVar("Item")


@dataclass(frozen=True)
class Attempt:
    result: Any = None
    error: Exception | None = None
    worker: str = ""  # who made it, in a cluster


def attempt(function: Callable[[Item], Any], item: Item) -> Attempt:
    try:
        return Attempt(function(item))
    except Exception as error:
        return Attempt(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """The same error in a form that can be sent: many cannot be made again from what they hold."""
    if isinstance(error, PilotlightError):
        return PilotlightError(error.message, where=error.where, hint=error.hint, kind=error.kind)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
