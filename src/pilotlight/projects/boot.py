"""A built project of an emulated board, booted: a device that answers."""

from __future__ import annotations

from pathlib import Path

from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.device.booted import BootedDevice
from pilotlight.errors import PilotlightError
from pilotlight.projects.manifest import Manifest, read_manifest
from pilotlight.toolchain import read_folder


def boot_project(folder: Path, timeout: float = 10.0) -> BootedDevice:
    """Boots the program of a project whose application is the server, and connects to it; close it at the end."""
    manifest = read_manifest(folder)
    board = project_board(folder, manifest)
    need_server(folder, manifest)
    return BootedDevice(board, project_program(folder, manifest), read_folder(folder / manifest.model), timeout)


def need_server(folder: Path, manifest: Manifest) -> None:
    if manifest.app != "server":
        raise PilotlightError(
            f"the application of {folder} is {manifest.app}, which answers nobody",
            hint=f"make one that does: pilotlight new NEW-DIR MODEL --board {manifest.board} --template "
            f"{manifest.template} --app server", kind="usage",
        )


def project_board(folder: Path, manifest: Manifest) -> Board:
    """The board that a project is for; one of the user's is a file, named relative to the project."""
    return boards.load(folder / manifest.board if manifest.board.endswith(".toml") else manifest.board)


def project_program(folder: Path, manifest: Manifest) -> Path:
    """What building the project made."""
    if manifest.program is None:
        raise PilotlightError(
            f"a project of the template {manifest.template} does not say what its build makes",
            hint=f"see {folder / 'README.md'}", kind="usage",
        )
    program = folder / manifest.program
    if not program.is_file():
        raise PilotlightError(
            f"{folder} is not built yet: {program} is not there", hint=f"`pilotlight build {folder}` makes it",
            kind="not-built",
        )
    return program
