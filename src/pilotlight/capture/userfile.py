"""The user's Python: a file, a file inside a package, or `package.module`, run once; its exceptions as one sentence."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import pkgutil
import random
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from pilotlight.errors import PilotlightError, no_file

_loaded: set[str] = set()  # modules that came from users' files: these may be loaded again


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Seed all random numbers, so that the same command gives the same weights."""
    python, numbers = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)


def load_file(path: Path) -> ModuleType:
    """Run a file. In a package, and where it imports relative to itself, it is a module of that package."""
    if not path.is_file():
        files = [p.name for p in path.parent.glob("*.py") if p.is_file()]
        near = difflib.get_close_matches(path.name, files, n=1)
        raise no_file(path, hint=f"did you mean {path.with_name(near[0])}?" if near
                      else "check the path before the colon")
    here = path.resolve()
    root = here.parent
    for _ in range(_levels(here)):
        root = root.parent
    parts = here.relative_to(root).with_suffix("").parts
    _look_in(root)
    _forget(parts[0], root)
    with _told(path, root, f"running {path}"), seeded():
        if len(parts) > 1:
            return _import(".".join(parts))
        return _run_alone(here)


def load_module(name: str, model: str) -> ModuleType:
    """`package.module` as `python -m` finds it: from the current folder."""
    _look_in(Path.cwd())
    importlib.invalidate_caches()
    if not all(part.isidentifier() for part in name.split(".")):
        raise PilotlightError(
            f"{model!r} names no model: {name!r} is neither a .py file nor a module",
            hint="write file.py:name, package.module:name, or a .pt2 file from torch.export.save", kind="usage",
        )
    with _told(Path(name), Path.cwd(), f"importing {name}"), seeded():
        try:
            return _import(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # something that the module imports
            package, _, last = error.name.rpartition(".")
            inside = getattr(sys.modules.get(package), "__path__", []) if package else [str(Path.cwd())]
            near = difflib.get_close_matches(last, [m.name for m in pkgutil.iter_modules(inside)], n=1)
            raise PilotlightError(
                f"{model!r} names no model: there is no module {error.name!r}",
                hint=f"did you mean {error.name.removesuffix(last)}{near[0]}?" if near
                else "run the command in the folder of the package, or write path/to/file.py:name", kind="no-file",
            ) from error


def user_error(error: Exception, path: Path, doing: str, root: Path | None = None) -> PilotlightError:
    """An exception from the user's code as one sentence with the user's own line: the innermost below `root`, or
    of the file itself."""
    if isinstance(error, PilotlightError):
        return error
    if isinstance(error, SyntaxError):
        line = f"\n      {error.text.strip()}" if error.text else ""
        return PilotlightError(
            f"{doing} failed: {error.msg}{line}",
            where=_shown(error.filename, path) + (f":{error.lineno}" if error.lineno else ""),
            hint="correct this line" if error.lineno else "is it a Python file?", kind="user-code",
        )
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(Path(f.filename), path, root)]
    line = f"\n      {frames[-1].line}" if frames else ""
    text = str(error).strip().split("\n\n")[0]
    return PilotlightError(
        f"{doing} failed: {type(error).__name__}{': ' if text else ''}{text}{line}",
        where=f"{_shown(frames[-1].filename, path)}:{frames[-1].lineno}" if frames else str(path),
        hint="the exception comes from this line of the model's own code" if frames
        else "the exception comes from the model's own code",
        kind="user-code",
    )


@contextlib.contextmanager
def _told(path: Path, root: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise user_error(error, path, doing, root) from error


def _is_users(file: Path, path: Path, root: Path | None) -> bool:
    if not file.is_file():
        return False
    here = file.resolve()
    below = root is not None and here.is_relative_to(root.resolve()) and "site-packages" not in here.parts
    return here == path.resolve() or (below and not here.is_relative_to(Path(__file__).parents[1]))


def _shown(file: str | None, path: Path) -> str:
    """The path as the user wrote it, if it is that file."""
    return str(path if file is None or Path(file).resolve() == path.resolve() else from_here(Path(file)))


def from_here(file: Path) -> Path:
    """A path relative to the current folder, if it is inside."""
    here, folder = file.resolve(), Path.cwd()
    return here.relative_to(folder) if here.is_relative_to(folder) else here


def _levels(path: Path) -> int:
    """How many folders around a file are packages: those with an __init__.py, and those that `from ..x` needs."""
    count = 0
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        count += 1
    with contextlib.suppress(SyntaxError, UnicodeDecodeError, ValueError):  # reported when the file is run
        tree = ast.parse(path.read_bytes())
        count = max([count, *(node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))])
    return min(count, len(path.parents) - 1)


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path[:1]:
        sys.path.insert(0, str(folder))


def _forget(name: str, root: Path) -> None:
    """Make room for a package or file: forget what another of the user's files left under this name."""
    importlib.invalidate_caches()
    for known in [m for m in sys.modules if m.partition(".")[0] == name and m in _loaded]:
        del sys.modules[known]
    _loaded.difference_update({m for m in _loaded if m not in sys.modules})
    package = sys.modules.get(name)
    if package is not None and (root / name).is_dir() and str(root / name) not in getattr(package, "__path__", []):
        raise PilotlightError(
            f"the folder {root / name} cannot be imported as a package: a module {name!r} is loaded already",
            hint="rename the folder", kind="usage",
        )


def _import(name: str) -> ModuleType:
    before = set(sys.modules)
    try:
        return importlib.import_module(name)
    finally:
        top = name.partition(".")[0]
        _loaded.update(m for m in set(sys.modules) - before if m.partition(".")[0] == top)


def _run_alone(path: Path) -> ModuleType:
    """A single file, under its own name or, if a library of that name is loaded, another."""
    name = path.stem if path.stem not in sys.modules else f"_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _loaded.add(name)
    spec.loader.exec_module(module)
    return module
