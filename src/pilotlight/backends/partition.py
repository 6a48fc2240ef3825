"""Which nodes a backend computes together: the largest connected groups that can run as one step.

A group is convex: no path leaves it and comes back, else the step would have to wait for its own result. Groups grow
along the edges in execution order, and two groups join when no node between them stays outside. `Ancestors` knows for
each group, as the bits of one integer, which others have to run before it.
"""

from __future__ import annotations

import copy
import heapq
import re
from collections.abc import Sequence

import numpy as np

from pilotlight import ops
from pilotlight.backends.base import Backend, Partition, Refused
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node, Port, Value
from pilotlight.ops.describe import describe_op
from pilotlight.ops.extern import Extern, ExternCall, extern_node


def hand_over(graph: Graph, backends: Sequence[Backend]) -> Graph:
    """Give each backend, in order, what it takes of what is left; `graph.partitions` says what came of it."""
    for backend in backends:
        _hand_over(graph, backend)
    return graph


def _hand_over(graph: Graph, backend: Backend) -> None:
    found = Partition(backend.name)
    graph.partitions.append(found)
    taken: set[Node] = set()
    for node in graph.nodes:
        answer = backend.takes(node) if node.op != ExternCall.name else f"{node.attrs['backend']} computes it"
        if answer is True:
            taken.add(node)
        else:
            _refuse(found, node, answer if isinstance(answer, str) and answer else f"not an operator of {backend.name}")
    merged: list[tuple[Node, list[Node]]] = []
    leaving = graph.leaving()
    alone = [[node] for node in graph.nodes if node in taken]
    for group in groups(graph, taken) if backend.joins else alone:
        if all(ops.get(node.op).view_offset(node) is not None for node in group):
            for node in group:
                _refuse(found, node, "it moves nothing and is next to nothing else that is taken")
            continue
        part, call = _cut_out(graph, group, leaving, f"{graph.name}_{_word(backend.name)}_{len(found.taken)}")
        try:
            extern = backend.lower(part)
        except Refused as reason:
            for node in group:
                _refuse(found, node, reason.message)
            continue
        _check(extern, backend, part)
        extern_node(backend.name, part, extern, graph, call)
        found.taken.append({
            "function": extern.function, "what": describe_op(call), "operators": len(group), "where": str(call.place),
            "macs": ops.get(call.op).macs(call), "bytes_in": sum(port.value.bytes for port in part.inputs),
            "bytes_out": sum(port.value.bytes for port in part.outputs),
            **({"figures": dict(extern.figures)} if extern.figures else {}),
        })
        merged.append((call, group))
    _replace(graph, merged)


def _refuse(found: Partition, node: Node, reason: str) -> None:
    found.refused.append({"op": describe_op(node), "where": str(node.place), "reason": reason})


def _word(name: str) -> str:
    """A backend's name as a part of names in C."""
    return re.sub(r"\W", "_", name)


def groups(graph: Graph, taken: set[Node]) -> list[list[Node]]:
    """The largest connected convex groups of the nodes that are taken, each in execution order."""
    before = Ancestors(graph)
    edges = [(reader, maker) for reader, makers in before.makers.items() if reader in taken
             for maker in makers if maker in taken]
    joined = True
    while joined:  # a second turn finds nothing, but for groups that a join in between lets join
        joined = False
        for reader, maker in edges:
            if not before.together(reader, maker) and before.may_join(reader, maker):
                before.join(reader, maker)
                joined = True
    found: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node in taken:
            found.setdefault(before.group(node), []).append(node)
    return list(found.values())


class Ancestors:
    """Which groups of nodes have to run before which; at the start every node is a group of its own."""

    def __init__(self, graph: Graph):
        producers = graph.producers()
        self._number = {node: number for number, node in enumerate(graph.nodes)}
        self.makers = {
            node: list(dict.fromkeys(producers[v] for v in node.inputs if v in producers)) for node in graph.nodes
        }
        self._parent = list(range(len(graph.nodes)))  # of a forest whose roots are the groups
        self._members = [1 << number for number in self._parent]  # by group: bits of its nodes
        self._makers: list[set[int]] = []  # by group: those that its nodes read from directly
        self._before: list[int] = []  # by group: bits of all that run before it
        for node in graph.nodes:
            makers = {self._number[maker] for maker in self.makers[node]}
            self._makers.append(makers)
            self._before.append(self._reached(makers))

    def group(self, node: Node) -> int:
        return self._root(self._number[node])

    def together(self, one: Node, other: Node) -> bool:
        return self.group(one) == self.group(other)

    def may_join(self, reader: Node, maker: Node) -> bool:
        """Whether no path leads from one group to the other by way of a third."""
        one, other = self.group(reader), self.group(maker)
        return not (self._passes(other, one) or self._passes(one, other))

    def join(self, reader: Node, maker: Node) -> None:
        """Make one group of two; it keeps the number of the maker's, which whatever runs after either runs after."""
        one, other = self.group(reader), self.group(maker)
        self._parent[one] = other
        self._makers[other] = {self._root(m) for m in self._makers[one] | self._makers[other]} - {other}
        self._members[other] |= self._members[one]
        before = (self._before[one] | self._before[other]) & ~self._members[other]
        if before & ~self._before[other]:
            self._before = [b | before if b >> other & 1 else b for b in self._before]
        self._before[other] = before

    def _passes(self, start: int, end: int) -> bool:
        """Whether a path from `start` to `end` has something between them."""
        return any(
            self._before[maker] >> start & 1 for maker in {self._root(m) for m in self._makers[end]} - {start, end}
        )

    def _reached(self, makers: set[int]) -> int:
        bits = 0
        for maker in makers:
            bits |= self._before[maker] | 1 << maker
        return bits

    def _root(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number


def _cut_out(graph: Graph, group: list[Node], leaving: set[Value], name: str) -> tuple[Graph, Node]:
    """A copy of the group as a graph of its own, and a node that has its inputs and outputs in the graph around it."""
    inside = set(group)
    made = dict.fromkeys(value for node in group for value in node.outputs)
    read = dict.fromkeys(v for node in group for v in node.inputs if v not in made and not v.is_constant)
    outside = {v for node in graph.nodes if node not in inside for v in node.inputs} | leaving
    given = [value for value in made if value in outside]
    memo = {id(v.data): v.data for node in group for v in node.inputs if v.data is not None}
    nodes, inputs, outputs = copy.deepcopy((group, list(read), given), memo)
    part = Graph(name, nodes=nodes, framework=graph.framework, numerics=graph.numerics)
    part.inputs = [Port(v.name, v, v.shape) for v in inputs]
    part.outputs = [Port(v.name, v, v.shape) for v in outputs]
    return part, Node(ExternCall.name, list(read), given, {}, group[0].place)


def _check(extern: Extern, backend: Backend, part: Graph) -> None:
    """A backend's answer before anything relies on it."""
    def bad(what: str) -> PilotlightError:
        return PilotlightError(f"the backend {backend.name} {what}", where=str(part.nodes[0].place), kind="bad-backend")

    if not isinstance(extern, Extern):
        raise bad(f"gave {type(extern).__name__} for a subgraph; expected an Extern")
    if not extern.function.isidentifier():
        raise bad(f"calls {extern.function!r}, which is no name of a C function")
    if not isinstance(extern.scratch, int) or extern.scratch < 0:
        raise bad(f"asks for {extern.scratch!r} bytes of scratch")
    for source, target in extern.overlaps:
        if not (0 <= source < len(part.inputs) and 0 <= target < len(part.outputs)):
            raise bad(f"lets output {target} overlap input {source}; "
                      f"the subgraph has {len(part.inputs)} inputs and {len(part.outputs)} outputs")
    if not all(isinstance(c, np.ndarray) for c in extern.constants):
        raise bad("has constants that are not numpy arrays")


def _replace(graph: Graph, merged: list[tuple[Node, list[Node]]]) -> None:
    """Put each call in the place of its nodes, everything in an order in which it can run, as near the old one as
    that allows."""
    call_of = {node: call for call, group in merged for node in group}
    order = list(dict.fromkeys(call_of.get(node, node) for node in graph.nodes))
    number = {node: at for at, node in enumerate(order)}
    producers = {value: node for node in order for value in node.outputs}
    waiting = {node: {producers[v] for v in node.inputs if v in producers} for node in order}
    readers: dict[Node, list[Node]] = {}
    for node, makers in waiting.items():
        for maker in makers:
            readers.setdefault(maker, []).append(node)
    ready = [number[node] for node in order if not waiting[node]]
    heapq.heapify(ready)
    graph.nodes = []
    while ready:
        node = order[heapq.heappop(ready)]
        graph.nodes.append(node)
        for reader in readers.get(node, ()):
            waiting[reader].discard(node)
            if not waiting[reader]:
                heapq.heappush(ready, number[reader])
    assert len(graph.nodes) == len(order), "a group of nodes waits for itself"
