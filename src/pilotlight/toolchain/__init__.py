"""Toolchain: finding and driving compilers; sizes and stack of what they made.

    build_model(folder, board, workdir, optimize="speed"|"size", weights_in=None, arena_in=None,
                sanitize=False, check=True) -> BuildInfo

`folder` is a compiled model (NAME.h, NAME.c, ..., metadata.json), `board` a boards.Board. BuildInfo has
`.sizes` (code, weights, harness, static, total; None with a reason where unknown), `.stack` (worst case,
bytes), `.memory` (use of each memory of the board), `.image` (give it to device.open), `.folder` (metadata).
Too large for the board: DoesNotFitError; with check=False the figures are returned all the same, without an
image.
"""

from pilotlight.toolchain.build import BuildInfo, build_model
from pilotlight.toolchain.cmake import toolchain_files
from pilotlight.toolchain.find import Toolchain, find
from pilotlight.toolchain.fit import MemoryUse
from pilotlight.toolchain.folder import FolderPort, ModelFolder, read_folder
from pilotlight.toolchain.sizes import Sizes

__all__ = [
    "BuildInfo",
    "FolderPort",
    "MemoryUse",
    "ModelFolder",
    "Sizes",
    "Toolchain",
    "build_model",
    "find",
    "read_folder",
    "toolchain_files",
]
