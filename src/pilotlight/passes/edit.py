"""A graph while a pass changes it: who makes and who reads each value stays known.

`Graph.producers`, `users` and `replace` walk all nodes. A pass that asks again after each change takes time
quadratic in the size of the graph; here a change costs only what it touches.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from pilotlight.graph import Graph, Node, Value


class Editor:
    """Makers, readers and the order of a graph's nodes; `done` writes the nodes back."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.producers = graph.producers()
        self.users: dict[Value, dict[Node, None]] = {}
        for node in graph.nodes:
            self._reads(node)
        ends: list[Node | None] = [None, *graph.nodes, None]
        self._before = dict(zip(graph.nodes, ends, strict=False))
        self._after = dict(zip(graph.nodes, ends[2:], strict=True))
        self._first = ends[1]
        self.alive = set(graph.nodes)

    def __iter__(self) -> Iterator[Node]:
        """The nodes in order. What replaces the current node is not visited, nor is what was removed."""
        node = self._first
        while node is not None:
            following = self._after[node]
            if node in self.alive:
                yield node
            node = following

    def done(self) -> Graph:
        self.graph.nodes = list(self)
        return self.graph

    # ---- questions -----------------------------------------------------------------------------------------

    @property
    def leaving(self) -> set[Value]:
        return self.graph.leaving()

    def readers(self, value: Value) -> list[Node]:
        return list(self.users.get(value, ()))

    def alone(self, value: Value) -> bool:
        """Whether exactly one node reads this value and nobody outside does."""
        return len(self.users.get(value, ())) == 1 and value not in self.leaving

    def layer(self, value: Value, kinds: Container[str]) -> Node | None:
        """The node of one of these kinds whose result `value` is, directly or reshaped around its channels.

        What works on single elements or on channels, the last dimension, can then move into that node. A
        one-dimensional convolution is followed by such a reshape.
        """
        channels = value.shape[-1:]
        while self.alone(value):
            node = self.producers.get(value)
            if node is None or (node.op != "reshape" and node.op not in kinds):
                return None
            if node.op != "reshape":
                return node if node.output.shape[-1:] == channels else None
            value = node.inputs[0]
        return None

    # ---- changes -------------------------------------------------------------------------------------------

    def remove(self, node: Node) -> None:
        self._forget(node)
        self._unlink(node)

    def insert(self, at: Node, *nodes: Node) -> None:
        """Put nodes before `at`."""
        for node in nodes:
            before = self._before[at]
            if before is None:
                self._first = node
            else:
                self._after[before] = node
            self._before[node], self._after[node], self._before[at] = before, at, node
            self.alive.add(node)
            self._reads(node)
            self.producers.update(dict.fromkeys(node.outputs, node))

    def exchange(self, old: Node, *nodes: Node) -> None:
        """Put nodes in the place of `old`."""
        self._forget(old)
        self.insert(old, *nodes)
        self._unlink(old)

    def read(self, node: Node, inputs: list[Value]) -> None:
        """Let a node read other values."""
        for value in node.inputs:
            self.users[value].pop(node, None)
        node.inputs = inputs
        self._reads(node)

    def write(self, node: Node, outputs: list[Value]) -> None:
        """Let a node write other values."""
        for value in node.outputs:
            self.producers.pop(value, None)
        node.outputs = outputs
        self.producers.update(dict.fromkeys(outputs, node))

    def replace(self, old: Value, new: Value) -> None:
        """Make every reader of `old` read `new` instead."""
        for node in self.readers(old):
            self.read(node, [new if v is old else v for v in node.inputs])
        self.graph.replace_leaving(old, new)

    def prune(self) -> None:
        """Remove what nobody reads."""
        leaving = self.leaving
        waiting = [n for n in self if self._is_dead(n, leaving)]
        while waiting:
            node = waiting.pop()
            if node not in self.alive:
                continue
            self.remove(node)
            makers = (self.producers.get(v) for v in node.inputs)
            waiting += [m for m in makers if m is not None and m in self.alive and self._is_dead(m, leaving)]

    def _is_dead(self, node: Node, leaving: set[Value]) -> bool:
        return not any(self.users.get(v) or v in leaving for v in node.outputs)

    def _reads(self, node: Node) -> None:
        for value in node.inputs:
            self.users.setdefault(value, {})[node] = None

    def _unlink(self, node: Node) -> None:
        before, after = self._before[node], self._after[node]
        if before is None:
            self._first = after
        else:
            self._after[before] = after
        if after is not None:
            self._before[after] = before
        self.alive.discard(node)

    def _forget(self, node: Node) -> None:
        for value in node.inputs:
            self.users[value].pop(node, None)
        for value in node.outputs:
            if self.producers.get(value) is node:
                del self.producers[value]
