"""`--optimize ram`: the smallest arena, by computing stages patch by patch and by kernels that need less scratch.

A stage is a run of layers around the step that needs most. Candidates (where it begins and ends, the size of its
patches) are ranked by a quick estimate; the best of them are built and planned, and the one with the smallest need
wins. Then the step that needs most is looked at again, until nothing helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotlight import ops
from pilotlight.emit.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.ops.tiles import Cut
from pilotlight.passes.patches import make_stage, patches_node, replaced
from pilotlight.passes.prepare import prepare
from pilotlight.plan import ALIGN, Plan, make_plan
from pilotlight.plan.bounds import find_bounds
from pilotlight.plan.buffers import usable_overlaps
from pilotlight.plan.lifetimes import find_lifetimes
from pilotlight.tune.stages import Candidate, candidates

STAGES = 6  # at most
MOST_LEAN = 32  # layers that get another kernel
TRIED = 24  # candidates that are planned for each
CLOSE = 64  # needs that differ by less than this fraction count as equal; then the fewest MACs win


@dataclass(frozen=True)
class Stage:
    """Layers that are computed patch by patch."""

    where: str
    layers: int
    patches: int
    patch: tuple[int, int]  # rows and columns of the result


@dataclass(frozen=True)
class Saving:
    """What `--optimize ram` did: bytes of arena and multiply-accumulates, as for speed and now."""

    arena_before: int
    arena: int
    macs_before: int
    macs: int
    stages: tuple[Stage, ...]
    lean: int  # layers with a kernel that needs less scratch memory


def save_ram(graph: Graph, target: Target, keep_inputs: bool = False) -> tuple[Graph, Plan, Saving]:
    """The graph with stages cut into patches, its plan, and what that saves."""
    before = make_plan(prepare(graph, target), keep_inputs=keep_inputs)
    best, cut = graph, graph.clone()
    least = _leanest(graph, target, keep_inputs)
    for _ in range(STAGES):
        if not _cut_peak(cut, target, keep_inputs):
            break
        size = _leanest(cut, target, keep_inputs)
        if size < least:
            best, least = cut.clone(), size
    plan, lean = _lean_plan(best, target, keep_inputs)
    stages = tuple(_describe(node) for node in best.nodes if node.op == "patches")
    return best, plan, Saving(before.arena.size, plan.arena.size, _macs(before), _macs(plan), stages, lean)


def _leanest(graph: Graph, target: Target, keep_inputs: bool) -> int:
    """Bytes of arena with lean kernels everywhere."""
    return make_plan(prepare(graph, target, graph.nodes), keep_inputs=keep_inputs).arena.size


def _lean_plan(graph: Graph, target: Target, keep_inputs: bool) -> tuple[Plan, int]:
    """Lean kernels for one step after the other that needs most, until the arena cannot become smaller.

    A step below the peak counts as well where its scratch memory keeps the others from their best places.
    """
    lean: set[Node] = set()
    best: tuple[Plan, int] | None = None
    while True:
        prepared = prepare(graph, target, lean)
        back = dict(zip(prepared.nodes, graph.nodes, strict=True))
        plan = make_plan(prepared, keep_inputs=keep_inputs)
        if best is None or plan.arena.size < best[0].arena.size:
            best = plan, len(lean)
        needs = {back[node]: need for node, need in _needs(prepared, keep_inputs).items() if node in back}
        peak = max(needs.values(), default=0)
        left = sorted((node for node in needs if node not in lean), key=lambda node: -needs[node])
        stuck = all(needs[node] < peak for node in left)
        if not left or len(lean) == MOST_LEAN or (stuck and best[0].arena.size <= plan.arena.lower_bound):
            return best
        lean.add(left[0])


def _cut_peak(graph: Graph, target: Target, keep_inputs: bool) -> bool:
    """Cut the best stage around the step that needs most, in place."""
    everything = frozenset(graph.nodes)
    prepared = prepare(graph, target, everything)
    back = dict(zip(prepared.nodes, graph.nodes, strict=True))
    make_plan(prepared, keep_inputs=keep_inputs)
    graph.nodes = [back[node] for node in prepared.nodes]
    needs = _needs(prepared, keep_inputs)
    lean = replace(target, lean=True)
    tried: list[tuple[list[int], int, Candidate, Node]] = []
    for candidate in candidates(graph, needs)[:TRIED]:
        node = patches_node(prepared, candidate.stage, *candidate.size)
        ops.get(node.op).prepare(node, prepared, lean)
        trial = replace(prepared, nodes=replaced(prepared, candidate.start, candidate.stop, node))
        tops = sorted(_needs(trial, keep_inputs).values(), reverse=True)
        tried.append((tops, ops.get(node.op).macs(node), candidate, node))
    best = _best(tried, sorted(needs.values(), reverse=True))
    if best is None:
        return False
    node = patches_node(graph, make_stage(graph, graph.nodes[best.start : best.stop]), *best.size)
    graph.nodes = replaced(graph, best.start, best.stop, node)
    return True


def _best(tried: list[tuple[list[int], int, Candidate, Node]], now: list[int]) -> Candidate | None:
    """The candidate with the lowest needs, highest first; among those that are close the one with the fewest MACs.

    Where two steps need the same, one of them has to go first: its needs are compared from the highest that differs.
    """
    better = [row for row in tried if row[0] < now]
    if not better:
        return None
    tops = min(row[0] for row in better)
    at = next((k for k, need in enumerate(tops) if need != now[k]), 0)
    limit = tops[at] + tops[at] // CLOSE
    close = [row for row in better if row[0][:at] == tops[:at] and row[0][at] <= min(limit, now[at])]
    return min(close, key=lambda row: (row[1], row[0]))[2]


def _needs(graph: Graph, keep_inputs: bool) -> dict[Node, int]:
    """The bytes that each step needs at least, in the order of the graph."""
    found = find_lifetimes(graph, keep_inputs=keep_inputs)
    bounds = find_bounds(found.buffers, usable_overlaps(found.buffers, found.overlaps), ALIGN)
    first = bounds.first_step
    return {node: bounds.needs[k - first] for k, node in enumerate(found.steps) if k - first < len(bounds.needs)}


def _macs(plan: Plan) -> int:
    return sum(ops.get(node.op).macs(node) for node in plan.steps)


def _describe(node: Node) -> Stage:
    cut = Cut(node.attrs["stage"], node.attrs["rows"], node.attrs["columns"])
    return Stage(str(node.place), len(node.attrs["stage"].nodes), cut.counts[0] * cut.counts[1], cut.size)
