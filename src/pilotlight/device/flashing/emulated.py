"""An emulated board: it keeps nothing without power, so flashing shows that the emulator takes the program."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

from pilotlight.device.booted import emulator_arguments
from pilotlight.device.flashing.flasher import FlashJob
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.toolchain.program import loaded_parts

_PATIENCE = 20.0
_QUESTIONS = ("qmp_capabilities", "query-status", "quit")


class EmulatorFlasher:
    name = "emulator"

    def takes(self, job: FlashJob) -> bool:
        return job.board.emulator is not None and job.program is not None

    def installed(self) -> bool:
        return True

    def lines(self, job: FlashJob) -> list[str]:
        return [shlex.join(self._command(job))]

    def flash(self, job: FlashJob) -> str:
        emulator = job.board.emulator
        assert emulator is not None and job.program is not None
        if shutil.which(emulator.program) is None:
            raise MissingToolError(emulator.program, emulator.package, f"to run {job.board.name}")
        loaded_parts(job.program, job.board)
        questions = "".join(json.dumps({"execute": question}) + "\n" for question in _QUESTIONS)
        try:
            done = subprocess.run(
                self._command(job), cwd=job.folder, input=questions, capture_output=True, encoding="utf-8",
                errors="replace", timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired as error:
            raise PilotlightError(
                f"{emulator.program} did not answer for {_PATIENCE:g} s", hint="try it again", kind="flash"
            ) from error
        if done.returncode != 0 or '"prelaunch"' not in done.stdout:
            reason = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()[-1]
            raise PilotlightError(
                f"{emulator.program} does not take {job.image} for {job.board.name}: {reason}",
                hint="build the project again", kind="flash",
            )
        return (f"{emulator.program} takes {job.image} for {job.board.name}; an emulated board keeps nothing, so that "
                "run, monitor and debug load it each time")

    def _command(self, job: FlashJob) -> list[str]:
        """The core stays stopped; QEMU's own questions and answers go over its standard streams."""
        emulator = job.board.emulator
        assert emulator is not None and job.program is not None
        arguments = emulator_arguments(emulator, job.program)
        arguments[arguments.index(str(job.program))] = job.image
        return [emulator.program, *arguments, "-serial", "null", "-S", "-qmp", "stdio"]
