"""A stage of layers that is computed patch by patch, so that what lies between its layers never exists whole.

The stage is a subgraph from images to images. Its outputs are cut into rectangles; each layer before them computes just
the area that a rectangle needs, halo included, and what two neighbours need is computed twice. Patches that look the
same share one loop and one plan, which lives in the scratch memory of this node.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.subplan import Subgraph, Subplan
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node, Value
from pilotlight.graph.evaluate import evaluate
from pilotlight.ops.base import Op, Result, get, register, scratch_inside
from pilotlight.ops.inner import Inner
from pilotlight.ops.tiles import Cut, Key, Run


@register
class Patches(Op):
    """attrs: stage, rows and columns of a patch in the smallest output; after `prepare` the cut and its tiles."""

    name = "patches"

    def infer(self, node: Node) -> Result:
        return [(port.value.dtype, port.value.shape) for port in node.attrs["stage"].outputs]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(evaluate(node.attrs["stage"], args))

    def macs(self, node: Node) -> int:
        return self.cut(node).macs()

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        return self.cut(node).work()

    def describe(self, node: Node) -> str:
        a = node.attrs
        names = [get(inner.op).group(inner) for inner in a["stage"].nodes]
        return f"{names[0]} to {names[-1]}, {len(names)} layers in patches of {a['rows']}x{a['columns']}"

    @staticmethod
    def cut(node: Node) -> Cut:
        a = node.attrs
        return a["cut"] if "cut" in a else Cut(a["stage"], a["rows"], a["columns"])

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        """Build one patch of each kind."""
        cut = node.attrs["cut"] = self.cut(node)
        node.attrs["tiles"] = {key: cut.tile(*key) for key in cut.kinds()}

    def inside(self, node: Node) -> dict[Key, Subgraph]:
        tiles: dict[Key, Subgraph] = node.attrs["tiles"]
        return tiles

    def scratch(self, node: Node) -> int:
        return scratch_inside(node)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {pair: self._distances(node, *pair)[0] for pair in self._pairs(node)}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {pair: self._distances(node, *pair)[1] for pair in self._pairs(node)}

    @staticmethod
    def _pairs(node: Node) -> Iterator[tuple[int, int]]:
        yield from np.ndindex(len(node.inputs), len(node.outputs))

    def _distances(self, node: Node, source: int, target: int) -> tuple[int, int]:
        """Forward and backward. A patch reads an input before it writes an output where the order of its steps says
        so; otherwise it is taken to do both at once."""
        reads, writes = self.cut(node).reads(source), self.cut(node).writes(target)
        tiles, plans = node.attrs["tiles"], node.attrs["plans"]
        first = 1 if all(_reads_first(tiles[key], plans[key], source, target) for key in tiles) else 0
        size_in, size_out = node.inputs[source].bytes, node.outputs[target].bytes
        later = np.minimum.accumulate(reads[::-1, 0])[::-1][first:]
        forward = (later - np.maximum.accumulate(writes[:, 1])[: len(later)]).min(initial=size_in)
        earlier = np.maximum.accumulate(reads[:, 1])[: len(reads) - first]
        floor = np.minimum.accumulate(writes[::-1, 0])[::-1][first:]
        return int(forward), int((earlier - floor).max(initial=-size_out))

    def emit(self, node: Node, c: Step) -> None:
        c.use("mem")
        cut = self.cut(node)
        down, along = (f"{name}_{c.index}" for name in ("down", "along"))
        ahead = -1 if c.reverse else 1
        for vertical in cut.down[::ahead]:
            with ExitStack() as blocks:
                self._loop(c, blocks, vertical, down)
                for horizontal in cut.along[::ahead]:
                    with ExitStack() as inner:
                        self._loop(c, inner, horizontal, along)
                        self._patch(node, c, vertical, horizontal, (down, along))

    @staticmethod
    def _loop(c: Step, blocks: ExitStack, run: Run, name: str) -> None:
        up, back = f"{name} = 0; {name} < {run.count}; {name}++", f"{name} = {run.count - 1}; {name} >= 0; {name}--"
        blocks.enter_context(c.block(f"for (int32_t {back if c.reverse else up})" if run.count > 1 else ""))

    def _patch(self, node: Node, c: Step, vertical: Run, horizontal: Run, names: tuple[str, str]) -> None:
        cut, runs = self.cut(node), (vertical, horizontal)
        key = vertical.first, horizontal.first
        tile, plan = node.attrs["tiles"][key], node.attrs["plans"][key]
        places: dict[Value, tuple[str, int]] = {}

        def pointer(value: Value, kind: str, k: int) -> str:
            base, offset = c.locate(value)
            start, steps = cut.address(value, kind, k, runs)
            moves = "".join(f" + ({name} * {step})" for name, step in zip(names, steps, strict=True) if step)
            name = f"{kind}_{c.index}_{k}"
            constant = "const " if kind == "from" else ""
            c.line(f"{constant}uint8_t *const {name} = &{base}[{offset + start}{moves}];")
            return name

        for k, (value, port) in enumerate(zip(node.inputs, tile.graph.inputs, strict=True)):
            places[port.value] = (pointer(value, "from", k), 0)
        targets = [pointer(value, "to", k) for k, value in enumerate(node.outputs)]
        for k, value in enumerate(tile.graph.outputs):
            if value.value in tile.stores:
                places[value.value] = (targets[k], 0)
        inner = Inner(c, f"_{vertical.first}_{horizontal.first}_", plan, places)
        inner.write_steps()
        for k, port in enumerate(tile.graph.outputs):
            if port.value not in tile.stores:
                self._store(node.outputs[k], c, inner.read(port.value, "uint8_t"), port.value, targets[k])

    @staticmethod
    def _store(out: Value, c: Step, source: str, part: Value, target: str) -> None:
        """Copy a patch into its place, row by row."""
        pixel = part.shape[3] * part.dtype.size
        run, pitch, line = part.shape[2] * pixel, out.shape[2] * pixel, f"line_{c.index}"
        with c.block(f"for (int32_t {line} = 0; {line} < {part.shape[1]}; {line}++)"):
            c.call("pl_copy", f"{target} + ({line} * {pitch})", f"{source} + ({line} * {run})", run)


def _reads_first(tile: Subgraph, plan: Subplan, source: int, target: int) -> bool:
    """Whether every step that reads the input comes before every step that writes right into the output."""
    value, stored = tile.graph.inputs[source].value, tile.graph.outputs[target].value
    nodes = [step.node for step in plan.steps]
    reading = [k for k, node in enumerate(nodes) if any(plan.roots[v][0] is value for v in node.inputs)]
    writing = [k for k, node in enumerate(nodes) if stored in tile.stores and stored in node.outputs]
    return max(reading, default=-1) < min(writing, default=len(plan.steps))
