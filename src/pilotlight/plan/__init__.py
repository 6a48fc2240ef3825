"""An offset for every tensor, with exact totals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pilotlight import ops
from pilotlight.codegen.subplan import Subgraph, Subplan, Substep
from pilotlight.graph import Graph, Node, State, Value
from pilotlight.plan.arena import ArenaPlan, plan_arena
from pilotlight.plan.buffers import Buffer
from pilotlight.plan.lifetimes import Home, find_lifetimes
from pilotlight.plan.schedule import reorder

ALIGN = 16

__all__ = ["ALIGN", "Plan", "make_plan", "plan_inside", "share_states"]


@dataclass
class Plan:
    """Where every byte lives while the model runs."""

    graph: Graph
    steps: list[Node]
    arena: ArenaPlan
    buffers: list[Buffer]
    state_size: int
    state_offsets: dict[State, int]
    _homes: dict[Value, Home]
    _in_state: dict[Value, State]
    _scratch: dict[Node, str]

    def home(self, value: Value) -> Home:
        """The value whose bytes hold this one, and where in them it begins."""
        return self._homes[value]

    def locate(self, value: Value) -> tuple[str, int]:
        """("arena" | "state", byte offset) of a value that is not a constant."""
        home = self._homes[value]
        if home.root in self._in_state:
            return "state", self.state_offsets[self._in_state[home.root]] + home.offset
        return "arena", self.arena.offsets[home.root.name] + home.offset

    def scratch(self, node: Node) -> int | None:
        """Byte offset in the arena of a step's scratch memory."""
        return self.arena.offsets[self._scratch[node]] if node in self._scratch else None

    def scratch_name(self, node: Node) -> str | None:
        """The buffer that is a step's scratch memory."""
        return self._scratch.get(node)

    def walks_backward(self, node: Node) -> bool:
        """Whether a step must go from its last element to the first, because its output lies so close to its input."""
        return any(value.name in self.arena.backward for value in node.outputs)

    def peak(self) -> list[Buffer]:
        """The buffers alive at the step that needs most, largest first."""
        step = self.arena.peak_step
        return sorted((b for b in self.buffers if b.first <= step <= b.last), key=lambda b: -b.size)


def make_plan(
    graph: Graph, *, keep_inputs: bool = False, borrow_inputs: bool = False, borrowed: Collection[Value] = ()
) -> Plan:
    """Order the nodes, find lifetimes, place every buffer.

    With `borrow_inputs` the inputs stay in memory that the caller owns: they take no bytes and are never overwritten.
    Values that are `borrowed` are computed in such memory as well.
    """
    for node in graph.nodes:
        plan_inside(node)
    graph = reorder(graph)
    found = find_lifetimes(graph, keep_inputs=keep_inputs or borrow_inputs)
    if borrow_inputs:
        elsewhere = {found.homes[value].root.name for value in (*(port.value for port in graph.inputs), *borrowed)}
        found.buffers = [b for b in found.buffers if b.name not in elsewhere]
        found.overlaps = [o for o in found.overlaps if not {o.input, o.output} & elsewhere]
    arena = plan_arena(found.buffers, found.overlaps, align=ALIGN)
    plan = Plan(graph, found.steps, arena, found.buffers, 0, {}, found.homes, found.in_state, found.scratch)
    share_states([plan])
    return plan


def share_states(plans: Sequence[Plan]) -> None:
    """Give the states of entry points one block of memory: those of one name are in one place."""
    places: dict[str, int] = {}
    size = 0
    for state in (state for plan in plans for state in plan.graph.states):
        if state.name not in places:
            places[state.name] = size
            size += -(-state.value.bytes // 8) * 8
    for plan in plans:
        plan.state_size = size
        plan.state_offsets = {state: places[state.name] for state in plan.graph.states}


def plan_inside(node: Node) -> None:
    """Plan the graphs that run inside a node: their steps work in its scratch memory."""
    inside = ops.get(node.op).inside(node)
    if inside:
        node.attrs["plans"] = {key: _subplan(subgraph) for key, subgraph in inside.items()}


def _subplan(subgraph: Subgraph) -> Subplan:
    plan = make_plan(subgraph.graph, borrow_inputs=True, borrowed=subgraph.stores)
    homes = {value: plan.home(value) for value in plan.graph.values()}
    offsets = {home.root: plan.arena.offsets.get(home.root.name) for home in homes.values()}
    return Subplan(
        plan.graph, plan.arena.size, [Substep(n, plan.scratch(n), plan.walks_backward(n)) for n in plan.steps],
        {value: (home.root, home.offset) for value, home in homes.items()},
        {root: offset for root, offset in offsets.items() if offset is not None},
    )
