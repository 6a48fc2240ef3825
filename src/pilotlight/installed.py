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
from pilotlight.errors import MissingPackageError
from pilotlight.system import load_package, platform_name
from pilotlight.toolchain import zig
from pilotlight.toolchain.find import Toolchain, compilers, has_zig
from pilotlight.version import __version__

_VERSION = re.compile(r"\b\d+(\.\d+)+")
_PACKAGED = re.compile(r"\([^)]*\)")  # the distribution's own number
_PATIENCE = 20.0  # seconds that a program may take to print its version
_PACKAGES = (
    "torch", "numpy", "sympy", "pyelftools", "capstone", "pyserial", "jinja2", "rich", "click", "pyyaml",
    "filelock", "platformdirs",
)
_COMPILED = ("capstone", "unicorn")  # installed, they may still not load
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
    instead: str | None = None  # what takes its place where it is not installed
    small: bool = False  # one of several that are shown together


def parts() -> list[Part]:
    """Everything, in the order in which it is needed."""
    programs = list(_programs())
    with ThreadPoolExecutor(4) as pool:
        return [*_python(), *pool.map(_program, *zip(*programs, strict=True))]


def _python() -> Iterator[Part]:
    yield Part("pilotlight", __version__, str(Path(__file__).parent), "")
    yield Part("Python", platform.python_version(), sys.executable, platform_name())
    for name in _PACKAGES:
        yield replace(_package(name, "everything", f"pip install {name}"), small=name != "torch")
    compiler = _package("ziglang", "compiling without GCC", zig.INSTALL)
    yield replace(compiler, small=True)
    yield replace(_package("unicorn", "running boards without QEMU", "pip install unicorn"), small=True)
    yield _package("torchao", "--quantize int8, int16x8 and auto", "pip install --no-deps torchao==0.18.0")


def _package(name: str, use: str, install: str) -> Part:
    try:
        if name in _COMPILED:
            load_package(name, None, "")
        return Part(name, metadata.version(name), None, use)
    except (metadata.PackageNotFoundError, MissingPackageError):
        return Part(name, None, None, use, install)


def _programs() -> Iterator[tuple[str, str | None, str, str | None]]:
    """Name, Debian package if there is one, what it is for, and what can take its place."""
    known = boards.all_boards()
    for name, (gcc, package) in compilers().items():
        users = [board.name for board in known if board.toolchain == name]
        use = "this computer, and counting instructions" if "host" in users else _named(users)
        yield gcc, package, use, "zig takes its place" if has_zig(name) else None
    emulators = {b.emulator.program: b.emulator.package for b in known if b.emulator}
    for program, package in emulators.items():
        runs = [b for b in known if b.emulator and b.emulator.program == program]
        alone = [b.name for b in runs if not b.in_process]
        instead = f"unicorn takes its place{f', except on {_named(alone)}' if alone else ''}"
        yield program, package, f"running {_named([b.name for b in runs])}", instead
    for program, (package, use) in _PROGRAMS.items():
        yield program, package, use, None


def _named(users: list[str]) -> str:
    return ", ".join(users) if len(users) <= 2 else f"{users[0]} and {len(users) - 1} more boards"


def compiler_version(toolchain: Toolchain) -> str | None:
    """Such as `arm-none-eabi-gcc 12.2.1` or `zig 0.17.0`."""
    return f"zig {zig.version()}" if toolchain.kind == "zig" else named_version(toolchain.command[0])


@cache
def named_version(program: str) -> str | None:
    """Such as `qemu-system-arm 7.2.9`; None if there is no such program."""
    path = shutil.which(program)
    return f"{Path(program).name} {_version(path)}" if path else None


def _version(path: str) -> str:
    try:
        asked = [path, "--version"]
        said = subprocess.run(asked, capture_output=True, encoding="utf-8", errors="replace", timeout=_PATIENCE)
        found = _VERSION.search(_PACKAGED.sub("", said.stdout + said.stderr))
    except (OSError, subprocess.TimeoutExpired):
        found = None
    return found.group() if found else "unknown"


def _program(name: str, package: str | None, use: str, instead: str | None) -> Part:
    path = shutil.which(name)
    if path is None:
        install = f"apt-get install {package}" if package else "no Debian package has it"
        return Part(name, None, None, use, install, instead)
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
