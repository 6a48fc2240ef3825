"""One call of a function that is not ours, which computes a whole subgraph: what a backend makes of its part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields, Step, c_number
from pilotlight.graph import Graph, Node
from pilotlight.graph.evaluate import evaluate
from pilotlight.ops.base import Op, Result, get, register


@dataclass(frozen=True, eq=False, repr=False)
class Extern:
    """A call `function([table, ]inputs..., constants..., outputs...[, scratch][, more...])`, as data.

    Pointers have the C types of their tensors, scratch is a `void *` that is aligned to 8 bytes; tensors and constants
    are aligned to 4 bytes, constants and scratch to `align` where that is more. `files` become part of the generated
    folder: those that end in .c and .S are compiled, those that end in .h are included by the generated C and declare
    the function. Files in a folder, such as `library/sum.c`, are somebody's library: its headers are not included, and
    its sources may call the C library.
    """

    function: str
    files: Mapping[str, str] = field(default_factory=dict)  # name → text
    constants: tuple[np.ndarray, ...] = ()  # become part of the weights
    scratch: int = 0  # bytes of arena while it runs; 0: the function takes no such argument
    overlaps: Mapping[tuple[int, int], int] = field(default_factory=dict)  # as `Op.overlaps`; default: none
    stack: Mapping[str, int] = field(default_factory=dict)  # bytes of stack of each assembly function in `files`
    more: tuple[int | float | str, ...] = ()  # further arguments, such as sizes
    align: int = 4  # of the constants and of scratch, in bytes: up to 16
    fails: bool = False  # it returns int32_t: 0, or an error that the run then ends with and returns
    needs: tuple[str, ...] = ()  # functions that `files` call and the project brings, such as those of a driver
    figures: Mapping[str, Any] = field(default_factory=dict)  # about the call, for reports
    table: tuple[str, Fields] | None = None  # a constant struct, its type and its members; the call gets a pointer
    called: str = ""  # for people, where that is not the backend's name

    def __repr__(self) -> str:
        return f"{self.function}()"

    def __deepcopy__(self, memo: dict[int, Any]) -> Extern:
        return self  # never written


@register
class ExternCall(Op):
    """`function(...)` of the attribute `extern`, in the place of the nodes in the attribute `part`, which say what
    it means: the result is what they give."""

    name = "extern"

    def infer(self, node: Node) -> Result:
        return [(port.value.dtype, port.value.shape) for port in _part(node).outputs]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(evaluate(_part(node), args[: len(_part(node).inputs)]))

    def group(self, node: Node) -> str:
        return str(_extern(node).called or node.attrs["backend"])

    def describe(self, node: Node) -> str:
        kinds = Counter(get(inner.op).group(inner) for inner in _part(node).nodes)
        inside = ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in kinds.items())
        return f"{self.group(node)} ({inside})"

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        for inner in _part(node).nodes:
            yield from get(inner.op).work(inner)

    def macs(self, node: Node) -> int:
        return sum(macs for _, macs in self.work(node))

    def scratch(self, node: Node) -> int:
        return _extern(node).scratch

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return dict(_extern(node).overlaps)

    def emit(self, node: Node, c: Step) -> None:
        extern = _extern(node)
        c.bring(extern.files, extern.stack)
        c.needs.update(dict.fromkeys(extern.needs))
        scratch = [c.scratch("void")] if extern.scratch else []
        reads, writes = [c.read(v) for v in node.inputs], [c.write(v) for v in node.outputs]
        table = [] if extern.table is None else [c.table(extern.table[0], "extern", extern.table[1])]
        arguments = (*table, *reads, *writes, *scratch, *map(c_number, extern.more))
        if extern.fails:
            c.call_checked(extern.function, *arguments)
        else:
            c.call(extern.function, *arguments)


def extern_node(backend: str, part: Graph, extern: Extern, outer: Graph, node: Node) -> None:
    """Make `node`, whose inputs and outputs are those of the part, the call that takes the part's place."""
    node.op = ExternCall.name
    node.attrs = {"backend": backend, "part": part, "extern": extern}
    constants = [outer.constant(np.ascontiguousarray(c), "extern") for c in extern.constants]
    for constant in constants:
        constant.align = extern.align
    node.inputs = [*node.inputs, *constants]


def _part(node: Node) -> Graph:
    graph: Graph = node.attrs["part"]
    return graph


def _extern(node: Node) -> Extern:
    extern: Extern = node.attrs["extern"]
    return extern
