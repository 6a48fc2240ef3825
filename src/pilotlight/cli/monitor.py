"""`pilotlight monitor`: what a board says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pilotlight.cli.options import DIFFERENT, Seconds, common
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    from pilotlight.device.console import Console

_SILENCE = 10.0  # seconds after which it is mentioned
_LOOK = 0.2


@click.command("monitor")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--port", metavar="PORT",
              help="The board's serial port, or tcp://HOST:PORT; default: found by its USB id, or the emulator.")
@click.option("--baud", type=click.IntRange(min=1), default=115200, show_default=True, metavar="N",
              help="The speed of the serial port.")
@click.option("--seconds", type=Seconds(), metavar="N", help="End after this time; default: with Ctrl-C.")
@common
@click.pass_obj
def command(talk: Talk, folder: Path, port: str | None, baud: int, seconds: float | None) -> int:
    """Show what the board of a project says, until Ctrl-C.

    That is its own lines of text and the log of the device server.

    A fault is explained: its cause in words, function and source line, registers. The emulated board of a project is
    booted. Exits with 1 if there was a fault.
    """
    from pilotlight.device.faults import explain_fault, read_fault
    from pilotlight.projects.monitor import open_console
    from pilotlight.report.fault import fault_table

    said: list[str] = []
    faults: list[dict[str, Any]] = []
    console, board, program = open_console(folder, port, baud)
    watched = _Watched(talk, console.name, seconds)
    with console:
        try:
            while watched.on and (lines := _next_lines(console)) is not None:
                for line in lines:
                    watched.heard()
                    said.append(line)
                    record = read_fault(line)
                    if record is None:
                        talk.show(line)
                        continue
                    fault = explain_fault(record, board, program).as_dict()
                    faults.append(fault)
                    talk.show(fault_table(fault))
        except KeyboardInterrupt:
            pass  # the way to end it
    watched.check_heard()
    talk.result({"folder": str(folder), "board": board.name, "device": console.name, "lines": said, "faults": faults})
    return DIFFERENT if faults else 0


def _next_lines(console: Console) -> list[str] | None:
    from pilotlight.device.channel import StalledError

    try:
        lines = console.lines(_LOOK)
    except StalledError:
        return []
    return None if lines is None else list(lines)


class _Watched:
    """Until when it goes on, and whether anything came."""

    def __init__(self, talk: Talk, name: str, seconds: float | None):
        self._talk, self._name, self._seconds = talk, name, seconds
        self._begun = time.monotonic()
        self._silent = True
        self._mentioned = False

    @property
    def on(self) -> bool:
        passed = time.monotonic() - self._begun
        if self._silent and not self._mentioned and passed > _SILENCE:
            self._mentioned = True
            self._talk.note(f"nothing from {self._name} for {_SILENCE:g} s: check that it runs, and the baud rate")
        return self._seconds is None or passed < self._seconds

    def heard(self) -> None:
        self._silent = False

    def check_heard(self) -> None:
        """Silence for as long as the user wanted to listen is not what a monitor is for."""
        if self._silent and not self.on:
            raise PilotlightError(
                f"{self._name} is silent: nothing came for {self._seconds:g} s",
                hint="check that the program runs and prints (the server says only what it logs), and the baud rate",
                kind="board-hangs",
            )
