"""Runs a text as a script under the MicroPython that has the module, built once into the cache."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from pilotlight.micropython.build import unix_binary

HEAP = "64m"


@cache
def default_binary() -> Path:
    return unix_binary()


def run_script(
    text: str, timeout: float = 60.0, binary: Path | None = None, heap: str = HEAP, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What the script printed and how it ended; modules in `cwd` can be imported."""
    program = binary or default_binary()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(text)
        return subprocess.run(
            [program, "-X", f"heapsize={heap}", path], capture_output=True, text=True, timeout=timeout,
            cwd=cwd or folder, stdin=subprocess.DEVNULL,
            env={**os.environ, "MICROPYPATH": f"{cwd or folder}:.frozen"},
        )


def output(text: str, timeout: float = 60.0, binary: Path | None = None, cwd: Path | None = None) -> str:
    """What a script printed that must end well."""
    done = run_script(text, timeout, binary, cwd=cwd)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
