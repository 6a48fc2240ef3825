"""CMSIS-NN as a backend: each layer that it takes is one call."""

from __future__ import annotations

from functools import cached_property
from importlib import resources
from pathlib import Path

from pilotlight.backends.base import Backend, Refused
from pilotlight.backends.cmsis_nn.layers import Call, call_of
from pilotlight.backends.cmsis_nn.library import FOLDER, Library
from pilotlight.backends.cmsis_nn.scratch import Core
from pilotlight.boards import Board
from pilotlight.graph import Graph, Node
from pilotlight.ops.extern import Extern
from pilotlight.options import CMSIS_NN

_HEADER = "pilotlight_cmsis_nn.h"


class CmsisNn(Backend):
    """The kernels in a folder, for a core."""

    name = CMSIS_NN
    joins = False

    def __init__(self, library: Library, core: Core = Core.PLAIN):
        self.library, self.core = library, core

    @staticmethod
    def from_folder(folder: Path | str) -> CmsisNn:
        return CmsisNn(Library(folder))

    def on(self, board: Board) -> Backend | str:
        if not board.is_host and board.toolchain != "arm-none-eabi":
            return f"it is for Cortex-M; the board has a {board.cpu}"
        return CmsisNn(self.library, Core.of(board))

    def takes(self, node: Node) -> bool | str:
        try:
            self.library.check([call_of(node, self.core).calls])
        except Refused as refused:
            return refused.message
        return True

    def lower(self, part: Graph) -> Extern:
        (node,) = part.nodes
        call = call_of(node, self.core)
        without = call.scratch is not None and call.scratch == 0
        return Extern(
            function=call.function, files=self._files(call), constants=call.constants, scratch=call.scratch or 0,
            overlaps=call.overlaps, table=call.table, more=("NULL",) if without else (),
        )

    def _files(self, call: Call) -> dict[str, str]:
        return self.library.files([call.calls]) | self._own

    @cached_property
    def _own(self) -> dict[str, str]:
        """Our calls of its functions."""
        file = resources.files("pilotlight") / "csrc" / FOLDER / _HEADER
        head = (f"/* CMSIS-NN {self.library.version} is in {FOLDER}/, under the licence in {FOLDER}/LICENSE. */\n"
                f"#define PL_CMSIS_NN_PLANNED {int(self.core)}\n")
        return {_HEADER: head + file.read_text(encoding="utf-8")}
