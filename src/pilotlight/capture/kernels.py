"""Kernels and backends of users: from files that are named, and from packages that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from pilotlight.backends import Backend, add_backend
from pilotlight.capture.userfile import load_file
from pilotlight.custom import Kernel, add_kernel
from pilotlight.errors import PilotlightError, no_file

GROUP = "pilotlight.kernels"  # of entry points
_EXAMPLE = "a kernel is pilotlight.Kernel(...) at the top of the file: docs/adding-a-kernel.md"


def load_kernels(path: Path) -> list[Kernel]:
    """Run a Python file and add the kernels and backends that are variables of it, or in lists of it."""
    if not path.is_file():
        raise no_file(path)
    try:
        return add_all(load_file(path), str(path))
    except SystemExit as error:
        raise PilotlightError(
            f"{path}: the file ended the program with exit code {error.code}",
            hint='put what runs it as a script under if __name__ == "__main__"', kind="user-code",
        ) from error


def add_all(given: Any, what: str) -> list[Kernel]:
    """Add what a module, a list or a function brings; it must be something."""
    kernels, backends = [], []
    for item in _found(given() if callable(given) and not isinstance(given, Backend) else given):
        if isinstance(item, Kernel):
            kernels.append(add_kernel(item))
        else:
            backends.append(add_backend(item))
    if not kernels and not backends:
        raise PilotlightError(f"{what} has no kernel", hint=_EXAMPLE, kind="bad-kernel")
    _check_names(kernels, what)
    return kernels


def _check_names(kernels: Iterable[Kernel], what: str) -> None:
    names: dict[str, Kernel] = {}
    for kernel in kernels:
        if names.setdefault(kernel.name, kernel) is not kernel:
            raise PilotlightError(f"{what} has two kernels called {kernel.name}", hint="rename one", kind="bad-kernel")


def _found(given: Any) -> Iterator[Kernel | Backend]:
    """Each kernel and backend once, in order."""
    seen: dict[int, Kernel | Backend] = {}
    items: Iterable[Any] = vars(given).values() if isinstance(given, ModuleType) else [given]
    for item in items:
        for one in item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else [item]:
            if isinstance(one, Kernel | Backend):
                seen.setdefault(id(one), one)
    yield from seen.values()


@cache
def installed_kernels() -> tuple[Kernel, ...]:
    """Those of installed packages, added once."""
    return tuple(kernel for entry in metadata.entry_points(group=GROUP) for kernel in _loaded(entry))


def _loaded(entry: metadata.EntryPoint) -> list[Kernel]:
    try:
        return add_all(entry.load(), f"the entry point {entry.name} of {GROUP}")
    except Exception as error:  # the package's own code may raise anything
        text = error.message if isinstance(error, PilotlightError) else f"{type(error).__name__}: {error}"
        raise PilotlightError(
            f"the kernels {entry.name} of {entry.value} cannot be loaded: {text}",
            where=error.where if isinstance(error, PilotlightError) else None,
            hint="correct or remove the package that brings them", kind="bad-kernel",
        ) from error
