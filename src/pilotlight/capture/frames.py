"""Lines of the user's code: in tracebacks, and where an exported node came from."""

from __future__ import annotations

import os
from pathlib import Path

import torch

TORCH_FOLDER = f"{Path(torch.__file__).parent}{os.sep}"  # torchvision lies next to it
ARCHIVED = ":code/"  # between the names of an archive and of a file in it
OURS = str(Path(__file__).parents[1])


def shown(file: str, line: int | str) -> str:
    """A line of the user's code, by the name of its file; of a TorchScript archive with the path inside it."""
    return f"{file if ARCHIVED in file else Path(file).name}:{line}"


def user_frame(error: BaseException) -> str | None:
    """The innermost line of the user's own code in a traceback."""
    place = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((TORCH_FOLDER, OURS, "<")) and "importlib" not in file:
            place = shown(file, trace.tb_lineno)
        trace = trace.tb_next
    return place
