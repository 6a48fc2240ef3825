"""Parts of the Python package that few programs use: their source in one compressed stream, compiled when asked for.

What every model needs is frozen bytecode and runs out of flash. The rest costs RAM where it is used, and less than half
of the flash: bytecode, names and texts of a frozen module are stored as they are.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pilotlight.micropython.deflate import deflate
from pilotlight.micropython.minify import keywords, minify
from pilotlight.micropython.words import choose, encode, table

if TYPE_CHECKING:
    from pilotlight.micropython.composed import Unit

# In the order of the stream: next to what they resemble, which makes it smaller.
PACKED = (
    "torch.nn.modules._table", "torch.nn._losses", "torch.nn._more", "torch.nn._tables", "torch.nn.modules.others",
    "torch.nn.modules.rnn", "torch.nn.modules._norm", "torch.nn.modules.normalization", "torch.nn.modules._text",
    "torch.nn.modules._conv", "torch.nn.modules.transformer", "torch.nn.modules.activation", "torch.nn.init",
    "torch.nn.modules._walk", "torch.nn.modules._state", "copy", "torch.nn.modules.mapping",
    "torch.nn.modules._numbered", "torch.nn.modules._rare", "dataclasses", "itertools", "functools",
    "contextlib",
)
_PUBLIC = ("torch.nn.init", "copy", "dataclasses", "itertools", "functools", "contextlib")  # programs import these
_WINDOW = 12  # bits: 4 KB of RAM for the time of unpacking
_STUB = "from torch import _packed\n\n_packed.load(__name__, globals())\n"
LOADER, _PLACE = "torch._packed", '_DATA = b""'


def pack(
    files: Mapping[str, Path], operators: Iterable[Unit], texts_of_errors: Iterable[str]
) -> tuple[dict[str, bytes], bytes]:
    """Python files to freeze instead of these modules, by their paths in the package; one without bytes is left out.

    The second result is the table of words that the stream has as bytes.
    """
    if LOADER not in files:
        return {}, b""
    texts = {name: minify(files[name].read_text()).encode() for name in PACKED if name in files}
    made = {f"{name.replace('.', '/')}.py": _STUB.encode() if name in _PUBLIC else b"" for name in texts}
    parts = [([name], text) for name, text in texts.items()] + _units(operators)
    parts.append((["_texts"], "".join(f"{text}\n" for text in texts_of_errors).encode()))
    words = choose(b"".join(" ".join(head).encode() + b"\n" + text for head, text in parts))
    data = deflate(b"".join(_encoded(head, text, words) for head, text in parts), _WINDOW)
    loader = files[LOADER].read_text()
    assert _PLACE in loader
    made["torch/_packed.py"] = minify(loader.replace(_PLACE, f"_DATA = {data!r}")).encode()
    return made, table(words)


def _encoded(head: list[str], text: bytes, words: list[bytes]) -> bytes:
    """A unit after the line that tells its name and size."""
    text = encode(text, words)
    return encode(" ".join([head[0], str(len(text)), *head[1:]]).encode() + b"\n", words) + text


def shares(operators: Iterable[Unit]) -> dict[str, int]:
    """Bytes of the stream that units take, in proportion to their texts."""
    texts = {head[0]: " ".join(head).encode() + text for head, text in _units(operators)}
    whole = b"".join(texts.values())
    return {name: round(len(text) * len(zlib.compress(whole, 9)) / len(whole)) for name, text in texts.items()}


def _units(operators: Iterable[Unit]) -> list[tuple[list[str], bytes]]:
    """The words of the line before each unit, but for the size, and its text."""
    units = list(operators)
    named = keywords("\n".join(unit.source for unit in units))
    return [
        ([unit.name, *([f":{unit.head}"] if unit.head else []), *unit.needs], minify(unit.source, named).encode())
        for unit in units
    ]
