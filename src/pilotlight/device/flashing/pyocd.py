"""pyOCD, through its Python API: debug probes of Arm boards."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
from typing import Any

from pilotlight.device.flashing.flasher import FlashJob, no_probe
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.toolchain.program import loaded_parts


class PyOcdFlasher:
    name = "pyocd"

    def takes(self, job: FlashJob) -> bool:
        return job.board.flashing.pyocd is not None and job.program is not None

    def installed(self) -> bool:
        return importlib.util.find_spec("pyocd") is not None

    def lines(self, job: FlashJob) -> list[str]:
        probe = ["--probe", job.probe] if job.probe else []
        return [shlex.join(["pyocd", "flash", "--target", str(job.board.flashing.pyocd), *probe, job.image])]

    def flash(self, job: FlashJob) -> str:
        if not self.installed():
            raise MissingToolError(
                "Python's package pyocd", None, f"to flash {job.board.name}", "pip install pyocd"
            )
        assert job.program is not None
        loaded_parts(job.program, job.board)
        helpers = importlib.import_module("pyocd.core.helpers")
        files = importlib.import_module("pyocd.flash.file_programmer")
        errors = importlib.import_module("pyocd.core.exceptions")
        probe = self._probe(job, helpers, errors)
        try:
            session = helpers.ConnectHelper.session_with_chosen_probe(
                blocking=False, unique_id=probe.unique_id, options={"target_override": job.board.flashing.pyocd}
            )
            if session is None:
                raise no_probe(job.board, "pyOCD", probe.unique_id)
            with session:
                files.FileProgrammer(session).program(str(job.program))
                session.target.reset()
        except errors.TargetSupportError as error:
            raise PilotlightError(
                f"pyOCD does not know the target {job.board.flashing.pyocd} of {job.board.name}: {_words(error)}",
                hint=f"get its CMSIS pack: pyocd pack install {job.board.flashing.pyocd}", kind="missing-tool",
            ) from error
        except errors.Error as error:
            raise PilotlightError(
                f"pyOCD failed to flash {job.board.name}: {_words(error)}",
                hint="check the cable and the power, and that no other program uses the probe", kind="flash",
            ) from error
        return f"flashed {job.image} to {job.board.name} by the probe {probe.unique_id}"

    def _probe(self, job: FlashJob, helpers: Any, errors: Any) -> Any:
        """The one probe that is plugged in or that the user names; one on another board is refused."""
        try:
            found = helpers.ConnectHelper.get_all_connected_probes(blocking=False, unique_id=job.probe)
        except errors.Error as error:
            raise PilotlightError(
                f"pyOCD cannot look for debug probes: {_words(error)}", hint="check the rights of USB devices",
                kind="flash",
            ) from error
        if not found:
            raise no_probe(job.board, "pyOCD", job.probe)
        if len(found) > 1:
            raise PilotlightError(
                f"{job.board.name} may be on any of {len(found)} debug probes: "
                f"{', '.join(f'{p.unique_id} ({p.description})' for p in found)}",
                hint="choose one with --probe ID", kind="usage",
            )
        known = getattr(found[0], "associated_board_info", None)
        if known is not None and known.target and known.target.lower() != job.board.flashing.pyocd:
            raise PilotlightError(
                f"the probe {found[0].unique_id} is on {known.name}, whose target is {known.target.lower()}; "
                f"expected {job.board.name} with {job.board.flashing.pyocd}",
                hint="plug in the right board, or choose another probe with --probe ID", kind="wrong-board",
            )
        return found[0]


def _words(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
