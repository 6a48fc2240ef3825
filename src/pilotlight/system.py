"""What differs between Linux, macOS and Windows. Nothing else asks which of them this is."""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import importlib
import os
import platform
import select
import signal
import string
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pilotlight.errors import MissingPackageError, PilotlightError

WINDOWS = sys.platform == "win32"
LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1  # Linux
_MOUNTS = Path("/proc/mounts")
_FAT = ("vfat", "msdos", "exfat")
_PLACES = ("media/*/*", "run/media/*/*", "Volumes/*")
_NEW_GROUP = 0x200  # Windows: CREATE_NEW_PROCESS_GROUP

# Signals besides Ctrl-C that ask a program to end.
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def platform_name() -> str:
    """Such as `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


def load_package(name: str, instead: str | None, why: str) -> ModuleType:
    """A Python package with a compiled part, which there may not be for this system."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise MissingPackageError(name, platform_name(), str(error), instead, why) from error


def user() -> str:
    """A name for the user that can be part of a file's name."""
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def owned(path: Path) -> bool:
    """Whether a folder belongs to this user; where files have no owners, the place says so."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def has_pipes() -> bool:
    """Whether two programs can share named pipes, through which QEMU is driven."""
    return hasattr(os, "mkfifo")


def open_pipe(path: Path) -> int:
    """A new named pipe, open for both directions: opening then never waits, whichever side comes first."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def pipe_ready(fd: int, writing: bool, milliseconds: int) -> bool:
    """Whether a pipe can be written or read within some time."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT if writing else select.POLLIN)
    return bool(poll.poll(milliseconds))


def child_options(own_group: bool) -> dict[str, Any]:
    """For subprocess.Popen: the child ends with its parent where the system can see to that, and in a group of its own
    it does not get the terminal's Ctrl-C."""
    if WINDOWS:
        return {"creationflags": _NEW_GROUP if own_group else 0}
    options: dict[str, Any] = {"process_group": 0} if own_group else {}
    if sys.platform == "linux":
        options["preexec_fn"] = _die_with_parent
    return options


# Looked up before the fork: between fork and exec nothing may be imported.
_prctl: Callable[..., int] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _die_with_parent() -> None:
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def ctrl_c_is_the_childs() -> Iterator[dict[str, Any]]:
    """A program on this terminal gets Ctrl-C, and this one does not; yields options for subprocess.Popen."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield {} if WINDOWS else {"preexec_fn": _usual_interrupt}
    finally:
        signal.signal(signal.SIGINT, before)


def _usual_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def mounted_drives() -> list[Path]:
    """Where removable drives may be, each once."""
    found: list[Path] = []
    if _MOUNTS.exists():
        rows = [line.split() for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
        found += [Path(row[1].replace("\\040", " ")) for row in rows if len(row) > 2 and row[2] in _FAT]
    for place in _PLACES:
        found += sorted(Path("/").glob(place))
    if WINDOWS:
        found += [Path(f"{letter}:/") for letter in string.ascii_uppercase]
    return list(dict.fromkeys(found))


class LateError(BaseException):
    """The alarm of `alarm` rang."""


def _ring(*_: Any) -> None:
    raise LateError


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise LateError in the main thread after some seconds; without a timer, at once."""
    if not hasattr(signal, "setitimer"):
        raise LateError
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def need_terminals(what: str) -> None:
    """Refuse what works through a POSIX terminal."""
    if WINDOWS:
        raise PilotlightError(
            f"{what} needs a POSIX system, and this is Windows", hint="use Linux, macOS or WSL", kind="not-runnable"
        )
