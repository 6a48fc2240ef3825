"""OpenOCD, with the configuration files that the board's own file names."""

from __future__ import annotations

import re
import shlex
import shutil

from pilotlight.device.flashing.flasher import FlashJob, no_probe, run_tool, tool_failed
from pilotlight.errors import MissingToolError
from pilotlight.toolchain.program import loaded_parts

_NO_PROBE = re.compile(r"open failed|no device found|unable to open|unable to find a matching|couldn't find", re.I)


class OpenOcdFlasher:
    name = "openocd"

    def takes(self, job: FlashJob) -> bool:
        return bool(job.board.flashing.openocd) and job.program is not None

    def installed(self) -> bool:
        return shutil.which("openocd") is not None

    def lines(self, job: FlashJob) -> list[str]:
        return [shlex.join(self._command(job))]

    def flash(self, job: FlashJob) -> str:
        if not self.installed():
            raise MissingToolError("openocd", "openocd", f"to flash {job.board.name}")
        assert job.program is not None
        loaded_parts(job.program, job.board)
        ended = run_tool(self._command(job), job.folder)
        if ended.code != 0 and any(_NO_PROBE.search(line) for line in ended.lines):
            raise no_probe(job.board, "OpenOCD", job.probe)
        if ended.code != 0:
            raise tool_failed("openocd", job.board, ended)
        return f"flashed {job.image} to {job.board.name}"

    def _command(self, job: FlashJob) -> list[str]:
        probe = ["-c", f"adapter serial {job.probe}"] if job.probe else []
        work = ["-c", f"program {{{job.image}}} verify reset exit"]
        return [*openocd_command(job.board.flashing.openocd), *probe, *work]


def openocd_command(files: tuple[str, ...]) -> list[str]:
    """With a board's configuration; what it is to do comes after it."""
    return ["openocd", *(word for file in files for word in ("-f", file))]
