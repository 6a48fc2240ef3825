"""A folder of CMSIS-NN: which version it is, and which of its files a function needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from pilotlight.errors import PilotlightError

FOLDER = "cmsis_nn"  # in the generated folder
# Releases by the revision of their list of functions: their kernels and buffer sizes are those that were compared.
VERSIONS = {"18.0.0": "7.0.0", "19.1.0": "7.0.0 with the changes to July 2026"}
_FUNCTIONS, _LICENSE = "Include/arm_nnfunctions.h", "LICENSE"
_REVISION = re.compile(r"\$Revision:\s*V\.(\S+)")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_NAMED = re.compile(r"\b(arm_\w+)\s*\(")
_DEFINED = re.compile(r"^(?!static)[A-Za-z_][\w\s*]*?\b(arm_\w+)\s*\([^;{]*\)\s*\{", re.MULTILINE)
_FLOAT = re.compile(r"_(f16|f32|flt)\b")


class Library:
    """The files of CMSIS-NN, read as they are."""

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.version = self._version()

    def _version(self) -> str:
        hint = "name a copy of CMSIS-NN, which has the folders Include and Source: --cmsis-nn DIR"
        if not self.folder.is_dir():
            raise PilotlightError(f"{self.folder} is not a folder", hint=hint, kind="file")
        missing = [name for name in (_FUNCTIONS, "Source", _LICENSE) if not (self.folder / name).exists()]
        if missing:
            raise PilotlightError(
                f"{self.folder} is not a folder of CMSIS-NN: it has no {missing[0]}", hint=hint, kind="file")
        found = _REVISION.search(self._text(self.folder / _FUNCTIONS))
        revision = found.group(1) if found else "none"
        if revision not in VERSIONS:
            known = " or ".join(f"{key} (CMSIS-NN {name})" for key, name in VERSIONS.items())
            raise PilotlightError(
                f"{self.folder / _FUNCTIONS} has the revision {revision}; expected {known}",
                hint="use one of these versions: the memory that kernels need differs in others", kind="unsupported")
        return VERSIONS[revision]

    def files(self, functions: Iterable[str]) -> dict[str, str]:
        """Sources that define these functions and all that they call, the headers of these, and the licence; by their
        names in the generated folder."""
        sources, waiting = dict[Path, None](), list(functions)
        while waiting:
            source = self._sources.get(waiting.pop())
            if source is not None and source not in sources:
                sources[source] = None
                waiting += _NAMED.findall(self._code(source))
        headers, named = dict[str, None](), [n for source in sources for n in _INCLUDE.findall(self._code(source))]
        while named:
            name = named.pop()
            if name not in headers and (self.folder / "Include" / name).is_file():
                headers[name] = None
                named += _INCLUDE.findall(self._code(self.folder / "Include" / name))
        found = {source.name: source for source in sources}
        found |= {name: self.folder / "Include" / name for name in headers} | {_LICENSE: self.folder / _LICENSE}
        return {f"{FOLDER}/{name}": self._text(path) for name, path in sorted(found.items())}

    @cached_property
    def _sources(self) -> dict[str, Path]:
        """Where each function is defined."""
        found: dict[str, Path] = {}
        for path in sorted(self.folder.glob("Source/*/*.c")):
            if not _FLOAT.search(path.stem):
                found |= dict.fromkeys(_DEFINED.findall(self._code(path)), path)
        return found

    def check(self, functions: Iterable[str]) -> None:
        """Whether the functions that are called are there."""
        missing = sorted(set(functions) - set(self._sources))
        if missing:
            raise PilotlightError(
                f"{self.folder / 'Source'} has no {missing[0]}", hint="name a whole copy of CMSIS-NN", kind="file")

    def _code(self, path: Path) -> str:
        return _COMMENT.sub(" ", self._text(path))

    def _text(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise PilotlightError(f"{path} cannot be read: {error}", hint="name a whole copy of CMSIS-NN",
                                  kind="file") from error
