"""From a graph to buffers: which values share bytes, when each is alive, what may overlap."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from pilotlight import ops
from pilotlight.graph import Graph, Node, State, Value
from pilotlight.plan.buffers import Buffer, Overlap


@dataclass(frozen=True)
class Home:
    """Where a value's bytes are: `offset` bytes into the memory of `root`."""

    root: Value
    offset: int


@dataclass
class Lifetimes:
    """The steps of a run, where every value lives, and what the arena has to hold."""

    steps: list[Node]
    homes: dict[Value, Home]
    in_state: dict[Value, State]  # roots that live in the state memory
    buffers: list[Buffer] = field(default_factory=list)
    overlaps: list[Overlap] = field(default_factory=list)
    scratch: dict[Node, str] = field(default_factory=dict)  # the name of a step's scratch buffer


def find_homes(graph: Graph) -> tuple[list[Node], dict[Value, Home]]:
    """The nodes that do something, and for every value the root whose bytes it is a view of."""
    homes: dict[Value, Home] = {}
    steps: list[Node] = []

    def home(value: Value) -> Home:
        return homes.setdefault(value, Home(value, 0))

    for node in graph.nodes:
        offset = ops.get(node.op).view_offset(node)
        if offset is None:
            steps.append(node)
        else:
            source = home(node.inputs[0])
            homes[node.output] = Home(source.root, source.offset + offset)
    for value in graph.values():
        home(value)
    return steps, homes


def settle_states(graph: Graph, steps: list[Node], homes: dict[Value, Home]) -> dict[Value, State]:
    """Decide for each state whether its next value is computed right in its memory or copied there.

    In place is possible when the state's old bytes are read by no later step, and by the writing step itself
    only at a distance that its kernel allows. Returns the roots that live in state memory; adds copy steps, each as
    soon as the next value is there and the old one is read no more, so that the arena holds it no longer than needed.
    """
    in_state = {state.value: state for state in graph.states}
    copies: list[tuple[State, Value]] = []
    changed = [state for state in graph.states if homes[state.next] != Home(state.value, 0)]
    moved = [state for state in changed if homes[state.next].root in in_state]
    for state in moved:  # another state's old bytes: save them, a read that the decisions below have to see
        saved = graph.fresh(state.next.name, state.next.dtype, state.next.shape)
        steps.append(Node("copy", [state.next], [saved]))
        homes[saved] = Home(saved, 0)
        copies.append((state, saved))
    for state in changed:
        if state in moved:
            continue
        if _can_write_in_place(graph, state, steps, homes):
            in_state[homes[state.next].root] = state
        else:
            copies.append((state, state.next))
    for state, value in copies:
        target = graph.fresh(state.value.name, value.dtype, value.shape)
        steps.insert(_earliest_copy(graph, state, value, steps, homes), Node("copy", [value], [target]))
        homes[target] = Home(target, 0)
        in_state[target] = state
    return in_state


def _earliest_copy(
    graph: Graph, state: State, value: Value, steps: list[Node], homes: dict[Value, Home]
) -> int:
    """The first place in the steps at which a state's memory may take its next value."""
    if any(homes[port.value].root is state.value for port in graph.outputs):
        return len(steps)
    source = homes[value].root
    used = [
        k for k, node in enumerate(steps)
        if source in node.outputs or any(homes[v].root is state.value for v in node.inputs)
    ]
    return max(used, default=-1) + 1


def _can_write_in_place(graph: Graph, state: State, steps: list[Node], homes: dict[Value, Home]) -> bool:
    root = homes[state.next].root
    writers = [k for k, node in enumerate(steps) if root in node.outputs]
    if not writers or homes[state.next].offset != 0 or root.bytes != state.value.bytes:
        return False
    if any(homes[p.value].root is root for p in graph.outputs):
        return False
    if sum(homes[s.next].root is root for s in graph.states) != 1:
        return False
    (at,) = writers
    for k, node in enumerate(steps[at:], at):
        reads = [(i, homes[v]) for i, v in enumerate(node.inputs) if homes[v].root is state.value]
        if k > at and reads:
            return False
        allowed = ops.get(node.op).overlaps(node) if reads else {}
        out = node.outputs.index(root) if root in node.outputs else 0
        for i, where in reads:
            if allowed.get((i, out)) is None or -where.offset > allowed[i, out]:
                return False
    return True


def find_lifetimes(graph: Graph, *, keep_inputs: bool = False) -> Lifetimes:
    """Everything the arena planner has to know."""
    steps, homes = find_homes(graph)
    in_state = settle_states(graph, steps, homes)
    last: dict[Value, int] = {}
    first: dict[Value, int] = {homes[port.value].root: -1 for port in graph.inputs}
    for k, node in enumerate(steps):
        for value in node.outputs:
            first[value] = k
            last[value] = k
        for value in node.inputs:
            last[homes[value].root] = k
    for port in graph.outputs:
        last[homes[port.value].root] = len(steps)
    for port in graph.inputs:
        root = homes[port.value].root
        last.setdefault(root, -1)
        if keep_inputs:
            last[root] = len(steps)

    found = Lifetimes(steps, homes, in_state)
    in_arena = [v for v in first if v not in in_state]
    found.buffers = [Buffer(v.name, v.bytes, first[v], last[v]) for v in in_arena]
    arena = set(in_arena)
    for k, node in enumerate(steps):
        op = ops.get(node.op)
        size = op.scratch(node)
        if size:
            found.scratch[node] = f"{node.outputs[0].name}.scratch"
            found.buffers.append(Buffer(found.scratch[node], size, k, k))
        found.overlaps += root_overlaps(node, homes, arena)
    return found


def root_overlaps(node: Node, homes: dict[Value, Home], arena: set[Value]) -> list[Overlap]:
    """The operator's distances between values as distances between their roots; all reads of a root must agree.

    An operator with several pairs stays forward: it may also update a state in place, which fixes its direction.
    """
    op = ops.get(node.op)
    forward = op.overlaps(node)
    backward = op.reverse_overlaps(node) if len(forward) == 1 else {}
    result = []
    for out_index, out in enumerate(node.outputs):
        by_root: dict[Value, list[Overlap | None]] = {}
        for i, value in enumerate(node.inputs):
            where, pair = homes[value], (i, out_index)
            if where.root not in arena or out not in arena:
                continue
            found = None
            if pair in forward:
                reverse = backward[pair] + where.offset if pair in backward else None
                found = Overlap(where.root.name, out.name, forward[pair] + where.offset, reverse)
            by_root.setdefault(where.root, []).append(found)
        for reads in by_root.values():
            known = [overlap for overlap in reads if overlap is not None]
            if len(known) == len(reads):
                result.append(reduce(Overlap.stricter, known))
    return result
