"""Texts of errors: with a packed stream they are lines of it, and the C of that build has their numbers.

The linker cannot take them out one by one then, but as text that is compressed as a whole they are much smaller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_USE = re.compile(r'MP_ERROR_TEXT\(((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)')
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLACE = re.compile(r"%([dsq])")
_KINDS = "dsq"  # as texts.c counts them, from 1


def take_out(sources: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """C files with PT_ERROR(number and kinds, "...") for MP_ERROR_TEXT("..."), and the texts from number 1."""
    texts: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        text = "".join(_LITERAL.findall(match[1])).replace('\\"', '"')
        assert "\\" not in text, text
        kinds = sum(_KINDS.index(kind) + 1 << 2 * k for k, kind in enumerate(_PLACE.findall(text)))
        number = texts.setdefault(_PLACE.sub(lambda place: "%d" if place[1] == "d" else "%s", text), len(texts) + 1)
        return f"PT_ERROR({number << 16 | kinds:#x}, {match[1].strip()})"

    return {name: _USE.sub(numbered, data.decode()).encode() for name, data in sources.items()}, list(texts)
