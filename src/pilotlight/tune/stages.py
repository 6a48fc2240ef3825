"""Which stages are worth cutting into patches of which size: a quick estimate for many, best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pilotlight import ops
from pilotlight.graph import Graph, Node, Value
from pilotlight.ops.tiles import Cut, Needs, is_run
from pilotlight.passes.patches import can_cut, make_stage

LENGTH = 16  # layers of a stage, at most
SIZES = (1, 2, 4, 8, 16, 32)  # rows or columns of a patch
SHARES = (2, 3, 4, 6)  # parts of an image
MOST_WORK = 4  # times the work of the stage as a whole
CALL = 250  # multiply-accumulates that cost as much as the call of a kernel
SLACK = 16  # a stage is skipped when it needs more than the best estimate by one part in SLACK


@dataclass(frozen=True)
class StageCandidate:
    """Nodes start to stop of a graph, in patches of `size` rows and columns."""

    start: int
    stop: int
    stage: Graph
    size: tuple[int, int]
    need: int  # estimated bytes
    work: int  # estimated: multiply-accumulates, and a price for every call of a kernel


def candidates(graph: Graph, needs: Mapping[Node, int]) -> list[StageCandidate]:
    """Stages that hold the step with the largest need, best estimate first.

    What other layers need counts where nothing can be done about it; those that can be cut may have their turn later.
    """
    if not needs:
        return []
    peak = graph.nodes.index(max(needs, key=lambda node: needs[node]))
    cuttable = [can_cut(node) for node in graph.nodes]
    floor = max((n for node, n in needs.items() if not cuttable[graph.nodes.index(node)]), default=0)
    stages = []
    for start in range(peak, max(peak - LENGTH, -1), -1):
        if not cuttable[start]:
            break
        for stop in range(peak + 1, min(start + LENGTH, len(graph.nodes)) + 1):
            if not cuttable[stop - 1]:
                break
            if stop - start > 1:
                stage = make_stage(graph, graph.nodes[start:stop])
                stages.append((max(floor, _around(graph, start, stop, stage)), start, stop, stage))
    found: list[StageCandidate] = []
    least = needs[graph.nodes[peak]]
    for around, start, stop, stage in sorted(stages, key=lambda s: s[:3]):
        if around > least + least // SLACK:
            break
        for size, need, work in cuts(stage):
            found.append(StageCandidate(start, stop, stage, size, around + need, work))
            least = min(least, around + need)
    return sorted(found, key=lambda c: (c.need, c.work))


def cuts(stage: Graph) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Sizes of patches, with the bytes and the work that each is estimated to take."""
    most = MOST_WORK * sum(ops.get(node.op).macs(node) + CALL for node in stage.nodes)
    height, width = (min(p.value.shape[axis] for p in stage.outputs) for axis in (1, 2))
    for rows in _sizes(height):
        for columns in _sizes(width):
            if (rows, columns) == (height, width) or (columns < width and rows > 4 * columns):
                continue
            cut = Cut(stage, rows, columns)
            middle = cut.needs((cut.counts[0] // 2, cut.counts[1] // 2)) if cut.aligned else None
            if middle is not None:
                need, work = _estimate(cut, middle)
                if work <= most:
                    yield (rows, columns), need, work


def _sizes(size: int) -> list[int]:
    shares = {-(-size // share) for share in SHARES}
    return sorted({size, *shares, *(s for s in SIZES if s < size)}, reverse=True)


def _around(graph: Graph, start: int, stop: int, stage: Graph) -> int:
    """Bytes alive besides a stage while it runs: what passes it by, its inputs and its outputs, which may share bytes
    with an input that nobody needs later."""
    later = {v for node in graph.nodes[stop:] for v in node.inputs} | graph.leaving()
    earlier = {port.value for port in graph.inputs} | {v for node in graph.nodes[:start] for v in node.outputs}
    names = {port.value.name for port in stage.inputs}
    passing = sum(v.bytes for v in earlier & later if v.name not in names)
    dying = sum(v.bytes for v in earlier - later if v.name in names)
    inputs, outputs = (sum(port.value.bytes for port in ports) for ports in (stage.inputs, stage.outputs))
    return passing + inputs + outputs - min(dying, outputs)


def _estimate(cut: Cut, needs: Needs) -> tuple[int, int]:
    """Bytes besides inputs and outputs that a patch from the middle needs, and the work if all patches were like it."""
    stage, areas = cut.stage, needs.areas
    sizes = {v: area.size[0] * area.size[1] * v.shape[3] * v.dtype.size for v, area in areas.items()}
    elsewhere = {p.value for p in (*stage.inputs, *stage.outputs) if is_run(areas[p.value].size, p.value)}
    sizes |= dict.fromkeys(elsewhere, 0)
    last: dict[Value, int] = {port.value: len(stage.nodes) for port in stage.outputs}
    for k, node in reversed(list(enumerate(stage.nodes))):
        for value in node.inputs:
            last.setdefault(value, k)
    live = most = sum(sizes[port.value] for port in stage.inputs)
    work = 0
    for k, node in enumerate(stage.nodes):
        out, dying = sizes[node.output], sum(sizes[v] for v in set(node.inputs) if v in sizes and last[v] == k)
        most = max(most, live + out - min(out, dying) * 3 // 4)
        live += out - dying
        rows, columns = areas[node.output].size
        work += ops.get(node.op).macs(node) * rows * columns // (node.output.shape[1] * node.output.shape[2]) + CALL
    lag = sum(port.value.bytes // cut.counts[0] for port in stage.outputs)
    return most + lag, work * cut.counts[0] * cut.counts[1]
