"""From an address of a running image to words: function, operator, module and source line."""

from __future__ import annotations

import re
from pathlib import Path

from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.sizes import functions

_ADDRESS = re.compile(r"\b(pc|from)=0x([0-9a-f]{8})")


def describe_address(build: BuildInfo, image: Path, address: int) -> str:
    for name, (start, size) in functions(image).items():
        if start <= address < start + size:
            return f"{name}+{address - start:#x}"
    return f"{address:#x}"


def describe_fault(build: BuildInfo, image: Path, text: str) -> str:
    """The board's fault line with its addresses named."""

    def named(match: re.Match[str]) -> str:
        address = int(match.group(2), 16) & ~1
        return f"{match.group(0)} ({describe_address(build, image, address)})"

    return _ADDRESS.sub(named, text)


def describe_step(build: BuildInfo, step: int) -> str:
    """An operator by its number: what it is, in which module, from which line."""
    for op in build.folder.ops:
        if op.get("index") == step:
            parts = [str(op[key]) for key in ("op", "module", "source") if op.get(key)]
            return f"step {step} ({', '.join(parts)})"
    return f"step {step}"
