"""A device that runs a project: the board on a port, or the emulator with what was built."""

from __future__ import annotations

from pathlib import Path

from pilotlight.compiler import Image
from pilotlight.device import Device, OtherModelError, connect, port_of
from pilotlight.errors import PilotlightError
from pilotlight.projects.boot import boot_project, need_server, project_board
from pilotlight.projects.manifest import read_manifest
from pilotlight.toolchain.folder import read_folder

_METADATA = "metadata.json"
_FIRST_ANSWER = 10.0  # seconds that a device may take to answer at all


def connect_project(
    folder: Path, build: Image, port: str | None = None, timeout: float = 10.0, look: bool = False
) -> Device:
    """`build` is the project's model, compiled again. An emulated board is booted unless a port is named; a real one is
    looked for by its USB id. What runs there must be the project's model, and with `look` tell what is inside a run."""
    manifest = read_manifest(folder)
    need_server(folder, manifest)
    check_current(folder, build)
    board = project_board(folder, manifest)
    first = min(timeout, _FIRST_ANSWER)
    try:
        if port is None and board.emulator is not None:
            device: Device = boot_project(folder, first)
        else:
            device = connect(port or port_of(board), read_folder(build.folder), first)
    except OtherModelError as error:
        error.hint = f"`pilotlight build {folder}`, then `pilotlight flash {folder}`"
        raise
    if look and not device.watch_bytes:
        device.close()
        raise PilotlightError(
            f"the program of {folder} does not show what is inside a run",
            hint=f"build it so, and flash it: cmake -S {folder} -B {folder / 'build'} -DWATCH_BYTES=1024", kind="usage",
        )
    device.wait_longer(timeout)
    return device


def check_current(folder: Path, build: Image) -> None:
    """The files of the project must be those that its model gives now."""
    own = folder / read_manifest(folder).model
    if (own / _METADATA).is_file() and read_folder(own).build_id != read_folder(build.folder).build_id:
        raise PilotlightError(
            f"the model of {folder} has changed since its files were written",
            hint=f"`pilotlight update {folder}`, then build and flash it", kind="bad-project",
        )
