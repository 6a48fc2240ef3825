"""Chains of pointwise operators become one loop."""

from __future__ import annotations

from pilotlight.graph import Graph, Node, Value
from pilotlight.ops.pointwise.float import Item, is_pointwise
from pilotlight.passes.edit import Editor

MOST_ITEMS = 24
MOST_INPUTS = 8


def fuse_pointwise(graph: Graph) -> Graph:
    """Merge a pointwise node into its only reader when that is pointwise too and has the same shape."""
    edit = Editor(graph)
    for node in edit:
        while is_pointwise(node.op) and (inner := _candidate(node, edit)) is not None:
            fused = _merged(inner, node)
            edit.exchange(node, fused)
            edit.remove(inner)
            node = fused
    return edit.done()


def _candidate(node: Node, edit: Editor) -> Node | None:
    for value in node.inputs:
        inner = edit.producers.get(value)
        if inner is None or not is_pointwise(inner.op) or not edit.alone(value):
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


def _merged(inner: Node, outer: Node) -> Node:
    """`inner` and then `outer` inside one fused node."""
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
    return Node("fused", inputs, outer.outputs, {"body": tuple(body)}, outer.place)


def _renumbered(item: Item, old: list[Value], new: list[Value], shift: int) -> Item:
    operands = tuple(("in", new.index(old[k])) if kind == "in" else ("t", k + shift) for kind, k in item.operands)
    return Item(item.op, operands, item.compute, item.result)
