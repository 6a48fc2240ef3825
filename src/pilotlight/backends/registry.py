"""Backends by name: those that come with Pilotlight, those of installed packages, and those that a program adds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from pilotlight.backends.base import Backend
from pilotlight.backends.cmsis_nn.backend import CmsisNn
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.options import Options

GROUP = "pilotlight.backends"  # of entry points
_BACKENDS: dict[str, Backend] = {}


def add_backend(backend: Backend) -> Backend:
    """Make a backend known by its name; a later one of the same name takes its place."""
    _check_type(backend)
    if not backend.name:
        raise PilotlightError(
            f"the backend {type(backend).__name__} has no name", hint='write name = "..." in the class',
            kind="bad-backend",
        )
    _BACKENDS[backend.name] = backend
    return backend


def _check_type(backend: object) -> None:
    if not isinstance(backend, Backend):
        what = f"the class {backend.__name__}" if isinstance(backend, type) else type(backend).__name__
        raise PilotlightError(
            f"expected an instance of Backend, got {what}", hint="derive from pilotlight.Backend and create one",
            kind="bad-backend",
        )


def backends_on(board: Board, options: Options) -> list[Backend]:
    """The backends that the options name, in their order, as they are on a board; other kernels come last."""
    return [_on(board, backend) for backend in (*map(_find, options.engines), *_kernels(options))]


def _on(board: Board, backend: Backend) -> Backend:
    found = backend.on(board)
    if not isinstance(found, Backend):
        raise PilotlightError(
            f"the backend {backend.name} cannot be used: {found}", where=f"board {board.name}",
            hint="choose another board, or compile without the backend", kind="unsupported",
        )
    return found


def _kernels(options: Options) -> Iterator[Backend]:
    """What takes the place of our own kernels."""
    if options.cmsis_nn is not None:
        yield CmsisNn.from_folder(options.cmsis_nn)


def _find(name: str) -> Backend:
    if name not in _BACKENDS:
        _import_own()
    if name not in _BACKENDS:
        for entry in metadata.entry_points(group=GROUP, name=name):
            found = _loaded(entry)
            if add_backend(found).name != name:
                raise PilotlightError(f"the entry point {name} of {GROUP} gives a backend called {found.name}",
                                      hint="give both one name", kind="bad-backend")
    if name not in _BACKENDS:
        known = sorted({*_BACKENDS, *(entry.name for entry in metadata.entry_points(group=GROUP))})
        raise PilotlightError(
            f"there is no backend {name!r}", hint=f"there are: {', '.join(known)}" if known else "none is installed",
            kind="usage",
        )
    return _BACKENDS[name]


@cache
def _import_own() -> None:
    """The files of this folder."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"pilotlight.backends.{module.name}")


def _loaded(entry: metadata.EntryPoint) -> Backend:
    try:
        found = entry.load()
        made: Backend = found() if isinstance(found, type) else found
        return made
    except Exception as error:  # the package's own code may raise anything
        raise PilotlightError(
            f"the backend {entry.name} of {entry.value} cannot be loaded: {type(error).__name__}: {error}",
            hint="reinstall or remove the package that brings it", kind="bad-backend",
        ) from error
