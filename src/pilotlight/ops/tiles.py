"""Cutting a stage into patches: the area that every layer computes for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from pilotlight.codegen.subplan import Subgraph
from pilotlight.graph import Graph, Node, Port, Value
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import get

Key = tuple[int, int]  # a patch: which one from the top, which one from the left


@dataclass(frozen=True)
class Run:
    """Patches in a line that differ only in where they are."""

    first: int
    count: int


@dataclass
class Needs:
    """For one patch: the area of every value, and how each node computes its part of that."""

    areas: dict[Value, Area] = field(default_factory=dict)
    parts: dict[Node, AreaPart] = field(default_factory=dict)


class Cut:
    """A stage and the size of its patches, counted in its smallest output."""

    def __init__(self, stage: Graph, rows: int, columns: int):
        self.stage = stage
        self.size = rows, columns
        shapes = [port.value.shape for port in stage.outputs]
        self.least = min(s[1] for s in shapes), min(s[2] for s in shapes)
        self.counts = tuple(-(-size // step) for size, step in zip(self.least, self.size, strict=True))
        self._needs: dict[Key, Needs | None] = {}

    @property
    def aligned(self) -> bool:
        """Whether the outputs' sizes go together."""
        shapes = [port.value.shape for port in self.stage.outputs]
        return not any(s[1] % self.least[0] or s[2] % self.least[1] for s in shapes)

    @property
    def possible(self) -> bool:
        """Whether no patch of a layer would be padding alone."""
        edges = [(i, 0) for i in range(self.counts[0])] + [(0, j) for j in range(self.counts[1])]
        return self.aligned and all(self.needs(key) is not None for key in edges)

    def area(self, value: Value, key: Key) -> Area:
        """The rectangle of an output that is a patch's own."""
        spans = []
        for at, step, least, size in zip(key, self.size, self.least, value.shape[1:3], strict=True):
            scale = size // least
            spans.append(range(at * step * scale, min((at + 1) * step, least) * scale))
        return Area(*spans)

    def needs(self, key: Key) -> Needs | None:
        if key not in self._needs:
            self._needs[key] = self._find_needs(key)
        return self._needs[key]

    def _find_needs(self, key: Key) -> Needs | None:
        found = Needs()
        for port in self.stage.outputs:
            found.areas[port.value] = self.area(port.value, key).hull(found.areas.get(port.value))
        for node in reversed(self.stage.nodes):
            part = get(node.op).part(node, found.areas[node.output])
            if part is None:
                return None
            found.parts[node] = part
            found.areas[node.output] = part.made or found.areas[node.output]
            for value, read in zip(node.inputs, part.reads, strict=True):
                if read is not None:
                    found.areas[value] = read.hull(found.areas.get(value))
        return found

    def _known(self, key: Key) -> Needs:
        found = self.needs(key)
        assert found is not None, "this stage cannot be cut like that"
        return found

    # ---- patches that look the same ----------------------------------------------------------------------------

    @cached_property
    def down(self) -> list[Run]:
        return self._runs([(i, 0) for i in range(self.counts[0])], 0)

    @cached_property
    def along(self) -> list[Run]:
        return self._runs([(0, j) for j in range(self.counts[1])], 1)

    def kinds(self) -> list[Key]:
        return [(i.first, j.first) for i in self.down for j in self.along]

    def _runs(self, keys: Sequence[Key], axis: int) -> list[Run]:
        """Rows of patches do not depend on columns, nor the other way round: `part` treats them separately."""
        runs: list[Run] = []
        looks = [self._look(key) for key in keys]
        starts = [self._starts(key, axis) for key in keys]
        steps = [tuple(np.subtract(b, a)) for a, b in pairwise(starts)]
        for k, look in enumerate(looks):
            last = runs[-1] if runs else None
            if last and look == looks[last.first] and (last.count == 1 or steps[k - 1] == steps[last.first]):
                runs[-1] = Run(last.first, last.count + 1)
            else:
                runs.append(Run(k, 1))
        return runs

    def _look(self, key: Key) -> list[Any]:
        """Everything about a patch but its place."""
        found = self._known(key)
        look: list[Any] = []
        for node in self.stage.nodes:
            part = found.parts[node]
            changed = {k: v for k, v in part.attrs.items() if node.attrs.get(k) is not v}
            look += [changed, found.areas[node.output].size]
            for value, read in zip(node.inputs, part.reads, strict=True):
                if read is not None:
                    look += [read.size, found.areas[value].size, read.within(found.areas[value])]
        for port in self.stage.outputs:
            own = self.area(port.value, key)
            look += [own.size, own.within(found.areas[port.value])]
        return look

    def _starts(self, key: Key, axis: int) -> list[int]:
        areas = [self._known(key).areas[port.value] for port in self.stage.inputs]
        areas += [self.area(port.value, key) for port in self.stage.outputs]
        return [area.corner[axis] for area in areas]

    def address(self, value: Value, kind: str, k: int, runs: tuple[Run, Run]) -> tuple[int, list[int]]:
        """Where the first patch of two runs lies in input or output k, and how far it is to the next, in bytes."""
        pitches = value.shape[2] * value.shape[3] * value.dtype.size, value.shape[3] * value.dtype.size
        start, steps = 0, []
        for axis, (run, pitch) in enumerate(zip(runs, pitches, strict=True)):
            ends = []
            for at in (run.first, min(run.first + 1, self.counts[axis] - 1)):
                starts = self._starts((at, 0) if axis == 0 else (0, at), axis)
                ends.append(starts[k if kind == "from" else len(self.stage.inputs) + k] * pitch)
            start += ends[0]
            steps.append(ends[1] - ends[0] if run.count > 1 else 0)
        return start, steps

    # ---- the patch as a graph ----------------------------------------------------------------------------------

    def tile(self, i: int, j: int) -> Subgraph:
        """The nodes that compute one patch."""
        found, stage = self._known((i, j)), self.stage
        graph, made, stores = Graph(stage.name), dict[Value, Value](), set[Value]()
        for port in stage.inputs:
            made[port.value] = _borrow(graph, port, found.areas[port.value])
        for node in stage.nodes:
            part, inputs = found.parts[node], list[Value]()
            for value, read in zip(node.inputs, part.reads, strict=True):
                inputs.append(value if read is None else _part_of(graph, made[value], found.areas[value], read))
            value = node.output
            shape = (1, *found.areas[value].size, value.shape[3])
            made[value] = graph.fresh(value.name, value.dtype, shape)
            made[value].quant = value.quant
            graph.nodes.append(Node(node.op, inputs, [made[value]], dict(part.attrs), node.place))
        direct = {node.output for node in graph.nodes if get(node.op).view_offset(node) is None}
        for port in stage.outputs:
            own = self.area(port.value, (i, j))
            value = _part_of(graph, made[port.value], found.areas[port.value], own)
            if value is made[port.value] and value in direct and is_run(own.size, port.value):
                stores.add(value)
            graph.outputs.append(Port(port.name, value, value.shape))
        return Subgraph(graph, stores)

    # ---- what it costs -----------------------------------------------------------------------------------------

    def work(self) -> Iterator[tuple[Node, int]]:
        """The layers of all patches with their multiply-accumulates."""
        for i, j in product(self.down, self.along):
            for node in self.tile(i.first, j.first).graph.nodes:
                yield node, i.count * j.count * get(node.op).macs(node)

    def macs(self) -> int:
        """Multiply-accumulates of all patches."""
        return sum(macs for _, macs in self.work())

    def calls(self) -> int:
        """Kernels that are called for all patches."""
        return self.counts[0] * self.counts[1] * len(self.stage.nodes)

    def reads(self, k: int) -> np.ndarray:
        """For every patch in order, the bytes of input k that it reads: first, and one past the last."""
        value = self.stage.inputs[k].value
        return self._bytes(value, lambda key: self._known(key).areas[value])

    def writes(self, k: int) -> np.ndarray:
        """The same for output k."""
        value = self.stage.outputs[k].value
        return self._bytes(value, lambda key: self.area(value, key))

    def _bytes(self, value: Value, area: Callable[[Key], Area]) -> np.ndarray:
        rows = [area((i, 0)).rows for i in range(self.counts[0])]
        columns = [area((0, j)).columns for j in range(self.counts[1])]
        width = value.shape[2]
        spans = [(r.start * width + c.start, (r.stop - 1) * width + c.stop) for r in rows for c in columns]
        return np.array(spans, np.int64) * (value.shape[3] * value.dtype.size)


def is_run(size: tuple[int, int], value: Value) -> bool:
    """Whether an area of `size` rows and columns is contiguous in an image."""
    return size[1] == value.shape[2] or size[0] == 1


def _borrow(graph: Graph, port: Port, area: Area) -> Value:
    """The part of an input that a patch reads: where it lies, or copied if it is not contiguous."""
    value = port.value
    pitch = area.size[1] if is_run(area.size, value) else value.shape[2]
    outside = graph.fresh(value.name, value.dtype, (1, area.size[0], pitch, value.shape[3]))
    outside.quant = value.quant
    graph.inputs.append(Port(port.name, outside, outside.shape))
    return _part_of(graph, outside, Area(area.rows, range(area.columns.start, area.columns.start + pitch)), area)


def _part_of(graph: Graph, value: Value, area: Area, wanted: Area) -> Value:
    """A smaller area of an image of which `area` is known."""
    if area == wanted:
        return value
    (top, left), (height, width) = wanted.within(area), wanted.size
    ranges = ((0, 1, 1), (top, top + height, 1), (left, left + width, 1), (0, value.shape[3], 1))
    part = graph.fresh(f"{value.name}_part", value.dtype, (1, height, width, value.shape[3]))
    part.quant = value.quant
    graph.nodes.append(Node("slice", [value], [part], {"ranges": ranges}))
    return part
