"""`--optimize speed`: flash for fewer instructions.

Some layers have a second kernel with larger constants that executes fewer instructions. Without a budget a layer gets
it where every byte saves WORTH instructions or more; with `--max-flash` wherever there is room, the best bargain first.
The arena hardly grows for it: a kernel that makes the peak higher than that is given up again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pilotlight import ops
from pilotlight.emit import dense_s8
from pilotlight.emit.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.ops.q_dense import Dense
from pilotlight.passes.prepare import prepare
from pilotlight.plan import Plan, make_plan

WORTH = 32  # instructions that a byte of flash must save where the user named no budget
GROWTH, LITTLE = 20, 1024  # the arena may grow by one part in so many, or by so many bytes
STACK = 128  # bytes by which a kernel may need more of it
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
    small, large = dense_s8.family(target), dense_s8.family(replace(target, roomy=True))
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


def affordable(found: Iterable[Bargain], room: int) -> list[Bargain]:
    """As many as there is room for, with their code."""
    taken: list[Bargain] = []
    blocks: set[str] = set()
    for bargain in found:
        fresh = bargain.blocks - blocks
        price = bargain.flash + sum(map(dense_s8.code_bytes, fresh)) + (0 if taken else DRIVER)
        if price <= room:
            taken.append(bargain)
            blocks |= fresh
            room -= price
    return taken


def spend(
    graph: Graph, target: Target, taken: Collection[Bargain], plan: Plan, most: int | None, keep_inputs: bool
) -> Plan:
    """The plan with these bargains, but for those that would make the arena larger than `most`, or than a little more
    than that of the `plan` without any."""
    limit = plan.arena.size + max(plan.arena.size // GROWTH, LITTLE) if most is None else most
    nodes = {bargain.node for bargain in taken}
    while nodes:
        prepared = prepare(graph, target, roomy=nodes)
        back = dict(zip(prepared.nodes, graph.nodes, strict=True))
        fast = make_plan(prepared, keep_inputs=keep_inputs)
        if fast.arena.size <= limit:
            return fast
        step = fast.arena.peak_step
        peak = back.get(fast.steps[step]) if 0 <= step < len(fast.steps) else None
        nodes.discard(peak if peak in nodes else max(nodes, key=lambda node: node.output.bytes))
    return plan
