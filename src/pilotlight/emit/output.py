"""Files into a folder of the user: never over what Pilotlight did not write; several models side by side.

The metadata of a model lists its files with a hash of each. The first model of a folder has `metadata.json` and
`example_main.c`; for further models these names begin with the model's. What a model no longer needs is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pilotlight.errors import PilotlightError

METADATA = "metadata.json"
BUILD = "CMakeLists.txt"
EXAMPLE = "example_main.c"
Files = dict[str, str | bytes]


def sealed(files: Mapping[str, str | bytes], metadata: dict[str, Any], name: str = METADATA) -> Files:
    """The files with the metadata among them, which gets the hash of every other."""
    metadata["files"] = {file: _digest(_bytes(content)) for file, content in files.items() if file != name}
    return {**files, name: json.dumps(metadata, indent=2) + "\n"}


def check_folder(folder: Path) -> None:
    """Whether files can be written there, before any work is done."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise PilotlightError(f"{existing} is a file; expected a folder", hint="choose another folder", kind="file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PilotlightError(
            f"{folder} cannot be written: no permission to write in {existing}", hint="choose another folder",
            kind="file",
        )


def write(folder: Path, model: str, files: Files) -> None:
    """All files or none; the error names those that are in the way."""
    check_folder(folder)
    others = {name: rows for name, rows in _known(folder).items() if name != model}
    ours = _known(folder).get(model, {})
    foreign = [name for name, content in files.items() if not _may_write(folder, name, content, ours, others)]
    if foreign:
        raise PilotlightError(
            f"{', '.join(str(folder / name) for name in foreign)} would be overwritten, and "
            f"{'is' if len(foreign) == 1 else 'are'} not as Pilotlight wrote "
            f"{'it' if len(foreign) == 1 else 'them'} for {model}",
            hint="choose another folder, or move what is there", kind="file",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(_bytes(content))
        shared = {name for rows in others.values() for name in rows}
        for name, digest in ours.items():
            if name not in files and name not in shared and _digest_of(folder / name) == digest:
                (folder / name).unlink()
    except OSError as error:
        raise PilotlightError(
            f"{error.filename or folder} cannot be written: {error.strerror or error}", hint="choose another folder",
            kind="file",
        ) from error


def beside_another(folder: Path, model: str) -> bool:
    """Whether the folder's `metadata.json` is another model's."""
    known = _read(folder / METADATA)
    return known is not None and known[0] != model


def _may_write(
    folder: Path, name: str, content: str | bytes, ours: dict[str, str], others: dict[str, dict[str, str]]
) -> bool:
    """Nothing there, the same there, or what we wrote there for this model and nobody has changed."""
    path = folder / name
    if not path.exists() and not path.is_symlink():
        return True
    found = _digest_of(path)
    if found is None:
        return False
    if found == _digest(_bytes(content)):
        return True
    theirs = [rows[name] for rows in others.values() if name in rows]
    if name == BUILD or name.startswith("toolchain-"):  # the same for every model of a version
        return found in (ours.get(name), *theirs)
    return not theirs and ours.get(name) == found


def _known(folder: Path) -> dict[str, dict[str, str]]:
    """The files of every model in a folder, as its metadata lists them, with the metadata itself."""
    found = {}
    for path in sorted({folder / METADATA, *folder.glob(f"*_{METADATA}")}):
        known = _read(path)
        if known is not None:
            found[known[0]] = known[1] | {path.name: _digest_of(path) or ""}
    return found


def _read(path: Path) -> tuple[str, dict[str, str]] | None:
    """A model's name and files from its metadata; None where it is not ours."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not str(data["generator"]).startswith("pilotlight "):
            return None
        name = str(data["name"])
        if "files" not in data:  # from a version that kept no hashes
            files = [*data["sources"], f"{name}.h", f"{name}_weights.bin", BUILD, EXAMPLE]
            return name, {file: _digest_of(path.parent / file) or "" for file in files}
        return name, {str(k): str(v) for k, v in data["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(path: Path) -> str | None:
    try:
        return _digest(path.read_bytes())
    except OSError:
        return None
