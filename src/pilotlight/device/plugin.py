"""The emulator's counting plugin: built once into the cache, with the compiler of this computer."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from pilotlight.cache import cache_folder, once
from pilotlight.errors import MissingToolError
from pilotlight.toolchain.command import run

SOURCE = Path(__file__).parent.parent / "csrc" / "device" / "count_plugin.c"
FIRST_VERSION = 1

_OTHER_VERSION = re.compile(r"requires API version \d+, but this QEMU supports only.*?version(?: of)? (\d+)")
_NO_PLUGINS = re.compile(r"-plugin: invalid option|plugin.*not (?:supported|enabled)", re.IGNORECASE)


def build_plugin(version: int = FIRST_VERSION) -> Path:
    """The plugin as a shared library that claims an interface version; compiled unless a complete one is there."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    return once(cache_folder() / f"count-{digest}-v{version}.so", lambda target: _compile(version, target))


def _compile(version: int, target: Path) -> None:
    gcc = shutil.which("gcc") or shutil.which("cc")
    if gcc is None:
        raise MissingToolError("gcc", "gcc", "to build the instruction counter")
    flags = ["-std=c99", "-O2", "-shared", "-fPIC", f"-DPL_PLUGIN_VERSION={version}"]
    run([gcc, *flags, str(SOURCE), "-o", str(target)])


def wanted_version(output: str) -> int | None:
    """The interface version an emulator asked for when it refused the plugin."""
    match = _OTHER_VERSION.search(output)
    return int(match.group(1)) if match else None


def refuses_plugins(output: str) -> bool:
    """The emulator was built without plugins."""
    return _NO_PLUGINS.search(output) is not None
