"""From numbers a board reports to words: function, operator, module and source line."""

from __future__ import annotations

import re
from pathlib import Path

from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.lines import source_line
from pilotlight.toolchain.sizes import functions

_ADDRESS = re.compile(r"\b(pc|from)=0x([0-9a-f]{8})")


def code_at(image: Path, address: int, returns: bool = False) -> str | None:
    """The function and the source line that an address of code lies in, such as `main+0x12, main.c:30`; one that a
    function `returns` to is that after the call. The lowest bit says Thumb."""
    address &= ~1
    for name, (start, size) in functions(image).items():
        if start <= address < start + size:
            line = source_line(image, address - 1 if returns else address)
            return f"{name}+{address - start:#x}{f', {line}' if line else ''}"
    return None


def name_addresses(image: Path, text: str) -> str:
    """Text with every code address (pc=0x..., from=0x...) followed by the function and the source line it lies in."""

    def named(match: re.Match[str]) -> str:
        place = code_at(image, int(match[2], 16), returns=match[1] == "from")
        return f"{match[0]} ({place})" if place else match[0]

    return _ADDRESS.sub(named, text)


def describe_step(build: BuildInfo, step: int) -> str:
    """An operator by its number: what it is, in which module, from which line."""
    if step >= len(build.folder.ops):
        return f"step {step}"
    op = build.folder.ops[step]
    parts = [str(op[key]) for key in ("op", "module", "source") if op.get(key)]
    return f"step {step} ({', '.join(parts)})"
