"""Programs and packages that Pilotlight uses on this computer, with their versions."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path

from pilotlight import boards
from pilotlight.cache import cache_folder
from pilotlight.toolchain.find import compilers
from pilotlight.version import __version__

_VERSION = re.compile(r"\b\d+(\.\d+)+")
_PACKAGED = re.compile(r"\([^)]*\)")  # the distribution's own number
_PATIENCE = 20.0  # seconds that a program may take to print its version
_PACKAGES = (
    "torch", "numpy", "sympy", "pyelftools", "jinja2", "rich", "click", "pyyaml", "filelock", "platformdirs",
)
# Programs besides compilers and emulators: the Debian package that brings each, and what it is for.
_PROGRAMS = {
    "make": ("make", "MicroPython"),
    "dpkg-source": ("dpkg-dev", "fetching MicroPython's source"),
    "cmake": ("cmake", "building the folder that `compile` writes"),
}


@dataclass(frozen=True)
class Part:
    """`version` is None if it is not installed; `install` then says how to install it."""

    name: str
    version: str | None
    where: str | None
    use: str
    install: str | None = None
    small: bool = False  # one of several that are shown together


def parts() -> list[Part]:
    """Everything, in the order in which it is needed."""
    programs = list(_programs())
    with ThreadPoolExecutor(4) as pool:
        return [*_python(), *pool.map(_program, *zip(*programs, strict=True))]


def _python() -> Iterator[Part]:
    yield Part("pilotlight", __version__, str(Path(__file__).parent), "")
    yield Part("Python", platform.python_version(), sys.executable, f"{platform.system()} {platform.machine()}")
    for name in _PACKAGES:
        yield replace(_package(name, "everything", f"pip install {name}"), small=name != "torch")
    yield _package("torchao", "--quantize int8, int16x8 and auto", "pip install --no-deps torchao==0.18.0")


def _package(name: str, use: str, install: str) -> Part:
    try:
        return Part(name, metadata.version(name), None, use)
    except metadata.PackageNotFoundError:
        return Part(name, None, None, use, install)


def _programs() -> Iterator[tuple[str, str | None, str]]:
    """Name, Debian package if there is one, and what it is for."""
    known = boards.all_boards()
    for name, (gcc, package) in compilers().items():
        users = [board.name for board in known if board.toolchain == name]
        yield gcc, package, "this computer, and counting instructions" if "host" in users else _named(users)
    emulators = {b.emulator.program: b.emulator.package for b in known if b.emulator}
    for program, package in emulators.items():
        runs = [board.name for board in known if board.emulator and board.emulator.program == program]
        yield program, package, f"running {_named(runs)}"
    for program, (package, use) in _PROGRAMS.items():
        yield program, package, use


def _named(users: list[str]) -> str:
    return ", ".join(users) if len(users) <= 2 else f"{users[0]} and {len(users) - 1} more boards"


@cache
def named_version(program: str) -> str | None:
    """Such as `qemu-system-arm 7.2.9`; None if there is no such program."""
    path = shutil.which(program)
    return f"{Path(program).name} {_version(path)}" if path else None


def _version(path: str) -> str:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_PATIENCE, errors="replace")
        found = _VERSION.search(_PACKAGED.sub("", said.stdout + said.stderr))
    except (OSError, subprocess.TimeoutExpired):
        found = None
    return found.group() if found else "unknown"


def _program(name: str, package: str | None, use: str) -> Part:
    path = shutil.which(name)
    if path is None:
        return Part(name, None, None, use, f"apt-get install {package}" if package else "no Debian package has it")
    return Part(name, _version(path), path, use)


def cache_state() -> dict[str, object]:
    """Where builds are kept, and whether that folder can be written."""
    folder = cache_folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return {"folder": str(folder), "writable": there.is_dir() and os.access(there, os.W_OK | os.X_OK)}


def micropython_state() -> str:
    """Where MicroPython's source comes from."""
    if os.environ.get("MICROPY_DIR"):
        return os.environ["MICROPY_DIR"]
    kept = cache_folder() / "micropython" / "source"
    return str(kept) if kept.exists() else "fetched from Debian when it is first needed"
