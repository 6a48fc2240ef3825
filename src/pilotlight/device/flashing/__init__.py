"""Programs onto boards, by the tool that a board's file names.

    flasher = choose_flasher(job, wanted=None, own=...)   pyOCD, OpenOCD, esptool, a UF2 volume, or the emulator
    flasher.lines(job)                                    the exact commands, as a shell takes them
    flasher.flash(job)                                    does it, or raises a PilotlightError
"""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight.device.flashing.emulated import EmulatorFlasher
from pilotlight.device.flashing.esptool import EsptoolFlasher
from pilotlight.device.flashing.flasher import Flasher, FlashJob
from pilotlight.device.flashing.openocd import OpenOcdFlasher
from pilotlight.device.flashing.own import OwnFlasher
from pilotlight.device.flashing.pyocd import PyOcdFlasher
from pilotlight.device.flashing.uf2 import Uf2Flasher
from pilotlight.errors import PilotlightError

__all__ = ["FLASHERS", "FlashJob", "Flasher", "OwnFlasher", "choose_flasher"]

FLASHERS: tuple[Flasher, ...] = (
    EsptoolFlasher(), PyOcdFlasher(), OpenOcdFlasher(), Uf2Flasher(), EmulatorFlasher(),
)


def choose_flasher(job: FlashJob, wanted: str | None = None, own: Sequence[Flasher] = ()) -> Flasher:
    """The tool that the user wants, or the first that the board can be flashed with and that is installed; `own` ones
    of the project's environment come first."""
    fitting = [flasher for flasher in (*own, *FLASHERS) if flasher.takes(job)]
    names = [flasher.name for flasher in fitting]
    if wanted is not None:
        if wanted not in names:
            raise PilotlightError(
                f"{job.board.name} cannot be flashed with {wanted} in this project",
                hint=f"there is: {', '.join(names) or 'nothing'}", kind="usage",
            )
        return fitting[names.index(wanted)]
    if not fitting:
        raise PilotlightError(
            f"nothing is known that flashes {job.board.name} in this project",
            hint=f"see {job.folder / 'README.md'}", kind="usage",
        )
    return next((flasher for flasher in fitting if flasher.installed()), fitting[0])
