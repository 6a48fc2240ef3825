"""The user C module as a folder: what a port's maintainer adds to a build, and what our builds are made from.

    folder/torch/          C sources, the compiler's kernels, generated tables, micropython.mk and .cmake
    folder/python/         the Python part, frozen by folder/manifest.py
    folder/micropython.cmake
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from pilotlight.micropython import cache
from pilotlight.micropython.pack import pack
from pilotlight.micropython.select import PARTS, TorchSelection, modules

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels" / "portable"
_MANIFEST = '# Add to your board\'s manifest: include("path/to/this/manifest.py")\nfreeze("python", opt=3)\n'
_RANKED = ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm")  # classes for 1 to 3 dimensions
_REFUSED = 'raise ImportError("not in this build: build it with `--with {part}`")\n'
_CMAKE = """\
# Any cmake port: -DUSER_C_MODULES=path/to/this/file
include(${CMAKE_CURRENT_LIST_DIR}/torch/micropython.cmake)
"""


def write_module(folder: Path, selection: TorchSelection) -> list[str]:
    """Write or update the folder; unchanged files are not touched, old ones are removed.

    Returns the names of its files.
    """
    from pilotlight.micropython.generate import generate  # imports PyTorch, which takes a moment

    files = selection.python_files()
    python = {name: path for name, path in modules().items() if path in files}
    wanted = {f"torch/{path.name}": path.read_bytes() for path in sorted((HERE / "cmodule").iterdir())}
    packed = pack(python, selection.units(), selection.absent())
    wanted["torch/generated/stream.h"] = f"{packed.header}{selection.types_header()}".encode()
    if packed.source:
        wanted["torch/generated/packed.c"] = packed.source.encode()
    with tempfile.TemporaryDirectory() as temporary:
        generate(Path(temporary), selection.kernels(), alone=selection.alone)
        for path in sorted((Path(temporary) / "generated").iterdir()):
            wanted[f"torch/generated/{path.name}"] = path.read_bytes()
    wanted["torch/generated/public.c"] = _public(files).encode()
    for path in _included(list(wanted.values())):
        wanted[f"torch/kernels/{path.name}"] = path.read_bytes()
    for path in files:
        wanted[f"python/{path.relative_to(HERE / 'python')}"] = path.read_bytes()
    for name, data in packed.files.items():
        if data:
            wanted[f"python/{name}"] = data
        else:
            del wanted[f"python/{name}"]
    wanted |= {f"python/{name.replace('.', '/')}.py": _REFUSED.format(part=part).encode()
               for part in selection.without for name in PARTS[part][1] if modules()[name].stem == "__init__"}
    wanted["manifest.py"] = _MANIFEST.encode() if any(n.startswith("python/") for n in wanted) else b""
    wanted["micropython.cmake"] = _CMAKE.encode()
    for part in ("torch", "python"):
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and str(path.relative_to(folder)) not in wanted:
                path.unlink()
    for name, data in wanted.items():
        cache.update(folder / name, data)
    return list(wanted)


def _public(files: list[Path]) -> str:
    """Classes of torch.nn, which are created on first use: the prompt completes only names that are interned."""
    import torch

    layers = [path for path in files if "nn" in path.relative_to(HERE / "python").parts]
    text = " ".join(path.read_text(encoding="utf-8") for path in layers)
    known = {*re.findall(r"\w+", text), *(f"{name}{rank}d" for name in _RANKED if name in text for rank in (1, 2, 3))}
    names = sorted(known & {name for name in dir(torch.nn) if name[0].isupper()})
    listed = "".join(f"    MP_QSTR_{name},\n" for name in names)
    return f'#include "py/obj.h"\n\nconst uint16_t pt_public[] = {{\n{listed or "    0"}}};\n'


def _included(sources: list[bytes]) -> list[Path]:
    """The compiler's headers that these sources include, and those that they include."""
    found: dict[Path, None] = {}
    while sources:
        names = re.findall(rb'^\s*#\s*include "([^"]+)"', sources.pop(), re.MULTILINE)
        for path in (KERNELS / name.decode() for name in names):
            if path.exists() and path not in found:
                found[path] = None
                sources.append(path.read_bytes())
    return sorted(found)
