"""Parts of the Python package that few programs import: their source in one compressed stream, compiled when imported.

What every model needs is frozen bytecode and runs out of flash. The rest costs RAM where it is imported, and less than
half of the flash: bytecode, names and texts of a frozen module are stored as they are.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

from pilotlight.micropython.minify import minify

# In the order of the stream: what comes first is found first.
PACKED = (
    "torch.nn.modules._table", "torch.nn._more", "torch.nn.modules._rare", "torch.nn.init", "torch.nn.modules.mapping",
    "torch.nn.modules.others", "copy", "torch.nn.modules.activation", "torch.nn.modules.transformer",
    "torch.nn.modules.rnn", "dataclasses", "torch.functional", "itertools", "contextlib",
)
_PUBLIC = ("torch.nn.init", "copy", "dataclasses", "itertools", "contextlib")  # programs import these themselves
_WINDOW = 12  # bits: 4 KB of RAM for the time of unpacking
_STUB = "from torch import _packed\n\n_packed.load(__name__, globals())\n"
_LOADER = '''\
from io import BytesIO

from deflate import RAW, DeflateIO

_INDEX = {index!r}
_loaded = {{}}


# the names of a module, which is compiled one statement at a time; with `names` it is not kept
def load(name, names=None):
    if name in _loaded:
        return _loaded[name]
    keep = names is None
    names = {{"__name__": name}} if keep else names
    stream = DeflateIO(BytesIO(_DATA), RAW, {window})
    skipped = bytearray(64)
    for known, size in _INDEX:
        if known == name:
            break
        while size:
            size -= stream.readinto(skipped, min(size, 64))
    else:
        raise ImportError(name + " is not in this build")
    text = b""
    while size:
        line = stream.readline()
        size -= len(line)
        if text and line[0] != 32 and text[0] != 64:
            exec(text, names)
            text = b""
        text += line
    exec(text, names)
    if keep:
        _loaded[name] = names
    return names


_DATA = {data!r}
'''


def pack(files: Mapping[str, Path]) -> dict[str, bytes]:
    """Python files to freeze instead of these modules, by their paths in the package; one without bytes is left out."""
    texts = {name: minify(files[name].read_text()).encode() for name in PACKED if name in files}
    if not texts or "torch._packed" not in files:
        return {}
    compressor = zlib.compressobj(9, zlib.DEFLATED, -_WINDOW, 9)
    data = b"".join(compressor.compress(text) for text in texts.values()) + compressor.flush()
    index = tuple((name, len(text)) for name, text in texts.items())
    made = {f"{name.replace('.', '/')}.py": _STUB.encode() if name in _PUBLIC else b"" for name in texts}
    return {**made, "torch/_packed.py": _LOADER.format(index=index, window=_WINDOW, data=data).encode()}
