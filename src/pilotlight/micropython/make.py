"""Runs make and other tools for MicroPython: its ports, and its bytecode compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache as cached
from pathlib import Path

from pilotlight.errors import DoesNotFitError, MissingToolError, PilotlightError
from pilotlight.micropython import cache

_TELLING = re.compile(
    r"\b[Ee]rror: (?!ld returned)(.*)|(undefined reference to .*|multiple definition of .*)|\*\*\* (.*)"
    r"|CMake Error.*\n\s*(.*)"
)
_OVERFLOW = re.compile(r"region [`'](\w+)' overflowed by (\d+) bytes?")


def tool(name: str, package: str, what: str) -> str:
    """The path of a program that a build needs."""
    path = shutil.which(name)
    if path is None:
        raise MissingToolError(name, package, f"to build MicroPython for {what}")
    return path


@cached
def compiler_version(compiler: str) -> str:
    asked = [compiler, "--version"]
    return subprocess.run(asked, capture_output=True, encoding="utf-8", errors="replace", check=True).stdout


def mpy_cross(source: Path) -> Path:
    """The bytecode compiler, which freezing and packing need."""
    version = compiler_version(tool("gcc", "gcc", "this computer"))
    work = cache.folder() / f"mpy-cross-{cache.digest([str(source), version])}"
    program = work / "build" / "mpy-cross"
    with cache.lock(work.name):
        if not cache.is_whole(program):
            with cache.unfinished(work):
                program.unlink(missing_ok=True)  # otherwise it counts as up to date
                run_make(source / "mpy-cross", {"BUILD": str(work / "build")}, work / "log.txt", "mpy-cross")
            cache.store(program, program)
    return program


def run_make(folder: Path, variables: dict[str, str], log: Path, what: str, *more: str) -> None:
    """Run make; `more` are other words of its command."""
    tool("make", "make", what)
    arguments = [f"{name}={value}" for name, value in {"PYTHON": sys.executable, **variables}.items()]
    run_logged(["make", "-C", str(folder), "-j2", *more, *arguments], log, what)


def run_logged(command: list[str], log: Path, what: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a tool with its output in a log; the user sees the first error line. `variables` are of its environment."""
    log.parent.mkdir(exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    with log.open("wb") as file:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                              env={**environment, **(variables or {})})
    if done.returncode:
        text = log.read_text(encoding="utf-8", errors="replace")
        overflows = {region: int(by) for region, by in _OVERFLOW.findall(text)}
        if "HEAP" in overflows:
            raise PilotlightError(
                f"the heap is {overflows['HEAP']:,} bytes too large for {what}", where=str(log),
                hint="give less with --heap", kind="does-not-fit",
            )
        if overflows:
            raise DoesNotFitError(overflows, where=str(log))
        first = next((next(filter(None, m.groups())) for m in _TELLING.finditer(text)), f"{command[0]} failed")
        raise PilotlightError(f"{what} could not be built: {first}", where=str(log), kind="compiler")
