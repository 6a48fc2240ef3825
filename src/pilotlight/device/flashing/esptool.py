"""esptool: boards of Espressif, with the list of files that ESP-IDF's build leaves next to the program."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from pilotlight.device.flashing.flasher import FlashJob, run_tool, tool_failed
from pilotlight.device.line import port_of
from pilotlight.errors import MissingToolError, PilotlightError

LIST = "flasher_args.json"
_PROGRAMS = ("esptool", "esptool.py")  # of version 5, and before it


class EsptoolFlasher:
    name = "esptool"

    def takes(self, job: FlashJob) -> bool:
        """Only ESP-IDF's build leaves such a list; in other projects their own tool knows what goes where."""
        return job.board.flashing.esptool is not None and job.program is not None and _list(job.program).is_file()

    def installed(self) -> bool:
        return _program() is not None

    def lines(self, job: FlashJob) -> list[str]:
        return [shlex.join(self._command(job, job.port or "PORT"))]

    def flash(self, job: FlashJob) -> str:
        if not self.installed():
            raise MissingToolError("esptool", "esptool", f"to flash {job.board.name}", "pip install esptool")
        port = job.port or port_of(job.board)
        ended = run_tool(self._command(job, port), job.folder)
        if ended.code != 0:
            said = "\n".join(ended.lines).lower()
            if "could not open" in said or "no such file" in said:
                raise PilotlightError(
                    f"there is no board on {port}: esptool cannot open it", hint="plug it in, and check --port",
                    kind="board-missing",
                )
            if "wrong chip" in said or "this chip is" in said or "this is an esp" in said:
                raise PilotlightError(
                    f"the board on {port} is not {job.board.name}: "
                    + next(line for line in ended.lines if "chip" in line.lower() or "this is" in line.lower()).strip(),
                    hint="plug in the right board, or name its port with --port", kind="wrong-board",
                )
            raise tool_failed("esptool", job.board, ended, "hold the button BOOT while it connects")
        return f"flashed {job.image} to {job.board.name} on {port}"

    def _command(self, job: FlashJob, port: str) -> list[str]:
        assert job.program is not None
        files = _files(_list(job.program))
        extra = files.get("extra_esptool_args", {})
        where = job.program.parent.relative_to(job.folder)
        command = [_program() or _PROGRAMS[0], "--chip", str(extra.get("chip", job.board.flashing.esptool))]
        command += ["--port", port, "--baud", "460800"]
        command += ["--before", extra.get("before", "default_reset"), "--after", extra.get("after", "hard_reset")]
        command += ["write_flash", *files.get("write_flash_args", [])]
        for offset, name in sorted(files["flash_files"].items(), key=lambda item: int(item[0], 0)):
            command += [offset, (where / name).as_posix()]
        return command


def _program() -> str | None:
    return next((name for name in _PROGRAMS if shutil.which(name)), None)


def _list(program: Path) -> Path:
    return program.parent / LIST


def _files(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data["flash_files"], dict):
            raise TypeError("flash_files is not a table")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PilotlightError(
            f"{path} cannot be used: {error!r}", hint="build the project again", kind="broken-file"
        ) from error
    assert isinstance(data, dict)
    return data
