"""Another order of a graph's nodes, where it lowers the peak."""

from __future__ import annotations

from pilotlight import ops
from pilotlight.graph import Graph, Node, Value
from pilotlight.plan.flow import Task
from pilotlight.plan.lifetimes import find_homes, root_overlaps
from pilotlight.plan.order import best_order


def reorder(graph: Graph) -> Graph:
    """Put the nodes into the order that needs the smallest arena, as far as the search finds one.

    What reads a state stays before what writes it, so that the update can happen in place.
    """
    steps, homes = find_homes(graph)
    states = {state.value for state in graph.states}
    writes_state: dict[Value, list[str]] = {}
    for state in graph.states:
        writes_state.setdefault(homes[state.next].root, []).append(state.value.name)
    arena = {homes[p.value].root for p in graph.inputs} | {v for node in steps for v in node.outputs}
    sizes = {value.name: value.bytes for value in arena}
    tasks = []
    for node in steps:
        op = ops.get(node.op)
        read = [homes[v].root for v in node.inputs]
        written = [v.name for v in node.outputs] + [s for v in node.outputs for s in writes_state.get(v, [])]
        tasks.append(
            Task(
                tuple(dict.fromkeys(v.name for v in read if v in arena or v in states)),
                tuple(written),
                op.scratch(node),
                tuple(root_overlaps(node, homes, arena)),
            )
        )
    order = best_order(
        tasks,
        sizes,
        inputs=[homes[p.value].root.name for p in graph.inputs],
        outputs=[homes[p.value].root.name for p in graph.outputs],
    )
    graph.nodes = _with_views(graph, [steps[k] for k in order])
    return graph


def _with_views(graph: Graph, steps: list[Node]) -> list[Node]:
    """The steps in the new order, each view where its bytes come from or are first wanted."""
    producers = graph.producers()
    placed: dict[Node, None] = {}

    def place(node: Node) -> None:
        for value in node.inputs:
            above = producers.get(value)
            if above is not None and above not in placed:
                place(above)
        placed[node] = None

    for node in [*steps, *graph.nodes]:
        if node not in placed:
            place(node)
    return list(placed)
