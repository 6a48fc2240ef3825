"""The hand-written kernels as text: a generated file holds just those that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from jinja2 import Template

PORTABLE = Path(__file__).parent / "portable"
FOLDERS = tuple(Path(__file__).parent / isa for isa in ("portable", "dsp", "mve", "rv32"))  # with headers

_LOCAL_INCLUDE = re.compile(r'^#include "([^"]+)\.h"\n', re.MULTILINE)
_SYSTEM_INCLUDE = re.compile(r"^#if [^\n]*\n#include <[^\n]*>\n#endif\n+|^#include <[^\n]*>\n+", re.MULTILINE)
_GUARD = re.compile(r"\A#ifndef \w+_H\n#define \w+_H\n(.*)#endif\s*\Z", re.DOTALL)


class Element(TypedDict):
    """What a kernel for elements of any type has to know about one: the ending of names, its C type, 0 and 1."""

    t: str
    T: str
    zero: str
    one: str


ELEMENTS = {
    "f32": Element(t="f32", T="float", zero="0.0f", one="1.0f"),
    "i64": Element(t="i64", T="int64_t", zero="0", one="1"),
}


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


def without_includes(text: str) -> tuple[list[str], str]:
    """The C library's headers that a text includes, some of them under a condition, and the rest of the text."""
    found = dict.fromkeys(include.rstrip("\n") for include in _SYSTEM_INCLUDE.findall(text))
    return sorted(found), _SYSTEM_INCLUDE.sub("", text)


def kernel_source(name: str) -> str:
    """A header as text. `sort_f32` and `sort_i64` are `sort.h.j2`, which is written for elements of any type."""
    for folder in FOLDERS:
        file = folder / f"{name}.h"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    base, _, suffix = name.rpartition("_")
    text = (PORTABLE / f"{base}.h.j2").read_text(encoding="utf-8")
    return Template(text, keep_trailing_newline=True).render(ELEMENTS[suffix])


def typed_kernels() -> list[str]:
    """The names of all headers that are not files of their own."""
    bases = sorted(file.name.removesuffix(".h.j2") for file in PORTABLE.glob("*.h.j2"))
    return [f"{base}_{suffix}" for base in bases for suffix in ELEMENTS]
