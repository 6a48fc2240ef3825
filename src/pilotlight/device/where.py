"""From numbers a board reports to words: function, operator, module and source line."""

from __future__ import annotations

import re
from pathlib import Path

from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.lines import source_line
from pilotlight.toolchain.sizes import functions

_ADDRESS = re.compile(r"\b(pc|from)=0x([0-9a-f]{8})")


def name_addresses(image: Path, text: str) -> str:
    """Text with every code address (pc=0x..., from=0x...) followed by the function and the source line it lies in."""
    known = functions(image) if _ADDRESS.search(text) else {}

    def named(match: re.Match[str]) -> str:
        address = int(match[2], 16)
        for name, (start, size) in known.items():
            if start <= address < start + size:
                call = match[1] == "from"  # the address after it
                line = source_line(image, address - 1 if call else address)
                return f"{match[0]} ({name}+{address - start:#x}{f', {line}' if line else ''})"
        return match[0]

    return _ADDRESS.sub(named, text)


def describe_step(build: BuildInfo, step: int) -> str:
    """An operator by its number: what it is, in which module, from which line."""
    if step >= len(build.folder.ops):
        return f"step {step}"
    op = build.folder.ops[step]
    parts = [str(op[key]) for key in ("op", "module", "source") if op.get(key)]
    return f"step {step} ({', '.join(parts)})"
