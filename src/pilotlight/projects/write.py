"""Projects into folders of the user: nothing of the user's is overwritten unless they say so."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pilotlight.emit.output import check_folder
from pilotlight.errors import PilotlightError
from pilotlight.projects.manifest import MANIFEST, Manifest


@dataclass(frozen=True)
class Changes:
    """What writing a project did: files written, removed, and left as the user has changed them."""

    written: tuple[str, ...]
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def create(folder: Path, files: dict[str, bytes], manifest: Manifest, force: bool = False) -> Changes:
    """A new project; all files or none."""
    check_folder(folder)
    if (folder / MANIFEST).exists() and not force:
        raise PilotlightError(
            f"{folder} is a project already",
            hint="`pilotlight update` regenerates its model; --force writes every file of it again", kind="file",
        )
    foreign = [name for name, data in files.items() if _exists(folder / name) and _read(folder / name) != data]
    if foreign and not force:
        raise PilotlightError(
            f"{', '.join(str(folder / name) for name in foreign)} would be overwritten",
            hint="choose another folder, or --force", kind="file",
        )
    for name, data in files.items():
        _write(folder / name, data)
    _write(folder / MANIFEST, manifest.text().encode())
    return Changes((*files, MANIFEST))


def update(folder: Path, files: dict[str, bytes], old: Manifest, new: Manifest, force: bool = False) -> Changes:
    """The files of a project again. Those that are the user's stay; of ours, those that the user changed stay too,
    and are reported, unless `force` is given."""
    written, kept = [], []
    for name, data in files.items():
        if name in new.yours:
            continue
        found = _read(folder / name)
        if found == data:
            continue
        if found is None or force or digest(found) == old.files.get(name):
            _write(folder / name, data)
            written.append(name)
        else:
            kept.append(name)
    removed = []
    for name, known in old.files.items():
        found = _read(folder / name)
        if name not in files and name not in old.yours and found is not None and digest(found) == known:
            (folder / name).unlink()
            removed.append(name)
    _write(folder / MANIFEST, new.text().encode())
    return Changes(tuple(written), tuple(removed), tuple(kept))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise PilotlightError(
            f"{path} cannot be written: {error.strerror or error}", hint="choose another folder", kind="file"
        ) from error
