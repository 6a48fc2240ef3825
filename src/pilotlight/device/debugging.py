"""Debuggers: gdb, and the server that it talks to: QEMU's own, pyOCD's, or OpenOCD."""

from __future__ import annotations

import contextlib
import importlib.util
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.device.booted import emulator_arguments
from pilotlight.device.flashing.openocd import openocd_command
from pilotlight.device.process import start, stop, tail
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.system import ctrl_c_is_the_childs

USUAL_PORT = 3333
_MULTIARCH = "gdb-multiarch"
_SETTLES = 0.5  # seconds in which a server that cannot work has ended


@dataclass(frozen=True)
class DebugJob:
    """A program on a board. Paths in commands are relative to `folder`, where they are run."""

    board: Board
    folder: Path
    program: Path
    probe: str | None = None

    @property
    def image(self) -> str:
        return self.program.relative_to(self.folder).as_posix()


@dataclass(frozen=True)
class DebugServer:
    """What gdb connects to. `begin` is what gdb does first: a real board gets the program and starts over."""

    name: str
    takes: Callable[[Board], bool]
    installed: Callable[[Board], bool]
    command: Callable[[DebugJob, int], list[str]]
    missing: Callable[[Board], PilotlightError]
    begin: tuple[str, ...] = ()


def _qemu(job: DebugJob, port: int) -> list[str]:
    emulator = job.board.emulator
    assert emulator is not None
    arguments = emulator_arguments(emulator, job.program)
    arguments[arguments.index(str(job.program))] = job.image
    line = ["-chardev", "stdio,id=line,mux=on,signal=off", "-serial", "chardev:line"]
    line += ["-semihosting-config", "enable=on,target=native,chardev=line"]
    return [emulator.program, *arguments, *line, "-S", "-gdb", f"tcp:127.0.0.1:{port}"]


def _pyocd(job: DebugJob, port: int) -> list[str]:
    probe = ["--probe", job.probe] if job.probe else []
    target = ["--target", str(job.board.flashing.pyocd), "--port", str(port)]
    return ["pyocd", "gdbserver", *target, *probe, "--semihosting"]


def _openocd(job: DebugJob, port: int) -> list[str]:
    probe = ["-c", f"adapter serial {job.probe}"] if job.probe else []
    arm = ["-c", "init; arm semihosting enable"] if job.board.toolchain.startswith("arm") else []
    lines = ["-c", f"gdb_port {port}; telnet_port disabled; tcl_port disabled"]
    return [*openocd_command(job.board.flashing.openocd), *probe, *lines, *arm]


_LOADED = ("load", "monitor reset halt")
SERVERS = (
    DebugServer(
        "pyocd", lambda board: board.flashing.pyocd is not None,
        lambda board: shutil.which("pyocd") is not None or importlib.util.find_spec("pyocd") is not None, _pyocd,
        lambda board: MissingToolError("pyocd", None, f"to debug {board.name}", "pip install pyocd"), _LOADED,
    ),
    DebugServer(
        "openocd", lambda board: bool(board.flashing.openocd), lambda board: shutil.which("openocd") is not None,
        _openocd, lambda board: MissingToolError("openocd", "openocd", f"to debug {board.name}"), _LOADED,
    ),
    DebugServer(
        "emulator", lambda board: board.emulator is not None,
        lambda board: board.emulator is not None and shutil.which(board.emulator.program) is not None, _qemu,
        lambda board: MissingToolError(
            board.emulator.program if board.emulator else "", board.emulator.package if board.emulator else None,
            f"to run {board.name}",
        ),
    ),
)


def choose_server(board: Board, wanted: str | None = None) -> DebugServer:
    """The one that the user wants, or the first that the board's file has the facts for and that is installed."""
    fitting = [server for server in SERVERS if server.takes(board)]
    names = [server.name for server in fitting]
    if wanted is not None and wanted not in names:
        raise PilotlightError(
            f"{board.name} cannot be debugged with {wanted}", hint=f"there is: {', '.join(names) or 'nothing'}",
            kind="usage",
        )
    if not fitting:
        raise PilotlightError(
            f"nothing is known that debugs {board.name}",
            hint="its file has no flashing.pyocd, no flashing.openocd and no emulator", kind="usage",
        )
    if wanted is not None:
        return fitting[names.index(wanted)]
    return next((server for server in fitting if server.installed(board)), fitting[0])


def gdb_name(board: Board) -> str:
    """The debugger for a board's core that is installed, or the one to install."""
    own = f"{board.toolchain}-gdb"
    return next((name for name in (_MULTIARCH, own) if shutil.which(name)), _MULTIARCH)


def gdb_command(job: DebugJob, server: DebugServer, port: int, more: Sequence[str] = ()) -> list[str]:
    """gdb on a program, stopped in main; `more` are arguments of the user's own."""
    first = ["set confirm off", *_moved_sources(job), f"target extended-remote 127.0.0.1:{port}", *server.begin]
    words = [word for line in (*first, "tbreak main", "continue") for word in ("-ex", line)]
    return [gdb_name(job.board), "-q", *words, *more, job.image]


def _moved_sources(job: DebugJob) -> list[str]:
    """Where the sources are now, if the project was moved after it was built."""
    inside = job.program.parent.relative_to(job.folder).as_posix()
    here = job.folder.absolute().as_posix()
    with job.program.open("rb") as file:
        elf = ELFFile(file)
        units = list(elf.get_dwarf_info().iter_CUs()) if elf.has_dwarf_info() else []
        made = [unit.get_top_DIE().attributes.get("DW_AT_comp_dir") for unit in units]
    for folder in {attribute.value.decode(errors="replace") for attribute in made if attribute is not None}:
        before = folder.removesuffix(f"/{inside}")
        if before != folder and before != here:
            return [f"set substitute-path {before} {here}"]
    return []


def debug(job: DebugJob, server: DebugServer, more: Sequence[str] = (), aside: bool = False) -> int:
    """Starts the server and gdb on this terminal, `aside` with all of its output on stderr; gdb's exit code."""
    gdb = gdb_name(job.board)
    if shutil.which(gdb) is None:
        raise MissingToolError(gdb, _MULTIARCH, f"to debug {job.board.name}")
    if not server.installed(job.board):
        raise server.missing(job.board)
    port = _free_port()
    with _serving(job, server, port) as ended, ctrl_c_is_the_childs() as options:
        time.sleep(_SETTLES)  # gdb waits for the server, but not for one that has ended
        if (error := ended()) is not None:
            raise error
        command = gdb_command(job, server, port, more)
        out = _terminal() if aside else None
        code = subprocess.run(command, cwd=job.folder, stdout=out, **options).returncode
        if code != 0 and (error := ended()) is not None:
            raise error
    return code


@contextlib.contextmanager
def _serving(job: DebugJob, server: DebugServer, port: int) -> Iterator[Callable[[], PilotlightError | None]]:
    """The server while it runs; yields what tells why it ended by itself, if it did. What it prints goes to stderr."""
    command = server.command(job, port)
    known = shutil.which(command[0]) is not None
    with scratch_folder("debug-") as folder:
        log = Path(folder) / "output.txt"
        words = command if known else [sys.executable, "-m", *command]
        process = start(words, job.folder, log, stdout=_terminal(), own_group=True)

        def ended() -> PilotlightError | None:
            if process.poll() in (None, 0):
                return None
            said = tail(log).splitlines()
            return PilotlightError(
                f"`{shlex.join(command)}` ended with exit code {process.returncode}{f': {said[-1]}' if said else ''}",
                hint="check that the board is plugged in and that no other program uses its probe", kind="debug",
            )

        try:
            yield ended
        finally:
            stop(process)


def _terminal() -> int | None:
    """Where people see what a program prints; None where there is no such place."""
    try:
        return sys.stderr.fileno()
    except OSError:
        return None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
