"""A child process that never outlives its parent."""

from __future__ import annotations

import contextlib
import logging
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pilotlight.system import child_options

_LOG = logging.getLogger(__name__)


def start(
    args: Sequence[str], cwd: Path, log: Path, stdin: int = subprocess.DEVNULL, stdout: int | None = None,
    own_group: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts a program; what it prints (without stdout, when that is a pipe) goes to the log file.

    It has a process group of its own, so it does not get the terminal's Ctrl-C.
    """
    _LOG.debug("%s", shlex.join(args))
    with log.open("wb") as file:
        return subprocess.Popen(
            args,
            cwd=cwd,
            stdin=stdin,
            stdout=file if stdout is None else stdout,
            stderr=file,
            bufsize=0,
            **child_options(own_group),
        )


def stop(process: subprocess.Popen[bytes], patience: float = 2.0) -> None:
    """Asks it to end, then makes it end."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    if process.poll() is None:
        process.kill()
    process.wait()


def tail(path: Path, lines: int = 20) -> str:
    """The last lines of a log."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-lines:]).strip()
