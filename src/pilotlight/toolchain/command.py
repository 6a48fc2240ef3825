"""Running a compiler: what it prints on failure becomes one line that a user can act on."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pilotlight.errors import PilotlightError

_OVERFLOW = re.compile(r"region [`'](\w+)' overflowed by (\d+) bytes?")
_PARALLEL = 2


def run(args: Sequence[str], cwd: Path | None = None) -> str:
    """Standard output of a tool; PilotlightError with the first error line when it fails."""
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return done.stdout
    raise _failure(args, done.stderr)


def in_parallel(jobs: Sequence[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result()


def _failure(args: Sequence[str], output: str) -> PilotlightError:
    overflows = {region: int(by) for region, by in _OVERFLOW.findall(output)}
    if overflows:
        return does_not_fit(overflows)
    lines = [line for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\berror:|undefined reference|multiple definition", line)]
    first = (telling or lines or ["no message"])[0].strip()
    return PilotlightError(
        f"{Path(args[0]).name} failed: {first}",
        hint="the whole command: " + " ".join(args),
        kind="compiler",
    )


def does_not_fit(overflows: dict[str, int], where: str | None = None) -> PilotlightError:
    parts = ", ".join(f"{region} by {by:,} bytes" for region, by in overflows.items())
    return PilotlightError(
        f"the model does not fit: it exceeds {parts}",
        where=where,
        hint="choose a larger board, put weights or arena into another memory, or make the model smaller",
        kind="does-not-fit",
    )
