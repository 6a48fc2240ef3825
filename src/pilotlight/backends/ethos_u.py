"""The Ethos-U NPUs, each configuration a backend: `--npu ethos-u55-128`.

A part of the model becomes TOSA (`pilotlight.npu.operators`), then commands and weights (`pilotlight.npu.vela`), and
in C one call of Arm's driver. Vela plans the part's memory as one scratch buffer in which inputs and outputs have their
places: the call copies them in and out.
"""

from __future__ import annotations

from functools import cache

import jinja2
import numpy as np

from pilotlight.backends.base import Backend, Refused
from pilotlight.backends.registry import add_backend
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node
from pilotlight.npu import vela
from pilotlight.npu.operators import refusal, written
from pilotlight.ops.extern import Extern
from pilotlight.version import __version__

DRIVER = ("ethosu_reserve_driver", "ethosu_release_driver", "ethosu_invoke_v3")
ALIGN = 16  # of what the driver is given
COMMON = "pilotlight_ethosu.h"  # the same for every part
_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("pilotlight.npu"), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined, autoescape=False,
)


class EthosU(Backend):
    """One configuration of an Ethos-U: its family and how many multiply-accumulates it does in a cycle."""

    def __init__(self, configuration: str):
        self.name = vela.check_configuration(configuration)
        self.family = vela.family(configuration)

    def on(self, board: Board) -> Backend | str:
        if self.name not in board.npus:
            has = f"its NPU can be {', '.join(board.npus)}" if board.npus else "the board has no Ethos-U"
            return f"{has} (npus in the board's file)"
        vela.check_version()
        return self

    def takes(self, node: Node) -> bool | str:
        reason = refusal(node)
        if reason is not None:
            return reason
        inputs = dict.fromkeys(v for v in node.inputs if not v.is_constant)
        said = _gives_up(written([node], inputs, node.outputs, self.family).serialize(), self.name)
        return f"Vela does not compile it for {self.name}: {said}" if said else True

    def lower(self, part: Graph) -> Extern:
        inputs, outputs = ([port.value for port in ports] for ports in (part.inputs, part.outputs))
        tosa = written(part.nodes, inputs, outputs, self.family)
        try:
            compiled = vela.compile_tosa(tosa.serialize(), self.name)
        except vela.VelaError as error:
            raise Refused(f"Vela does not compile it for {self.name}: {error}") from error
        self._check(part, compiled)
        blobs = tuple(np.frombuffer(data or bytes(ALIGN), np.uint8) for data in (compiled.commands, compiled.weights))
        # Every input is copied before anything is written, so an output may lie anywhere in a dying one.
        anywhere = {(i, j): value.bytes for i, value in enumerate(inputs) for j in range(len(outputs))}
        return Extern(
            function=part.name, files=self._files(part, compiled), constants=blobs, scratch=compiled.scratch,
            overlaps=anywhere, align=ALIGN, fails=True, needs=DRIVER,
            figures={"commands_bytes": len(compiled.commands), "scratch_bytes": compiled.scratch, **compiled.figures},
        )

    def _check(self, part: Graph, compiled: vela.Compiled) -> None:
        """Vela's places are those of our tensors."""
        for ports, places in ((part.inputs, compiled.inputs), (part.outputs, compiled.outputs)):
            sizes = [port.value.bytes for port in ports]
            inside = all(place.offset + place.bytes <= compiled.scratch for place in places)
            if sizes != [place.bytes for place in places] or not inside:
                raise PilotlightError(
                    f"Vela placed tensors of {[place.bytes for place in places]} bytes for those of {sizes}",
                    where=str(part.nodes[0].place), kind="internal",
                )

    def _files(self, part: Graph, compiled: vela.Compiled) -> dict[str, str]:
        values = {
            "name": part.name, "version": __version__, "npu": self.name, "vela": compiled.figures["vela"],
            "count": len(part.nodes), "inputs": compiled.inputs, "outputs": compiled.outputs, "align": ALIGN,
            "sizes": {
                "commands": len(compiled.commands), "weights": len(compiled.weights), "scratch": compiled.scratch},
        }
        names = {COMMON: COMMON, f"{part.name}.h": "part.h", f"{part.name}.c": "part.c"}
        return {file: _TEMPLATES.get_template(f"{name}.j2").render(**values) for file, name in names.items()}


@cache
def _gives_up(tosa: bytes, configuration: str) -> str | None:
    """What Vela says of one node; equal layers are asked about once."""
    try:
        vela.compile_tosa(tosa, configuration)
    except vela.VelaError as error:
        return str(error)
    return None


for _configuration in vela.CONFIGURATIONS:
    add_backend(EthosU(_configuration))
