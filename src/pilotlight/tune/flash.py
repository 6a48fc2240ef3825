"""`--optimize speed`: flash for fewer instructions.

Some layers have a second kernel with larger constants that executes fewer instructions. Without a budget a layer gets
it where every byte saves WORTH instructions or more; with `--max-flash` wherever there is room, the best bargain first.
The arena may grow a little for it; a kernel that raises the peak further is given up again. The part of the arena that
other steps leave free is scratch memory, with which a third kernel needs no more flash than the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.kernels import dense_s8
from pilotlight.ops.q_dense import Dense
from pilotlight.passes.prepare import prepare
from pilotlight.plan import Plan, make_plan

WORTH = 32  # instructions that a byte of flash must save where the user named no budget
GROWTH, LITTLE = 20, 1024  # the arena may grow by one part in GROWTH, or by LITTLE bytes
STACK = 128  # bytes of stack that a kernel may need in addition
DRIVER = 1536  # bytes of the C around a kernel's blocks


@dataclass(frozen=True)
class Bargain:
    """What a larger kernel of a layer saves and costs."""

    node: Node
    instructions: int
    flash: int
    blocks: frozenset[str]  # assembly that it needs

    @property
    def rate(self) -> float:
        return self.instructions / max(1, self.flash)


def bargains(graph: Graph, target: Target) -> list[Bargain]:
    """Layers with a faster kernel, best first."""
    small, large = dense_s8.family(target), dense_s8.family(replace(target, large_flash=True))
    found = []
    for node in graph.nodes:
        op = ops.get(node.op)
        if isinstance(op, Dense):
            layer = op.layer(node)
            now, other = small.plan(layer), large.plan(layer)
            if other.instructions < now.instructions:
                saved, bytes_ = now.instructions - other.instructions, other.flash - now.flash
                found.append(Bargain(node, saved, bytes_, other.micro))
    return sorted(found, key=lambda b: -b.rate)


def affordable(found: Iterable[Bargain], room: int, worth: int = 0) -> list[Bargain]:
    """As many as there is room for, with their code; each byte must save `worth` instructions."""
    taken: list[Bargain] = []
    blocks: set[str] = set()
    for bargain in found:
        fresh = bargain.blocks - blocks
        price = bargain.flash + _code(fresh) + (0 if taken else DRIVER)
        if price <= room and bargain.instructions >= worth * price:
            taken.append(bargain)
            blocks |= fresh
            room -= price
    return taken


def _code(blocks: Iterable[str]) -> int:
    return sum(map(dense_s8.code_bytes, blocks))


def spend(
    graph: Graph, target: Target, taken: Iterable[Bargain], plan: Plan, most: int | None, keep_inputs: bool
) -> Plan:
    """The plan with these bargains, except those that would make the arena larger than `most` or, without that limit,
    much larger than in the `plan` without any. What the arena has to spare in other steps goes to the other layers."""
    limit = plan.arena.size + max(plan.arena.size // GROWTH, LITTLE) if most is None else most
    large_flash = {bargain.node for bargain in taken}
    bought = _within(graph, target, large_flash, {}, limit, keep_inputs)
    room = max((bought or plan).arena.size, most or 0)
    scratch = _spare(graph, target, large_flash, bought or plan, room)
    return _within(graph, target, large_flash, scratch, room, keep_inputs) or bought or plan


def _within(
    graph: Graph, target: Target, large_flash: set[Node], scratch: dict[Node, int], limit: int, keep_inputs: bool
) -> Plan | None:
    """A plan of at most `limit` bytes, if need be without some of what was to be spent."""
    while large_flash or scratch:
        prepared = prepare(graph, target, large_flash=large_flash, scratch=scratch)
        back = dict(zip(prepared.nodes, graph.nodes, strict=True))
        plan = make_plan(prepared, keep_inputs=keep_inputs)
        over = plan.arena.size - limit
        if over <= 0:
            return plan
        step = plan.arena.peak_step
        peak = back.get(plan.steps[step]) if 0 <= step < len(plan.steps) else None
        if peak in scratch and scratch[peak] > over:
            scratch[peak] -= over
        elif peak in scratch:
            del scratch[peak]
        elif peak in large_flash:
            large_flash.discard(peak)
        else:
            some: set[Node] | dict[Node, int] = scratch or large_flash
            least = min(some, key=lambda node: node.output.bytes)
            scratch.pop(least, None)
            large_flash.discard(least)
    return None


def _spare(graph: Graph, target: Target, large_flash: set[Node], plan: Plan, room: int) -> dict[Node, int]:
    """Layers that would gain enough from the scratch memory left when they run, if their output overlaps their
    input."""
    small, spare = dense_s8.family(target), {}
    by_output = {node.output.name: (step, node) for step, node in enumerate(plan.steps) if len(node.outputs) == 1}
    for node in graph.nodes:
        op = ops.get(node.op)
        if isinstance(op, Dense) and node not in large_flash and node.output.name in by_output:
            step, planned = by_output[node.output.name]
            own = plan.scratch_name(planned)
            alive = sum(b.size for b in plan.buffers if b.first <= step <= b.last and b.name != own)
            left = room - alive + min(node.inputs[0].bytes, node.output.bytes)
            layer = op.layer(node)
            now, other = small.plan(layer), dense_s8.family(replace(target, scratch=left)).plan(layer)
            if now.instructions - other.instructions > WORTH * (_code(other.micro) + DRIVER):
                spare[node] = left
    return spare
