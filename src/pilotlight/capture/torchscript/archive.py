"""What is in a `.pt` file: a TorchScript archive is loaded, anything else is refused by what it is.

Nothing in the file runs as Python: TorchScript's own reader takes the archive apart, and other files are only looked at
with `weights_only`.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch

from pilotlight.errors import PilotlightError, no_file

SUFFIXES = (".pt", ".pth", ".jit")
_UNPACKED = 1 << 26  # bytes of compressed entries, which are source code, once unpacked
_AGAIN = "write it again with torch.jit.save(torch.jit.script(model), path)"
_SPACE = r"(?:\s|\\|#[^\n]*\n)*"
_CALLS = re.compile(
    r"\b(?:torch|aten)S\.S(?P<file>save|from_file)S\(|\bopsS\.S(?!prim\b|aten\b)(?P<space>\w+)S\.S(?P<name>\w+)"
    .replace("S", _SPACE).encode()
)
_CLASS = re.compile(r"GLOBAL ([\w.]+)")


def load_archive(path: Path) -> tuple[Any, Any]:
    """The compilation unit and the module (`torch._C.ScriptModule`) of a TorchScript archive."""
    if not path.is_file():
        raise no_file(path)
    if not zipfile.is_zipfile(path):
        raise _not_scripted(path)
    _check_entries(path)
    _check_code(path)
    unit = torch._C.CompilationUnit()
    read: Any = torch._C.import_ir_module  # takes more than its declaration says
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module: Any = read(unit, str(path), torch.device("cpu"), {}, False)
    except Exception as error:  # whatever the bytes lead it to
        raise _unreadable(path, error) from error
    if not module._has_method("forward"):
        raise PilotlightError(f"{path} has no forward method to compile", hint=_AGAIN, kind="usage")
    return unit, module


def _check_entries(path: Path) -> None:
    """Refuse what is no TorchScript archive, and one whose source code unpacks to too much."""
    try:
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _unreadable(path, error) from error
    names = [entry.filename.partition("/")[2] for entry in entries]
    if not any(name.startswith("code/") for name in names):
        if any(name.startswith("models/") or name == "archive_format" for name in names):
            raise PilotlightError(
                f"{path} is an exported program, not TorchScript", hint=f"rename it to {path.stem}.pt2", kind="usage",
            )
        raise _not_scripted(path)
    if sum(entry.compress_size for entry in entries) > path.stat().st_size:
        raise _unreadable(path, ValueError("its entries overlap"))
    unpacked = sum(entry.file_size for entry in entries if entry.compress_type != zipfile.ZIP_STORED)
    if unpacked > _UNPACKED:
        raise PilotlightError(
            f"{path} cannot be read: its compressed entries unpack to {unpacked:,} bytes, more than {_UNPACKED:,}; "
            "torch.jit.save compresses only source code", hint=_AGAIN, kind="broken-file",
        )


def _check_code(path: Path) -> None:
    """Refuse code that reads or writes files, or calls more than TorchScript's own operators: loading an archive may
    run some of it already."""
    try:
        with zipfile.ZipFile(path) as file:
            sources = {name: file.read(name) for name in file.namelist() if name.endswith(".py")}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise _unreadable(path, error) from error
    for name, code in sources.items():
        found = _CALLS.search(code)
        if found is not None:
            called = b"torch." + found["file"] if found["file"] else b"ops.%b.%b" % (found["space"], found["name"])
            line = code[: found.start()].count(b"\n") + 1
            raise PilotlightError(
                f"the TorchScript code of {path} calls {called.decode(errors='replace')}, which is not supported; "
                "nothing of it was run", where=f"{path.name}:{name.partition('/')[2]}:{line}",
                hint="save the model again without that call", kind="unsupported",
            )


def _unreadable(path: Path, error: Exception) -> PilotlightError:
    said = [line for line in str(error).splitlines() if line.strip()]
    reason = said[0].strip().rstrip(":.") if said else type(error).__name__
    reason = reason.partition(". ")[0]
    reason = re.sub(r"^\[enforce fail at [^\]]*\]\s*\.?\s*", "", reason)
    return PilotlightError(
        f"{path} cannot be read: it is damaged, or PyTorch cannot load it ({reason})", hint=_AGAIN, kind="broken-file",
    )


def _not_scripted(path: Path) -> PilotlightError:
    """What a file without TorchScript code is."""
    try:
        data = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises whatever the bytes lead it to
        named = _CLASS.search(str(error))
        if named is None:
            return _unreadable(path, ValueError("it is neither TorchScript nor written by torch.save"))
        return PilotlightError(
            f"{path} is a pickled Python object, {named[1]}, which could run any code when it is loaded; nothing of "
            "it was run", kind="usage",
            hint="give the model's Python, file.py:name, with --weights and a file from torch.save(model.state_dict(), "
            "path); or write it with torch.jit.save or torch.export.save",
        )
    count = sum(isinstance(value, torch.Tensor) for value in data.values()) if isinstance(data, dict) else 0
    what = f"only weights ({count} {'tensor' if count == 1 else 'tensors'} by name)" if count else \
        f"a dictionary with {', '.join(map(repr, list(data)[:4]))}" if isinstance(data, dict) else \
        f"a {type(data).__name__}"
    return PilotlightError(
        f"{path} holds {what} and no model to run",
        hint=f"give the architecture too: file.py:name --weights {path}", kind="usage",
    )
