"""Operators whose kernel is one of several candidates: what was chosen says how they are planned and called."""

from __future__ import annotations

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.registry import candidates
from pilotlight.ops.base import Op


class Chosen(Op):
    """A layer y = f(x, constants...): the constants, scratch, overlaps and call are those of the chosen kernel."""

    def layer(self, node: Node) -> object:
        """The layer as data: its type is what kernels are registered for."""
        raise NotImplementedError(type(self).__name__)

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        return candidates(self.layer(node), target)

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        node.attrs["candidate"] = candidate
        node.inputs = [node.inputs[0], *(graph.constant(c, "packed") for c in candidate.constants)]

    def scratch(self, node: Node) -> int:
        return _kernel(node).scratch

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        distance = _kernel(node).distance
        return {} if distance is None else {(0, 0): distance}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        distance = _kernel(node).reverse
        return {} if distance is None else {(0, 0): distance}

    def emit(self, node: Node, c: Step) -> None:
        emit_chosen(node, c)


def emit_chosen(node: Node, c: Step, offset: int = 0) -> None:
    """Call the chosen kernel; it reads its input from element `offset` on."""
    kernel = _kernel(node)
    c.use(*kernel.headers)
    c.bring(kernel.files, kernel.stack)
    c.micro |= kernel.micro
    table = c.table(kernel.ctype, kernel.hint, kernel.table(c.reverse))
    x, *constants = node.inputs
    reads = [c.read(v, ctype) for v, ctype in zip(constants, kernel.ctypes, strict=True)]
    scratch = [c.scratch(kernel.scratch_type)] if kernel.scratch else []
    start = c.read(x) + (f" + {offset}" if offset else "")
    c.call(kernel.driver, table, start, *reads, c.write(node.output), *scratch, *kernel.more)


def _kernel(node: Node) -> Candidate:
    kernel: Candidate = node.attrs["candidate"]
    return kernel
