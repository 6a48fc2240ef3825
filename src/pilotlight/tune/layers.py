"""Which layers of a graph can be measured apart from it, and what a layer is called in files of measurements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pilotlight import ops
from pilotlight.graph import Graph, Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.ops.describe import describe_shapes, describe_type
from pilotlight.selection import Offers

_SHAPE = ("stride", "pad", "dilation", "groups")  # attributes that decide what a kernel executes
_DIGITS = 10


@dataclass(frozen=True, eq=False)
class TunableLayer:
    """A node with several kernels, and its name: the same wherever the same kernels execute the same for it."""

    key: str
    node: Node
    offered: tuple[Candidate, ...]

    def candidate(self, name: str) -> Candidate | None:
        return next((candidate for candidate in self.offered if candidate.name == name), None)


def tunable_layers(graph: Graph, offers: Offers) -> Iterator[TunableLayer]:
    """The layers y = f(x, constants...) of integers with more than one kernel, in the order of the graph."""
    for node in graph.nodes:
        offered = offers.of(node)
        inputs = [value for value in node.inputs if not value.is_constant]
        integers = all(value.dtype.numpy.kind in "iu" for value in (*inputs, *node.outputs))
        if len(offered) > 1 and len(inputs) == len(node.outputs) == 1 and integers:
            yield TunableLayer(layer_key(node, offered), node, offered)


def layer_key(node: Node, offered: Sequence[Candidate]) -> str:
    """What the layer is for people, and a digest of its shape and of the kernels that it can have."""
    parts: list[object] = [node.op, *(value.shape for value in (node.inputs[0], *node.outputs))]
    parts += [(name, node.attrs.get(name)) for name in _SHAPE]
    parts += [(c.name, c.driver, sorted(c.micro), c.scratch) for c in offered]
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:_DIGITS]
    what = ops.get(node.op).describe(node)
    return f"{what}, {describe_type(node)}, {describe_shapes(node)} #{digest}"
