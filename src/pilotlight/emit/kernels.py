"""The hand-written kernels as text: a generated file holds just those that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PORTABLE = Path(__file__).parents[1] / "csrc" / "kernels" / "portable"

_LOCAL_INCLUDE = re.compile(r'^#include "([^"]+)\.h"\n', re.MULTILINE)
_GUARD = re.compile(r"\A#ifndef \w+_H\n#define \w+_H\n(.*)#endif\s*\Z", re.DOTALL)


def kernel_text(headers: Iterable[str]) -> str:
    """The bodies of the named headers and of those they include, each once, in dependency order."""
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in done:
            return
        text = (PORTABLE / f"{name}.h").read_text()
        guarded = _GUARD.match(text)
        body = guarded.group(1) if guarded else text
        for inner in _LOCAL_INCLUDE.findall(body):
            visit(inner)
        body = _LOCAL_INCLUDE.sub("", body).replace("#include <stdint.h>\n", "")
        done[name] = re.sub(r"\n{3,}", "\n\n", body).strip("\n")

    for header in headers:
        visit(header)
    return "\n\n".join(done.values())
