"""Which stages are worth cutting into patches of which size: a quick estimate for many, best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pilotlight import ops
from pilotlight.graph import Graph, Node, Value
from pilotlight.ops.tiles import Cut
from pilotlight.passes.patches import can_cut, make_stage

LENGTH = 24  # layers of a stage at most
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24)  # rows or columns of a patch
SHARES = (2, 3, 4, 6, 8)  # parts of an image
MOST_WORK = 4  # times the multiply-accumulates of the stage


@dataclass(frozen=True)
class Candidate:
    """Nodes start to stop of a graph, in patches of so many rows and columns."""

    start: int
    stop: int
    stage: Graph
    size: tuple[int, int]
    need: int  # estimated bytes
    macs: int  # estimated


def candidates(graph: Graph, needs: Mapping[Node, int]) -> list[Candidate]:
    """Stages that hold the step with the largest need, best estimate first. `needs` is by the nodes of a prepared
    copy in the same order, without its views."""
    steps = [k for k, node in enumerate(graph.nodes) if ops.get(node.op).view_offset(node) is None]
    by_place = dict(zip(steps, needs.values(), strict=False))
    if not by_place:
        return []
    peak = max(by_place, key=lambda k: by_place[k])
    cuttable = [can_cut(node) for node in graph.nodes]
    found: list[Candidate] = []
    for start in range(peak, max(peak - LENGTH, -1), -1):
        if not cuttable[start]:
            break
        for stop in range(peak + 1, min(start + LENGTH, len(graph.nodes)) + 1):
            if not cuttable[stop - 1]:
                break
            if stop - start > 1:
                outside = max((need for k, need in by_place.items() if not start <= k < stop), default=0)
                found += _cuts(graph, start, stop, outside)
    return sorted(found, key=lambda c: (c.need, c.macs))


def _cuts(graph: Graph, start: int, stop: int, outside: int) -> Iterator[Candidate]:
    stage = make_stage(graph, graph.nodes[start:stop])
    around = _around(graph, start, stop, stage)
    work = sum(ops.get(node.op).macs(node) for node in stage.nodes)
    height, width = (min(p.value.shape[axis] for p in stage.outputs) for axis in (1, 2))
    for rows in _sizes(height):
        for columns in _sizes(width):
            if (rows, columns) == (height, width) or (columns < width and rows > 4 * columns):
                continue
            cut = Cut(stage, rows, columns)
            if not cut.possible:
                continue
            need, macs = _estimate(cut)
            if macs <= MOST_WORK * work:
                yield Candidate(start, stop, stage, (rows, columns), max(outside, around + need), macs)


def _sizes(size: int) -> list[int]:
    shares = {-(-size // share) for share in SHARES}
    return sorted({size, *shares, *(s for s in SIZES if s < size)}, reverse=True)


def _around(graph: Graph, start: int, stop: int, stage: Graph) -> int:
    """Bytes alive beside a stage while it runs: what passes it by, its inputs and its outputs, which may share bytes
    with an input that nobody needs later."""
    later = {v for node in graph.nodes[stop:] for v in node.inputs} | graph.leaving()
    earlier = {port.value for port in graph.inputs} | {v for node in graph.nodes[:start] for v in node.outputs}
    names = {port.value.name for port in stage.inputs}
    passing = sum(v.bytes for v in earlier & later if v.name not in names)
    dying = sum(v.bytes for v in earlier - later if v.name in names)
    inputs, outputs = (sum(port.value.bytes for port in ports) for ports in (stage.inputs, stage.outputs))
    return passing + inputs + outputs - min(dying, outputs)


def _estimate(cut: Cut) -> tuple[int, int]:
    """Bytes that a patch from the middle needs, and multiply-accumulates of all patches if they were like it."""
    middle = (cut.counts[0] // 2, cut.counts[1] // 2)
    tile = cut.tile(*middle)
    outside = {port.value for port in tile.graph.inputs} | set(tile.stores)
    last: dict[Value, int] = {port.value: len(tile.graph.nodes) for port in tile.graph.outputs}
    for k, node in reversed(list(enumerate(tile.graph.nodes))):
        for value in node.inputs:
            last.setdefault(value, k)
    need, live, macs = 0, 0, 0
    for k, node in enumerate(tile.graph.nodes):
        if ops.get(node.op).view_offset(node) is not None:
            outside.add(node.output)  # counted with what it is a part of
            continue
        out = 0 if node.output in outside else node.output.bytes
        dying = sum(v.bytes for v in set(node.inputs) if not v.is_constant and v not in outside and last[v] == k)
        need = max(need, live + out - (min(out, dying) * 3) // 4)
        live += out - dying
        macs += ops.get(node.op).macs(node)
    lag = sum(port.value.bytes // cut.counts[0] for port in cut.stage.outputs)
    return need + lag, macs * cut.counts[0] * cut.counts[1]
