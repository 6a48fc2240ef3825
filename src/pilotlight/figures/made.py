"""With what a figure was made."""

from __future__ import annotations

import platform
from typing import Any

import torch

from pilotlight.installed import compiler_version
from pilotlight.toolchain import BuildInfo
from pilotlight.version import __version__


def versions(info: BuildInfo, emulator: str | None = None) -> dict[str, Any]:
    """Names and versions of what took part; None where nothing was compiled, or nothing emulated."""
    return {
        "pilotlight": __version__, "torch": str(torch.__version__), "Python": platform.python_version(),
        "compiler": compiler_version(info.toolchain) if info.toolchain else None, "emulator": emulator,
    }
