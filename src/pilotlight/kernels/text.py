"""The hand-written kernels as text: a generated file holds just those that it uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypedDict

from jinja2 import Template

PORTABLE = Path(__file__).parent / "portable"
ISAS = ("portable", "fpu", "dsp", "mve", "rv32", "thumb1")
FOLDERS = tuple(Path(__file__).parent / isa for isa in ISAS)  # with headers

_LOCAL_INCLUDE = re.compile(r'^#include "([^"]+)\.h"\n', re.MULTILINE)
_SYSTEM_INCLUDE = re.compile(r"^#if [^\n]*\n#include <[^\n]*>\n#endif\n+|^#include <[^\n]*>\n+", re.MULTILINE)
_GUARD = re.compile(r"\A#ifndef \w+_H\n#define \w+_H\n(.*)#endif\s*\Z", re.DOTALL)


class Element(TypedDict):
    """What a kernel for elements of any type has to know about one: the ending of names, its C type, 0 and 1."""

    t: str
    T: str
    zero: str
    one: str


class QuantizedElement(TypedDict):
    """The same for integers that stand for real numbers: the ending of names, the C type and its limits."""

    t: str
    T: str
    bits: int
    least: int
    most: int


class Rounding(TypedDict):
    """How the kernels of int8 layers round their sums: the ending of names, whether channels have shifts, how these are
    declared, and C for an output of the accumulator, the multiplier and the shift."""

    t: str
    shifts: bool
    given: str
    rounded: Callable[[str, str, str], str]


def _once(acc: str, m: str, shift: str) -> str:
    return f"pl_requantize_s8(&q, {acc}, {m})"


def _as_tflm(acc: str, m: str, shift: str) -> str:
    return f"(int8_t)pl_tflm_output({acc}, {m}, {shift}, q.zy, q.lo, q.hi)"


# What a template is written for is the part of its name before `.h.j2`: `sort.h.j2`, `conv.rounded.h.j2`.
VARIANTS: dict[str, dict[str, Element] | dict[str, QuantizedElement] | dict[str, Rounding]] = {
    "": {
        "f32": Element(t="f32", T="float", zero="0.0f", one="1.0f"),
        "i64": Element(t="i64", T="int64_t", zero="0", one="1"),
    },
    ".quantized": {
        "s8": QuantizedElement(t="s8", T="int8_t", bits=8, least=-128, most=127),
        "s16": QuantizedElement(t="s16", T="int16_t", bits=16, least=-32768, most=32767),
    },
    ".rounded": {
        "s8": Rounding(t="s8", shifts=False, given="", rounded=_once),
        "tflm_s8": Rounding(t="tflm_s8", shifts=True, given=", const int32_t *shifts", rounded=_as_tflm),
    },
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
    """A header as text. `sort_f32` and `sort_i64` are `sort.h.j2`, which is written for elements of any type, and
    `conv_s8` and `conv_tflm_s8` are `conv.rounded.h.j2`."""
    for folder in FOLDERS:
        file = folder / f"{name}.h"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    for kind, variants in VARIANTS.items():
        for suffix, variant in sorted(variants.items(), key=lambda row: -len(row[0])):
            file = PORTABLE / f"{name.removesuffix(f'_{suffix}')}{kind}.h.j2"
            if name.endswith(f"_{suffix}") and file.is_file():
                return Template(file.read_text(encoding="utf-8"), keep_trailing_newline=True).render(variant)
    raise FileNotFoundError(f"there is no kernel {name}")


def typed_kernels() -> list[str]:
    """The names of all headers that are not files of their own."""
    return sorted(
        f"{base}_{suffix}" for kind, variants in VARIANTS.items() for base in _bases(kind) for suffix in variants
    )


def _bases(kind: str) -> list[str]:
    names = [file.name.removesuffix(".h.j2") for file in PORTABLE.glob("*.h.j2")]
    return [name.removesuffix(kind) for name in names if name.partition(".")[2] == kind.lstrip(".")]
