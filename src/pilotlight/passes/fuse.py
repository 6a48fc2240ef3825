"""Chains of pointwise operators become one loop."""

from __future__ import annotations

from pilotlight.graph import Graph, Node, Value
from pilotlight.ops.pointwise import Item, is_pointwise

MOST_ITEMS = 24
MOST_INPUTS = 8


def fuse_pointwise(graph: Graph) -> Graph:
    """Merge a pointwise node into its only reader when that is pointwise too and has the same shape."""
    changed = True
    while changed:
        changed = False
        users, producers, leaving = graph.users(), graph.producers(), graph.leaving()
        for node in graph.nodes:
            if not is_pointwise(node.op):
                continue
            inner = _candidate(node, users, producers, leaving)
            if inner is not None:
                _merge(graph, inner, node)
                changed = True
                break
    return graph


def _candidate(
    node: Node, users: dict[Value, list[Node]], producers: dict[Value, Node], leaving: set[Value]
) -> Node | None:
    for value in node.inputs:
        inner = producers.get(value)
        if inner is None or not is_pointwise(inner.op) or value in leaving or len(users[value]) != 1:
            continue
        if value.shape != node.output.shape:
            continue
        items = len(_body(inner)) + len(_body(node))
        inputs = {*inner.inputs, *node.inputs} - {value}
        if items <= MOST_ITEMS and len(inputs) <= MOST_INPUTS:
            return inner
    return None


def _body(node: Node) -> tuple[Item, ...]:
    if node.op == "fused":
        body: tuple[Item, ...] = node.attrs["body"]
        return body
    refs = tuple(("in", k) for k in range(len(node.inputs)))
    return (Item(node.op, refs, node.inputs[-1].dtype, node.output.dtype),)


def _merge(graph: Graph, inner: Node, outer: Node) -> None:
    """Put `inner` in front of `outer` inside one fused node at outer's place in the order."""
    inputs = list(dict.fromkeys([*inner.inputs, *(v for v in outer.inputs if v is not inner.output)]))
    body = [_renumbered(item, inner.inputs, inputs, 0) for item in _body(inner)]
    result = len(body) - 1
    for item in _body(outer):
        operands = tuple(
            ("t", result) if kind == "in" and outer.inputs[k] is inner.output
            else ("in", inputs.index(outer.inputs[k])) if kind == "in" else ("t", k + result + 1)
            for kind, k in item.operands
        )
        body.append(Item(item.op, operands, item.compute, item.result))
    fused = Node("fused", inputs, outer.outputs, {"body": tuple(body)}, outer.place)
    graph.nodes[graph.nodes.index(outer)] = fused
    graph.nodes.remove(inner)


def _renumbered(item: Item, old: list[Value], new: list[Value], shift: int) -> Item:
    operands = tuple(("in", new.index(old[k])) if kind == "in" else ("t", k + shift) for kind, k in item.operands)
    return Item(item.op, operands, item.compute, item.result)
