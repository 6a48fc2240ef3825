"""Boards that appear as a drive: the program is copied there as a UF2 file."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from pilotlight.device.flashing.flasher import FlashJob
from pilotlight.device.flashing.uf2_file import uf2_blocks
from pilotlight.errors import PilotlightError
from pilotlight.system import mounted_drives
from pilotlight.toolchain.program import loaded_parts

INFO = "INFO_UF2.TXT"


class Uf2Flasher:
    name = "uf2"

    def takes(self, job: FlashJob) -> bool:
        flashing = job.board.flashing
        return flashing.uf2 is not None and flashing.uf2_family is not None and job.program is not None

    def installed(self) -> bool:
        return True

    def lines(self, job: FlashJob) -> list[str]:
        assert job.program is not None
        made = Path(job.image).with_suffix(".uf2").as_posix()
        family = f"{job.board.flashing.uf2_family:#010x}"
        volume = job.port or f"(the volume {job.board.flashing.uf2})"
        return [f"# {job.image} as UF2 of family {family}: {made}", shlex.join(["cp", made, volume])]

    def flash(self, job: FlashJob) -> str:
        flashing = job.board.flashing
        assert job.program is not None and flashing.uf2_family is not None
        parts = loaded_parts(job.program, job.board)
        stored = [m for m in job.board.memories if m.kind == "flash"]
        inside = [p for p in parts if any(m.base <= p.address < m.base + m.size for m in stored)]
        volume = _volume(job)
        made = job.program.with_suffix(".uf2")
        made.write_bytes(uf2_blocks(inside, flashing.uf2_family))
        try:
            with (volume / made.name).open("wb") as file:
                file.write(made.read_bytes())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise PilotlightError(
                f"{made} cannot be copied to {volume}: {error.strerror or error}",
                hint="plug the board in again as a drive, and see that it is not write-protected", kind="flash",
            ) from error
        return f"copied {made.name} to {job.board.name} at {volume}"


def _volume(job: FlashJob) -> Path:
    """The drive that the board appears as."""
    wanted = job.board.flashing.uf2
    if job.port is not None:
        found = _board_id(Path(job.port))
        if found is None:
            raise PilotlightError(
                f"{job.port} is not the drive of a board: it has no {INFO}", hint="give its folder with --port",
                kind="board-missing",
            )
        if found != wanted:
            raise PilotlightError(
                f"the board at {job.port} is {found}; expected {wanted}, {job.board.name}",
                hint="plug in the right board", kind="wrong-board",
            )
        return Path(job.port)
    seen = {path: found for path in mounted_drives() if (found := _board_id(path)) is not None}
    volumes = [path for path, found in seen.items() if found == wanted]
    if len(volumes) == 1:
        return volumes[0]
    if volumes:
        raise PilotlightError(
            f"{job.board.name} may be any of {', '.join(map(str, volumes))}", hint="choose one with --port FOLDER",
            kind="usage",
        )
    if seen:
        path, found = next(iter(seen.items()))
        raise PilotlightError(
            f"the board at {path} is {found}; expected {wanted}, {job.board.name}", hint="plug in the right board",
            kind="wrong-board",
        )
    raise PilotlightError(
        f"{job.board.name} is not there as a drive: no volume has an {INFO} that names {wanted}",
        hint="hold its button BOOTSEL while you plug it in, or name the folder with --port", kind="board-missing",
    )


def _board_id(folder: Path) -> str | None:
    try:
        text = (folder / INFO).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    rows = [line.partition(":") for line in text.splitlines()]
    return next((value.strip() for key, _, value in rows if key.strip().lower() == "board-id"), "")
