"""`--optimize ram`: the smallest arena, by computing stages patch by patch and by kernels that need less scratch.

A stage is a run of layers around the step that needs most. Candidates (where it begins and ends, the size of its
patches) are ranked by a quick estimate; the best of them are built, and the one with the smallest need is taken. Then
the step that needs most is looked at again, until nothing helps. In the end each stage gets the patches with the least
work, and each layer its fast kernel, where that keeps the arena as small.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.ops.tiles import Cut
from pilotlight.passes.patches import join_reshapes, make_stage, patches_node, replaced
from pilotlight.plan import ALIGN, Plan, make_plan, plan_inside
from pilotlight.plan.bounds import find_bounds
from pilotlight.plan.buffers import usable_overlaps
from pilotlight.plan.lifetimes import find_lifetimes
from pilotlight.selection import Offers, Selection, least_scratch, prepare, prepare_node, select_by, usual
from pilotlight.tune.stages import CALL, StageCandidate, candidates, cuts

STAGES = 8  # at most
TRIED = 12  # candidates that are built for each
MOST_LOW_SCRATCH = 32  # layers that get another kernel
MOST_STEPS = 100  # written for one stage
CLOSE = 64  # needs that differ by less than this fraction count as equal; then the least work wins


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
    low_scratch: int  # layers with a kernel that needs less scratch memory

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Saved:
    """A graph with stages cut into patches, the kernels of its nodes, its plan, and what that saves."""

    graph: Graph
    selection: Selection
    plan: Plan
    saving: Saving


def save_ram(graph: Graph, target: Target, keep_inputs: bool = False) -> Saved:
    """Cut stages into patches and choose kernels with less scratch memory, where that makes the arena smaller."""
    return _PatchSearch(target, keep_inputs).run(graph)


def select_low_scratch(graph: Graph, target: Target, keep_inputs: bool = False) -> tuple[Selection, Plan]:
    """Kernels with less scratch memory for the graph as it is, where that makes the arena smaller."""
    selection, plan, _ = _PatchSearch(target, keep_inputs).low_scratch_plan(graph)
    return selection, plan


class _PatchSearch:
    def __init__(self, target: Target, keep_inputs: bool):
        self.target, self.keep_inputs, self.offers = target, keep_inputs, Offers(target)

    def run(self, graph: Graph) -> Saved:
        before = self.plan(graph)
        cut = join_reshapes(graph.clone())
        best, least = cut.clone(), self.least_arena(cut)
        for _ in range(STAGES):
            if not self.cut_peak(cut):
                break
            size = self.least_arena(cut)
            if size < least:
                best, least = cut.clone(), size
        self.relax(best, least)
        selection, plan, low_scratch = self.low_scratch_plan(best)
        if plan.arena.size >= before.arena.size:
            best, selection, plan, low_scratch = graph, self.selection(graph), before, 0
        stages = tuple(_describe(node) for node in best.nodes if node.op == "patches")
        saving = Saving(before.arena.size, plan.arena.size, _macs(before), _macs(plan), stages, low_scratch)
        return Saved(best, selection, plan, saving)

    def selection(self, graph: Graph, low_scratch: Container[Node] = ()) -> Selection:
        return select_by(graph, self.offers, lambda node: least_scratch if node in low_scratch else usual)

    def prepare(self, graph: Graph, low_scratch: Container[Node] = ()) -> Graph:
        return prepare(graph, self.target, self.selection(graph, low_scratch))

    def plan(self, graph: Graph, low_scratch: Container[Node] = ()) -> Plan:
        return make_plan(self.prepare(graph, low_scratch), keep_inputs=self.keep_inputs)

    def least_arena(self, graph: Graph) -> int:
        """Bytes of arena with low-scratch kernels everywhere."""
        return self.plan(graph, set(graph.nodes)).arena.size

    def cut_peak(self, graph: Graph) -> bool:
        """Cut the best stage around the step that needs most, in place."""
        prepared = self.prepare(graph, set(graph.nodes))
        back = dict(zip(prepared.nodes, graph.nodes, strict=True))
        make_plan(prepared, keep_inputs=self.keep_inputs)  # puts the nodes in order
        graph.nodes = [back[node] for node in prepared.nodes]
        needs = {back[node]: need for node, need in self.needs(prepared).items() if node in back}
        tried: list[tuple[int, int, StageCandidate]] = []
        possible = (c for c in candidates(graph, needs) if _is_short(Cut(c.stage, *c.size)))
        for candidate in islice(possible, TRIED):
            node = patches_node(prepared, candidate.stage, *candidate.size)
            prepare_node(node, prepared, self.target, None, least_scratch)
            plan_inside(node)
            trial = replace(prepared, nodes=replaced(prepared, candidate.start, candidate.stop, node))
            tried.append((self.needs(trial)[node], _work(node), candidate))
        limit = max(needs.values(), default=0)
        close = min((need for need, _, _ in tried), default=limit)
        better = [row for row in tried if row[0] < limit and row[0] <= close + close // CLOSE]
        if not better:
            return False
        best = min(better, key=lambda row: (row[1], row[0]))[2]
        node = patches_node(graph, make_stage(graph, graph.nodes[best.start : best.stop]), *best.size)
        graph.nodes = replaced(graph, best.start, best.stop, node)
        return True

    def relax(self, graph: Graph, least: int) -> None:
        """Give each stage the patches with the least work that keep the arena as small."""
        for node in [node for node in graph.nodes if node.op == "patches"]:
            found, stage = (node.attrs["rows"], node.attrs["columns"]), node.attrs["stage"]
            work = _work(node)
            for size in _front(stage):
                node.attrs |= {"rows": size[0], "columns": size[1]}
                if size == found or not _is_short(Cut(stage, *size)) or _work(node) >= work:
                    continue
                if self.least_arena(graph) <= least + least // CLOSE:
                    found = size
                    break
            node.attrs |= {"rows": found[0], "columns": found[1]}

    def low_scratch_plan(self, graph: Graph) -> tuple[Selection, Plan, int]:
        """Low-scratch kernels for the step that needs most, one after another, until the arena cannot become smaller.

        A step below the peak counts as well where its scratch memory keeps the others from their best places.
        """
        low_scratch: set[Node] = set()
        best: tuple[Selection, Plan, int] | None = None
        while True:
            selection = self.selection(graph, low_scratch)
            prepared = prepare(graph, self.target, selection)
            back = dict(zip(prepared.nodes, graph.nodes, strict=True))
            plan = make_plan(prepared, keep_inputs=self.keep_inputs)
            if best is None or plan.arena.size < best[1].arena.size:
                best = selection, plan, len(low_scratch)
            needs = {back[node]: need for node, need in self.needs(prepared).items() if node in back}
            peak = max(needs.values(), default=0)
            left = sorted((node for node in needs if node not in low_scratch), key=lambda node: -needs[node])
            stuck = all(needs[node] < peak for node in left)
            done = stuck and best[1].arena.size <= plan.arena.lower_bound
            if not left or len(low_scratch) == MOST_LOW_SCRATCH or done:
                return best
            low_scratch.add(left[0])

    def needs(self, graph: Graph) -> dict[Node, int]:
        """The fewest bytes that each step needs, in the order of the graph."""
        found = find_lifetimes(graph, keep_inputs=self.keep_inputs)
        bounds = find_bounds(found.buffers, usable_overlaps(found.buffers, found.overlaps), ALIGN)
        first = bounds.first_step
        return {node: bounds.needs[k - first] for k, node in enumerate(found.steps) if k - first < len(bounds.needs)}


def _is_short(cut: Cut) -> bool:
    """Whether a cut is possible with few kinds of patches, each of which is code of its own."""
    return cut.possible and len(cut.kinds()) * len(cut.stage.nodes) <= MOST_STEPS


def _front(stage: Graph) -> Iterator[tuple[int, int]]:
    """Sizes of patches from the least work to the least memory, without those that cost more for nothing."""
    least = None
    for size, need, _ in sorted(cuts(stage), key=lambda row: (row[2], row[1])):
        if least is None or need < least:
            least = need
            yield size


def _work(node: Node) -> int:
    cut = Cut(node.attrs["stage"], node.attrs["rows"], node.attrs["columns"])
    return cut.macs() + CALL * cut.calls()


def _macs(plan: Plan) -> int:
    return sum(ops.get(node.op).macs(node) for node in plan.steps)


def _describe(node: Node) -> Stage:
    cut = Cut(node.attrs["stage"], node.attrs["rows"], node.attrs["columns"])
    return Stage(str(node.place), len(node.attrs["stage"].nodes), cut.counts[0] * cut.counts[1], cut.size)
