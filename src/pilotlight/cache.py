"""What is kept on this computer: files that are built once, and folders that go away with the process that uses them.

A kept file has a digest next to it, so that one cut short by a full disk or a power cut is built again. A working
folder has a lock that its process holds while it lives; the kernel releases the lock however the process ends, and the
next process removes folders that nobody holds.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from pilotlight import system
from pilotlight.errors import PilotlightError

_LOCK = ".lock"


def cache_folder() -> Path:
    """$PILOTLIGHT_CACHE, or where the system keeps caches: ~/.cache/pilotlight on Linux."""
    return Path(os.environ.get("PILOTLIGHT_CACHE") or user_cache_path("pilotlight", appauthor=False)).absolute()


def locked(path: Path) -> FileLock:
    """A lock file: `with locked(path): ...` waits until nobody else holds it."""
    return FileLock(path, thread_local=False)


def is_whole(path: Path) -> bool:
    """Whether a kept file exists and has not changed since it was stored."""
    try:
        return _digest_file(path).read_text(encoding="utf-8") == _digest(path)
    except (OSError, UnicodeDecodeError):
        return False


def store(partial: Path, path: Path) -> None:
    """Move a finished file into place in one step: a reader sees either all of it or the previous file."""
    digest = _digest_file(partial)
    digest.write_text(_digest(partial), encoding="utf-8", newline="\n")
    partial.replace(path)
    digest.replace(_digest_file(path))


def once(path: Path, make: Callable[[Path], object]) -> Path:
    """A kept file, made by `make(file)` unless it is there and whole."""
    if not is_whole(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f"{path.name}.lock")):
            if not is_whole(path):
                partial = path.with_name(f"{path.name}.partial")
                make(partial)
                store(partial, path)
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def scratch_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A working folder; removed when it is cleaned up or collected, at the latest after this process ends.

    It is in the cache, or among the system's temporary files where the cache cannot be written.
    """
    failures = []
    for parent in (cache_folder() / "work", Path(tempfile.gettempdir()) / f"pilotlight-{system.user()}"):
        try:
            return tempfile.TemporaryDirectory(dir=_own_folder(parent, os.getpid()).path, prefix=prefix)
        except OSError as error:
            failures.append(f"{parent}: {error.strerror or error}")
    raise PilotlightError(
        f"there is no folder to work in ({'; '.join(failures)})",
        hint="set PILOTLIGHT_CACHE to a folder that can be written and has room", kind="file",
    )


class _Own:
    """The folder of one process, locked while it lives."""

    def __init__(self, parent: Path):
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not system.owned(parent):
            raise PermissionError(errno.EPERM, "it belongs to another user")
        with locked(parent / _LOCK):
            self.path = Path(tempfile.mkdtemp(dir=parent, prefix=f"{os.getpid()}-"))
            lock = locked(self.path / _LOCK)
            lock.acquire()
        weakref.finalize(self, _remove, self.path, lock, os.getpid())
        remove_dead(parent)


@functools.cache
def _own_folder(parent: Path, process: int) -> _Own:
    """One per process: a fork must not remove its parent's folder."""
    return _Own(parent)


def _remove(path: Path, lock: FileLock, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
        lock.release()


def remove_dead(parent: Path) -> None:
    """Remove the folders of processes that were killed before they could do so."""
    with locked(parent / _LOCK):  # nobody is between making a folder and locking it
        for folder in parent.iterdir():
            if folder.is_dir():
                try:
                    with locked(folder / _LOCK).acquire(blocking=False):
                        shutil.rmtree(folder, ignore_errors=True)
                except (Timeout, OSError):  # somebody holds it, or has just removed it
                    continue
