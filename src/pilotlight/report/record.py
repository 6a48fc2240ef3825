"""The object that `run --json` prints, read back from a file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

from pilotlight.errors import PilotlightError, no_file
from pilotlight.figures.record import FORMAT

_NEEDED = ("name", "board", "match", "flash", "ram", "network", "hardware", "made")
_HINT = "write it with `pilotlight run MODEL --json > FILE`"


def read_run(path: Path) -> dict[str, Any]:
    """A run from a file; anything else in the file is an error in one sentence."""
    if not path.is_file():
        raise no_file(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        raise PilotlightError(f"{path} is not JSON: {reason}", hint=_HINT, kind="broken-file") from error
    if isinstance(data, dict) and isinstance(data.get("error"), dict):
        raise PilotlightError(
            f"{path} holds an error, not a run: {data['error'].get('message')}", hint="fix that and run again",
            kind="broken-file",
        )
    if not isinstance(data, dict) or ("format" not in data and "operators" not in data):
        raise PilotlightError(f"{path} is JSON, but not what `pilotlight run --json` prints", hint=_HINT,
                              kind="broken-file")
    if data.get("format") != FORMAT:
        raise PilotlightError(
            f"{path} has format {data.get('format', 'none')}; expected {FORMAT}",
            hint="run the model again with this version of Pilotlight", kind="broken-file",
        )
    if isinstance(data.get("entries"), dict):
        raise PilotlightError(
            f"{path} is a run of the entry points {', '.join(data['entries'])}; a page shows one of them",
            hint="save one of the objects in `entries` in a file of its own", kind="unsupported",
        )
    missing = [key for key in _NEEDED if key not in data]
    if missing:
        raise PilotlightError(f"{path} is not whole: {', '.join(missing)} is missing", hint=_HINT, kind="broken-file")
    return data


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """While a run from a file is shown, malformed parts of it are reported as an error in the file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, jinja2.TemplateError) as error:
        raise PilotlightError(
            f"{path} is not whole: {type(error).__name__}: {error}", hint=_HINT, kind="broken-file"
        ) from error
