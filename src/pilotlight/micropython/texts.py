"""Texts of errors: with a packed stream they are lines of it, and the C of that build has their numbers.

The linker cannot take them out one by one then, but as text that is compressed as a whole they are much smaller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TYPES = ("RuntimeError", "TypeError", "ValueError", "IndexError", "NotImplementedError")  # as texts.c numbers them
_USE = re.compile(
    rf'(?:mp_raise_msg(?:_varg)?\(\s*&mp_type_({"|".join(_TYPES)}),\s*|mp_raise_({"|".join(_TYPES)})\()?'
    r'MP_ERROR_TEXT\(((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)'
)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLACE = re.compile(r"%([dsq])")
_KINDS = "dsq"  # as texts.c counts them, from 1


def take_out(sources: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """C files with PT_ERROR(code, "...") for MP_ERROR_TEXT("..."), and the texts from number 1.

    A call that raises a usual type with a text gets that type as a part of the code.
    """
    texts: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        text = "".join(_LITERAL.findall(match[3])).replace('\\"', '"')
        assert "\\" not in text, text
        kinds = sum(_KINDS.index(kind) + 1 << 2 * k for k, kind in enumerate(_PLACE.findall(text)))
        number = texts.setdefault(_PLACE.sub(lambda place: "%d" if place[1] == "d" else "%s", text), len(texts) + 1)
        kind = match[1] or match[2]
        code = _TYPES.index(kind or _TYPES[0]) << 29 | number << 16 | kinds
        return f"{'pt_raise_text(' if kind else ''}PT_ERROR({code:#x}u, {match[3].strip()})"

    return {name: _USE.sub(numbered, data.decode()).encode() for name, data in sources.items()}, list(texts)
