"""Folders of the cache, each built by one process at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pilotlight.cache import cache_folder, is_whole, locked, store
from pilotlight.errors import PilotlightError

__all__ = ["digest", "files_digest", "folder", "is_whole", "lock", "prune", "store", "touch", "unfinished", "update"]

_KEPT = 3 * 24 * 3600.0  # seconds that something unused is kept


def folder() -> Path:
    """The folder for everything about MicroPython."""
    path = cache_folder() / "micropython"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Others that want the same folder wait until it is there."""
    with locked(folder() / f"{name}.lock"):
        yield


@contextlib.contextmanager
def unfinished(work: Path) -> Iterator[None]:
    """A build in its own folder: the remains of a killed build are not reused."""
    mark = work / "unfinished"
    if mark.exists():
        shutil.rmtree(work / "build", ignore_errors=True)
    work.mkdir(exist_ok=True)
    mark.touch()
    try:
        yield
    except PilotlightError:  # make ended normally, so every object is complete
        mark.unlink()
        raise
    mark.unlink()


def digest(items: Iterable[str | bytes]) -> str:
    total = hashlib.sha256()
    for item in items:
        data = item.encode() if isinstance(item, str) else item
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:16]


def files_digest(folders: Iterable[Path]) -> str:
    """A digest of every file below, by name and content."""
    parts: list[str | bytes] = []
    for top in folders:
        for path in sorted(p for p in top.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            parts += [str(path.relative_to(top)), path.read_bytes()]
    return digest(parts)


def touch(path: Path) -> None:
    """Record that it was used."""
    with contextlib.suppress(OSError):
        os.utime(path)


def prune(pattern: str) -> None:
    """Remove what has not been used for days."""
    for path in folder().glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT:
                shutil.rmtree(path, ignore_errors=True)


def update(path: Path, data: bytes) -> None:
    """Write a file unless it is unchanged: an untouched file is not compiled again."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
