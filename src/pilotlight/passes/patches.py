"""Turning consecutive layers into one node that computes them patch by patch."""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight import ops
from pilotlight.graph import Graph, Node, Port, Value
from pilotlight.ops.areas import is_image, whole
from pilotlight.passes.clean import remove_dead
from pilotlight.passes.edit import Editor


def can_cut(node: Node) -> bool:
    """Whether a part of this node's result can be computed without the rest."""
    if len(node.outputs) != 1 or not is_image(node.output.shape) or not node.output.elements:
        return False
    if any(not v.is_constant and not (is_image(v.shape) and v.elements) for v in node.inputs):
        return False
    return ops.get(node.op).part(node, whole(node.output.shape)) is not None


def join_reshapes(graph: Graph) -> Graph:
    """Read the image itself after two reshapes that undo each other, as between one-dimensional layers."""
    edit, leaving = Editor(graph), graph.leaving()
    for node in edit:
        above = edit.producers.get(node.inputs[0]) if node.op == "reshape" else None
        if above is not None and above.op == "reshape" and node.output not in leaving:
            image = above.inputs[0]
            if (image.shape, image.quant) == (node.output.shape, node.output.quant):
                edit.replace(node.output, image)
    return remove_dead(graph)


def make_stage(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """Nodes that follow one another as a graph of their own, with copies of their values."""
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(v for node in nodes for v in node.inputs if v not in made and not v.is_constant)
    inside, wanted = set(nodes), graph.leaving()
    wanted |= {v for node in graph.nodes if node not in inside for v in node.inputs}
    outputs = [v for node in nodes for v in node.outputs if v in wanted]
    return Graph("stage", _ports(read), _ports(outputs), list(nodes)).clone()


def _ports(values: Sequence[Value] | dict[Value, None]) -> list[Port]:
    return [Port(value.name, value, value.shape) for value in values]


def patches_node(graph: Graph, stage: Graph, rows: int, columns: int) -> Node:
    """The node that replaces a stage in a graph, or in a copy of it: values are found by name."""
    values = {value.name: value for value in graph.values()}
    inputs, outputs = ([values[port.value.name] for port in ports] for ports in (stage.inputs, stage.outputs))
    place = next((n.place for n in stage.nodes if n.place.module or n.place.source), stage.nodes[0].place)
    return Node("patches", inputs, outputs, {"stage": stage, "rows": rows, "columns": columns}, place)


def replaced(graph: Graph, start: int, stop: int, node: Node) -> list[Node]:
    """The nodes of a graph with one in place of those from `start` to `stop`."""
    return [*graph.nodes[:start], node, *graph.nodes[stop:]]
