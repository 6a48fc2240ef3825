"""Which layer a value comes from, when nothing else reads it on the way."""

from __future__ import annotations

from collections.abc import Container

from pilotlight.graph import Graph, Node, Value


class Readers:
    """Who makes and who reads the values of a graph, as it is now."""

    def __init__(self, graph: Graph):
        self.producers, self.users, self.leaving = graph.producers(), graph.users(), graph.leaving()

    def alone(self, value: Value) -> bool:
        """Whether exactly one node reads this value and nobody outside does."""
        return len(self.users.get(value, [])) == 1 and value not in self.leaving

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
