"""Where the frames of a quantized model are integers, its rings hold them."""

from __future__ import annotations

from pilotlight.graph import Graph, Node, Value

MOVES = ("slice", "flip", "expand", "take", "as_strided")


def move_integers(graph: Graph) -> Graph:
    """What is moved after it was dequantized is moved before: the number of each integer stays the same. `reshape` and
    `permute` are seen through anyway."""
    nodes: list[Node] = []
    real: dict[Value, Node] = {}
    for node in graph.nodes:
        above = real.get(node.inputs[0]) if node.op in MOVES else None
        if above is not None:
            integers = above.inputs[0]
            moved = graph.fresh(node.output.name, integers.dtype, node.output.shape)
            nodes.append(Node(node.op, [integers, *node.inputs[1:]], [moved], node.attrs, node.place))
            node = Node("dequantize", [moved], [node.output], dict(above.attrs), node.place)
        if node.op == "dequantize":
            real[node.output] = node
        nodes.append(node)
    graph.nodes = nodes
    return graph
