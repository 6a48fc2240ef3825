"""What all ways to flash share: what is to be done, and how a tool is run."""

from __future__ import annotations

import logging
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError

_LOG = logging.getLogger(__name__)
_KEPT = 200  # lines of a tool's output


@dataclass(frozen=True)
class FlashJob:
    """A program for a board. Paths in commands are relative to `folder`, where they are run."""

    board: Board
    folder: Path
    program: Path | None  # None where only the project's environment knows it
    probe: str | None = None  # which of several debug probes
    port: str | None = None  # serial port, or the folder of a UF2 volume

    @property
    def image(self) -> str:
        """The program as a command names it."""
        assert self.program is not None
        inside = self.program.is_relative_to(self.folder)
        return (self.program.relative_to(self.folder) if inside else self.program.absolute()).as_posix()


class Flasher(Protocol):
    name: str

    def takes(self, job: FlashJob) -> bool:
        """Whether the board's file has what the tool needs to know."""
        ...

    def installed(self) -> bool: ...

    def lines(self, job: FlashJob) -> list[str]:
        """What is done, as commands for a shell in the project's folder."""
        ...

    def flash(self, job: FlashJob) -> str:
        """Does it, and says so in a sentence."""
        ...


@dataclass(frozen=True)
class Ended:
    code: int
    lines: tuple[str, ...]


def run_tool(command: Sequence[str], folder: Path) -> Ended:
    """Runs a tool with its output on stderr, and keeps the last lines."""
    _LOG.debug("%s", shlex.join(command))
    kept: deque[str] = deque(maxlen=_KEPT)
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace",
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            sys.stderr.write(text)
            kept.append(text.rstrip("\n"))
    return Ended(process.returncode, tuple(kept))


def tool_failed(name: str, board: Board, ended: Ended, hint: str = "what it printed is above") -> PilotlightError:
    """The last line that speaks of an error says most."""
    said = [line for line in ended.lines if "error" in line.lower() or "fatal" in line.lower()] or list(ended.lines)
    reason = f": {said[-1].strip()}" if said else ""
    return PilotlightError(
        f"{name} failed to flash {board.name} with exit code {ended.code}{reason}", hint=hint, kind="flash"
    )


def no_probe(board: Board, tool: str, wanted: str | None) -> PilotlightError:
    which = f"with the id {wanted}" if wanted else "at all"
    return PilotlightError(
        f"{tool} finds no debug probe {which}, so {board.name} cannot be reached",
        hint="plug the board in by its debugger's USB socket, and see that no other program uses the probe",
        kind="board-missing",
    )
