"""What a bug report needs, in one file: the command, the versions, the traceback, the graph without weights."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from pilotlight.cache import cache_folder
from pilotlight.installed import parts


def write_bundle(error: BaseException, args: Sequence[str]) -> Path | None:
    """The file, in the cache or among temporary files; None if nothing can be written."""
    texts = {
        "command.txt": shlex.join(["pilotlight", *args]) + "\n",
        "versions.json": json.dumps([vars(part) for part in parts()], indent=2) + "\n",
        "traceback.txt": "".join(traceback.format_exception(error)),
        **{f"graph{number or ''}.txt": text for number, text in enumerate(_graphs(error))},
    }
    name = f"report-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.zip"
    for folder in (cache_folder() / "reports", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as bundle:
                for file, text in texts.items():
                    bundle.writestr(file, text)
            return folder / name
        except OSError:
            continue
    return None


def _graphs(error: BaseException) -> list[str]:
    """The exported programs that were being worked on: whatever the frames of the traceback hold."""
    if "torch" not in sys.modules:
        return []
    from torch.export import ExportedProgram

    found: dict[int, str] = {}
    for value in _values(error):
        program = getattr(getattr(value, "graph", value), "exported", value)  # of a build, of a graph, or itself
        if isinstance(program, ExportedProgram):
            found.setdefault(id(program), str(program))
    return list(found.values())


def _values(error: BaseException | None) -> Iterator[Any]:
    while error is not None:
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            yield from list(trace.tb_frame.f_locals.values())
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
