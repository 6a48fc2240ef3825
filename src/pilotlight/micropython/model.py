"""What a model needs: a Python file is run by MicroPython itself and watched, a saved graph is read."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import torch

from pilotlight.errors import PilotlightError
from pilotlight.micropython.build import unix_binary
from pilotlight.micropython.select import TorchSelection, all_operators, modules, overloads_of, select

_HEAP = 2 << 30  # bytes; used only as far as the model needs
_MARK = "what it needs: "
_AROUND = ("tensor", "__repr__", "__getitem__")  # what a user types around a model
_DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
# A name is a function that returns (module, example inputs), or a module or class together with shapes.
_WATCH = """\
import sys
import _torch
import torch
shapes = {shapes!r}
inputs = [torch.ones(shape, dtype=getattr(torch, dtype)) for shape, dtype in shapes]
_names = set()
_torch._record(_names)
import {module} as _file
found = getattr(_file, {name!r})
if not hasattr(found, "_modules") or isinstance(found, type):
    found = found()
if isinstance(found, tuple):
    found, given = found
    inputs = inputs or (given if isinstance(given, (tuple, list)) else (given,))
found.eval()
with torch.no_grad():
    found(*inputs)
_torch._record(None)
from torch import _packed
_called, _imported = list(_names) + list(_packed._made), list(sys.modules) + list(_packed._loaded)
print({mark!r} + " ".join(_called) + "|" + " ".join(_imported))
"""


def from_model(model: str, inputs: Sequence[str] = ()) -> TorchSelection:
    """The operators of file.py:name, file.pt2, or a TorchScript .pt file."""
    file, colon, name = model.rpartition(":")
    if colon and file.endswith(".py"):
        return _watched(Path(file), name, inputs)
    path = Path(model)
    if path.suffix not in (".pt2", ".pt", ".pth"):
        raise PilotlightError(
            f"{model!r} names no model", hint="write file.py:name, or a .pt2 or .pt file", kind="usage"
        )
    if not path.is_file():
        raise PilotlightError(f"{path} does not exist", hint="check the path", kind="no-file")
    return _read(path, _exported(path) if path.suffix == ".pt2" else _scripted(path))


def _shape(text: str) -> tuple[list[int], str]:
    sizes, _, dtype = text.partition(":")
    dtype = dtype or "float32"
    if dtype not in _DTYPES or not all(size.isdigit() for size in sizes.split("x")):
        raise PilotlightError(
            f"--input {text!r} is not understood", kind="usage",
            hint=f"write a shape such as 1x3x96x96, with a dtype if it is not float32: {', '.join(_DTYPES)}",
        )
    return [int(size) for size in sizes.split("x")], dtype


def _watched(path: Path, name: str, inputs: Sequence[str]) -> TorchSelection:
    """Run the file under a MicroPython with all operators, which records those that are called."""
    if not path.is_file():
        raise PilotlightError(f"{path} does not exist", hint="check the path before the colon", kind="no-file")
    text = _WATCH.format(shapes=[_shape(i) for i in inputs], module=path.stem, name=name, mark=_MARK)
    program = unix_binary()
    with tempfile.TemporaryDirectory() as temporary:
        script = Path(temporary) / "watch.py"
        script.write_text(text, encoding="utf-8", newline="\n")
        environment = {**os.environ, "MICROPYPATH": f"{path.resolve().parent}:.frozen"}
        done = subprocess.run([program, "-X", f"heapsize={_HEAP}", script], env=environment, capture_output=True,
                              encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise PilotlightError(
            f"{path}:{name} does not run under MicroPython: {said[-1] if said else 'it printed nothing'}",
            where=str(path), kind="user-code",
            hint="try it with `pilotlight micropython run`, or name the operators with --ops-file",
        )
    called, _, loaded = done.stdout.rpartition(_MARK)[2].partition("|")
    return select(sorted({*called.split(), *_AROUND}), sorted(set(loaded.split()) & set(modules())), str(path))


def _exported(path: Path) -> set[str]:
    from pilotlight.capture.source import load_exported

    names = set()
    for module in load_exported(path).graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if isinstance(node.target, torch._ops.OpOverload):
                names.add(str(node.target).removeprefix("aten."))
    return names


def _scripted(path: Path) -> set[str]:
    """The operators of a TorchScript graph; a file with only weights has none."""
    if not zipfile.is_zipfile(path):
        raise PilotlightError(
            f"{path} is not a file that torch.save or torch.jit.save wrote", kind="bad-file",
            hint="save it again, or give the model's own code, file.py:name",
        )
    if any("/code/" in name for name in zipfile.ZipFile(path).namelist()):
        graph = torch.jit.load(path, map_location="cpu").inlined_graph
        return {kind.removeprefix("aten::") for kind in _kinds(graph) if kind.startswith("aten::")}
    raise PilotlightError(
        f"{path} has weights but no operators in it", kind="no-operators",
        hint="give the model's own code, file.py:name, or a .pt2 file from torch.export.save",
    )


def _kinds(block: torch.Graph | torch.Block) -> set[str]:
    found = set()
    for node in block.nodes():
        found |= {node.kind()}.union(*(_kinds(inner) for inner in node.blocks()))
    return found


def _read(path: Path, names: set[str]) -> TorchSelection:
    """The operators of a saved graph; those that work only on Python's numbers and lists are not tensor operators."""
    known = all_operators()
    found = {name for name in names if overloads_of(name, known)}
    schemas = {name for name in names - found if _is_operator(name)}
    wanted = {name.partition(".")[0] for name in found} | schemas | {*_AROUND}
    return select(sorted(wanted), sorted(modules()), str(path))


def _is_operator(name: str) -> bool:
    """Whether PyTorch's schema of it takes a tensor."""
    packet = getattr(torch.ops.aten, name.partition(".")[0], None)
    if packet is None:
        return False
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return any(str(argument.type) == "Tensor" for schema in schemas for argument in schema.arguments)
