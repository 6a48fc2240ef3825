"""What to type instead if a model is too large: worked out, not guessed, within a time limit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from typing import TypeVar

from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError
from pilotlight.system import LateError, alarm

T = TypeVar("T")
SECONDS = 20.0  # for all ways together


def advise(error: PilotlightError, args: Sequence[str], talk: Talk) -> None:
    """Add what would fit to the hint of an error, and name a budget by the option as typed."""
    if error.kind not in ("does-not-fit", "over-budget", "unknown-size"):
        return
    from pilotlight.compiler import BudgetError, Build, TooLargeError

    if isinstance(error, TooLargeError):
        build, others = error.build, error.others
    elif isinstance(error, BudgetError):
        option = f"--{error.excess.option.replace('_', '-')}"
        error.name_option(_typed(option, args))
        build, others = error.build, [f"allow more with {option}"]
    else:
        return
    if error.kind == "unknown-size" or not isinstance(build, Build):
        return
    from pilotlight.smaller import candidates, smaller_ways

    with talk.stage("working out what would fit"):
        found = dict(collected(smaller_ways(build), SECONDS))
    ways = [str(way) for way in found.values() if way is not None]
    left = [candidate.options for candidate in candidates(build) if candidate not in found and not candidate.together]
    if left:
        ways.append(f"perhaps {' or '.join(left)}: there was no time to work out what they need")
    error.hint = "\n        ".join([*ways, "; ".join([*others, "make the model smaller"])])


def _typed(option: str, args: Sequence[str]) -> str:
    """The option with its value, as it stands among the arguments."""
    for at, arg in enumerate(args):
        if arg == option and at + 1 < len(args):
            return f"{option} {args[at + 1]}"
        if arg.startswith(f"{option}="):
            return arg
    return option


def collected(items: Iterable[T], seconds: float) -> list[T]:
    """As many items as there is time for; only the main thread can be interrupted by an alarm."""
    found: list[T] = []
    if threading.current_thread() is not threading.main_thread() or seconds <= 0:
        return found
    with contextlib.suppress(LateError), alarm(seconds):
        for item in items:
            found.append(item)
    return found
