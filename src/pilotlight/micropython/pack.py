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


def pack(files: Mapping[str, Path], operators: Iterable[Unit], texts_of_errors: Iterable[str]) -> dict[str, bytes]:
    """Python files to freeze instead of these modules, by their paths in the package; one without bytes is left out."""
    if LOADER not in files:
        return {}
    texts = {name: minify(files[name].read_text()).encode() for name in PACKED if name in files}
    errors = "".join(f"{text}\n" for text in texts_of_errors).encode()
    data = deflate(b"".join([
        *(part for name, text in texts.items() for part in (f"{name} {len(text)}\n".encode(), text)),
        *_texts(operators).values(), f"_texts {len(errors)}\n".encode(), errors,
    ]), _WINDOW)
    made = {f"{name.replace('.', '/')}.py": _STUB.encode() if name in _PUBLIC else b"" for name in texts}
    loader = files[LOADER].read_text()
    assert _PLACE in loader
    return {**made, "torch/_packed.py": minify(loader.replace(_PLACE, f"_DATA = {data!r}")).encode()}


def shares(operators: Iterable[Unit]) -> dict[str, int]:
    """Bytes of the stream that units take, in proportion to their texts."""
    texts = _texts(operators)
    whole = b"".join(texts.values())
    return {name: round(len(text) * len(zlib.compress(whole, 9)) / len(whole)) for name, text in texts.items()}


def _texts(operators: Iterable[Unit]) -> dict[str, bytes]:
    """What the stream has of these units, with the line that stands before each."""
    units = list(operators)
    named = keywords("\n".join(unit.source for unit in units))
    found = {}
    for unit in units:
        text = minify(unit.source, named).encode()
        head = [unit.name, str(len(text)), *([f":{unit.head}"] if unit.head else []), *unit.needs]
        found[unit.name] = " ".join(head).encode() + b"\n" + text
    return found
