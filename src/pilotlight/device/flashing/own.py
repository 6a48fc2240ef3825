"""The command of a project's own environment, such as `west flash`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence

from pilotlight.device.flashing.flasher import FlashJob, run_tool, tool_failed
from pilotlight.errors import MissingToolError, PilotlightError

_CHOICES = {  # how an environment is told which probe and which port
    "west": ("--dev-id", None), "arduino-cli": (None, "--port"), "pio": (None, "--upload-port"),
}


class OwnFlasher:
    """`commands` are run one after another in the project's folder."""

    def __init__(self, commands: Sequence[Sequence[str]]):
        self._commands = commands
        self.name = commands[0][0]

    def takes(self, job: FlashJob) -> bool:
        return True

    def installed(self) -> bool:
        return shutil.which(self.name) is not None

    def lines(self, job: FlashJob) -> list[str]:
        return [shlex.join(command) for command in self._chosen(job)]

    def flash(self, job: FlashJob) -> str:
        if not self.installed():
            raise MissingToolError(self.name, None, f"to flash {job.board.name}")
        for command in self._chosen(job):
            ended = run_tool(command, job.folder)
            if ended.code != 0:
                raise tool_failed(shlex.join(command), job.board, ended)
        return f"flashed {job.folder} to {job.board.name} with {self.name}"

    def _chosen(self, job: FlashJob) -> list[list[str]]:
        probe, port = _CHOICES.get(self.name, (None, None))
        more = []
        for given, option, typed in ((job.probe, probe, "--probe"), (job.port, port, "--port")):
            if given is not None and option is None:
                raise PilotlightError(
                    f"{self.name} takes no choice by {typed}", hint=f"omit {typed}", kind="usage"
                )
            more += [str(option), given] if given is not None else []
        *first, last = [list(command) for command in self._commands]
        return [*first, [*last, *more]]
