"""The last rewrite before planning: a selection is applied."""

from __future__ import annotations

from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.selection.choices import Rule, Selection
from pilotlight.selection.rules import Choice, usual


def prepare(graph: Graph, target: Target, selection: Selection) -> Graph:
    """A copy with the chosen kernels and their packed weights."""
    prepared = graph.clone()
    for node, original in zip(list(prepared.nodes), graph.nodes, strict=True):
        choice, rule = selection.choices.get(original), selection.inside.get(original, usual)
        prepare_node(node, prepared, target, choice, rule)
    return prepared


def prepare_node(node: Node, graph: Graph, target: Target, choice: Choice | None, rule: Rule) -> None:
    """Give one node its kernel; those that run inside it choose by the rule."""
    op = ops.get(node.op)
    if choice is None:
        op.prepare(node, graph, target)
    else:
        op.take(node, graph, choice.candidate)
        node.attrs["choice"] = choice
    for inner in op.inside(node).values():
        for step in list(inner.graph.nodes):
            offered = ops.get(step.op).candidates(step, target)
            prepare_node(step, inner.graph, target, rule(offered) if offered else None, rule)
