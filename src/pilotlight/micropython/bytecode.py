"""Python compiled to MicroPython's bytecode (.mpy), which every port with the same version of it loads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from pilotlight.micropython.make import mpy_cross
from pilotlight.micropython.source import micropython_source

_OPTIONS = ("-O3", "-s", "torch")  # no asserts and no line numbers; the file's name in a traceback


@cache
def _compile(program: str, text: str) -> bytes:
    done = subprocess.run([program, *_OPTIONS, "-"], input=text.encode(), capture_output=True, close_fds=False)
    assert not done.returncode, done.stderr.decode()
    return done.stdout


def compile_all(texts: Iterable[str]) -> list[bytes]:
    """The bytecode of each text; empty for an empty one."""
    program = str(mpy_cross(micropython_source()))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda text: _compile(program, text) if text else b"", texts))


def bytecode_version() -> int:
    """The version of .mpy files, which the firmware must share."""
    return compile_all(["pass"])[0][1]
