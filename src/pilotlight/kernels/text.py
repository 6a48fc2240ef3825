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
        text = kernel_source(name)
        guarded = _GUARD.match(text)
        body = guarded.group(1) if guarded else text
        for inner in _LOCAL_INCLUDE.findall(body):
            visit(inner)
        body = _LOCAL_INCLUDE.sub("", body).replace("#include <stdint.h>\n", "")
        done[name] = re.sub(r"\n{3,}", "\n\n", body).strip("\n")

    for header in headers:
        visit(header)
    return "\n\n".join(done.values())


def kernel_source(name: str) -> str:
    """A header as text. Kernels that differ in their element type alone are written once: `sort_i64` is `sort_f32`
    for int64_t, unless there is a header of that name."""
    file = PORTABLE / f"{name}.h"
    if file.is_file():
        return file.read_text()
    text = (PORTABLE / f"{name.removesuffix('_i64')}_f32.h").read_text()
    text = re.sub(r"\bfloat\b", "int64_t", re.sub(r"\b(\d+)\.0f", r"\1", text))
    return re.sub(r"_f32\b", "_i64", re.sub(r"_F32_H\b", "_I64_H", text))
