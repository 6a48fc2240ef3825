"""Small programs as ELF files, and projects that seem to have built them."""

from __future__ import annotations

import struct
from pathlib import Path

from pilotlight.projects.manifest import MANIFEST, Manifest

ARM, RISCV = 40, 243


def write_elf(path: Path, address: int, data: bytes, machine: int = ARM) -> Path:
    """One segment, stored at an address."""
    ident = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    head = struct.pack("<2H5I6H", 2, machine, 1, address, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 84, address, address, len(data), len(data), 5, 4)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ident + head + segment + data)
    return path


def fake_project(
    folder: Path, board: str, template: str = "cmake", program: str | None = "build/app.elf",
    commands: dict[str, list[list[str]]] | None = None,
) -> Path:
    """A project's description without its files."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(template, board, program=program, arguments={"model": "net.py:net"}, commands=commands or {})
    (folder / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    return folder
