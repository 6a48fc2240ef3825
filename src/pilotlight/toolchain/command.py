"""Running a compiler: what it prints on failure becomes one line that a user can act on."""

from __future__ import annotations

import logging
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.system import platform_name

_OVERFLOW = re.compile(r"region [`'](\w+)':? overflowed(?: by|:) (\d+) bytes?")
_UNDEFINED = re.compile(r"undefined (?:reference|symbol)")
_TELLING = re.compile(r"\b[Ee]rror:|undefined (?:reference|symbol)|multiple definition")
_PARALLEL = 2
_LOG = logging.getLogger(__name__)


class LinkError(PilotlightError):
    """Something is used and not there."""


def run(args: Sequence[str], cwd: Path | None = None) -> str:
    """Standard output of a tool; PilotlightError with the first error line when it fails."""
    _LOG.debug("%s", shlex.join(args))
    try:
        done = subprocess.run(args, cwd=cwd, capture_output=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise PilotlightError(
            f"{Path(args[0]).name} does not start on {platform_name()}: {error.strerror or error}",
            where=args[0], hint="install it again, or another compiler: pilotlight doctor lists them",
            kind="missing-tool",
        ) from error
    if done.returncode == 0:
        return done.stdout
    raise _failure(args, done.stderr)


def in_parallel(jobs: Sequence[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result()


def _failure(args: Sequence[str], output: str) -> PilotlightError:
    overflows: dict[str, int] = {}
    for region, by in _OVERFLOW.findall(output):  # lld says it again for each section
        overflows[region] = max(int(by), overflows.get(region, 0))
    if overflows:
        return DoesNotFitError(overflows)
    lines = [line for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    first = (telling or lines or ["no message"])[0].strip()
    return (LinkError if _UNDEFINED.search(output) else PilotlightError)(
        f"{Path(args[0]).name} failed: {first}",
        hint="the whole command: " + " ".join(args),
        kind="compiler",
    )
