"""Instruction counters: shared libraries in C, built once into the cache with the compiler of this computer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from pilotlight import boards
from pilotlight.cache import cache_folder, once
from pilotlight.toolchain.command import run
from pilotlight.toolchain.find import find

_FOLDER = Path(__file__).parent.parent / "csrc" / "device"
FIRST_VERSION = 1

_OTHER_VERSION = re.compile(r"requires API version \d+, but this QEMU supports only.*?version(?: of)? (\d+)")
_NO_PLUGINS = re.compile(r"-plugin: invalid option|plugin.*not (?:supported|enabled)", re.IGNORECASE)


def build_plugin(version: int = FIRST_VERSION) -> Path:
    """QEMU's plugin, claiming an interface version."""
    return _library("count_plugin.c", [f"-DPL_PLUGIN_VERSION={version}"], f"-v{version}")


def build_block_counter() -> Path:
    """The counter of the emulator in this process."""
    return _library("count_blocks.c", [], "")


def _library(source: str, flags: Sequence[str], version: str) -> Path:
    """Compiled unless a complete one is there."""
    texts = b"".join((_FOLDER / name).read_bytes() for name in (source, "pl_count.h"))
    digest = hashlib.sha256(texts).hexdigest()[:16]
    name = f"{source.removesuffix('.c')}-{digest}{version}.so"
    return once(cache_folder() / name, lambda target: _compile(_FOLDER / source, flags, target))


def _compile(source: Path, flags: Sequence[str], target: Path) -> None:
    compiler = find(boards.load("host"))
    run([*compiler.command, "-std=c99", "-O2", "-shared", "-fPIC", *flags, str(source), "-o", str(target)])


def wanted_version(output: str) -> int | None:
    """The interface version an emulator asked for when it refused the plugin."""
    match = _OTHER_VERSION.search(output)
    return int(match.group(1)) if match else None


def refuses_plugins(output: str) -> bool:
    """The emulator was built without plugins."""
    return _NO_PLUGINS.search(output) is not None
