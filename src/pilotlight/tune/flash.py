"""`--optimize speed`: flash for fewer instructions.

Some layers have a candidate with larger constants that executes fewer instructions. Without a budget a layer gets it
where every byte saves WORTH instructions or more; with `--max-flash` wherever there is room, the best bargain first.
The arena may grow a little for it; a kernel that raises the peak further is given up again. The part of the arena that
other steps leave free is scratch memory, with which another candidate needs no more flash than the usual one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pilotlight.graph import Graph, Node
from pilotlight.kernels.blocks import code_bytes
from pilotlight.kernels.candidate import Candidate
from pilotlight.plan import Plan, make_plan
from pilotlight.selection import Choice, Offers, Selection, fastest, prepare, select_usual, usual
from pilotlight.selection.rules import FLASH, IDLE, choice, is_faster

WORTH = 32  # instructions that a byte of flash must save where the user named no budget
GROWTH, LITTLE = 20, 1024  # the arena may grow by one part in GROWTH, or by LITTLE bytes
STACK = 128  # bytes of stack that a kernel may need in addition
DRIVER = 1536  # bytes of the C around a kernel's blocks


@dataclass(frozen=True)
class Bargain:
    """What a larger kernel of a layer saves and costs."""

    node: Node
    candidate: Candidate
    instructions: int
    flash: int

    @property
    def rate(self) -> float:
        return self.instructions / max(1, self.flash)


def bargains(graph: Graph, offers: Offers) -> list[Bargain]:
    """Layers with a faster kernel, best first."""
    found = []
    for node in graph.nodes:
        offered = offers.of(node)
        if len(offered) > 1:
            now, other = usual(offered).candidate, fastest(offered)
            if is_faster(other, now):
                found.append(Bargain(node, other, _saved(now, other), other.flash - now.flash))
    return sorted(found, key=lambda b: -b.rate)


def affordable(found: Iterable[Bargain], room: int, worth: int = 0) -> list[Bargain]:
    """As many as there is room for, with their code; each byte must save `worth` instructions."""
    taken: list[Bargain] = []
    blocks: set[str] = set()
    for bargain in found:
        fresh = bargain.candidate.micro - blocks
        price = bargain.flash + _code(fresh) + (0 if taken else DRIVER)
        if price <= room and bargain.instructions >= worth * price:
            taken.append(bargain)
            blocks |= fresh
            room -= price
    return taken


def _saved(now: Candidate, other: Candidate) -> int:
    return (now.instructions or 0) - (other.instructions or 0)


def _code(blocks: Iterable[str]) -> int:
    return sum(map(code_bytes, blocks))


def spend(
    graph: Graph, offers: Offers, taken: Iterable[Bargain], plan: Plan, most: int | None, keep_inputs: bool
) -> tuple[Selection, Plan]:
    """The selection and plan with these bargains, except those that would make the arena larger than `most` or, without
    that limit, much larger than in the `plan` without any. What the arena has to spare in other steps goes to the other
    layers."""
    limit = arena_limit(plan) if most is None else most
    bought = {bargain.node: bargain.candidate for bargain in taken}
    spender = _Spender(graph, offers, keep_inputs)
    best = spender.within(bought, {}, limit) or (select_usual(graph, offers), plan)
    room = max(best[1].arena.size, most or 0)
    return spender.within(bought, spender.spare(bought, best[1], room), room) or best


def arena_limit(plan: Plan) -> int:
    """How large the arena may become for speed, where the user named no limit."""
    return plan.arena.size + max(plan.arena.size // GROWTH, LITTLE)


@dataclass(frozen=True)
class _Spender:
    graph: Graph
    offers: Offers
    keep_inputs: bool

    def within(
        self, bought: dict[Node, Candidate], scratch: dict[Node, int], limit: int
    ) -> tuple[Selection, Plan] | None:
        """A plan of at most `limit` bytes, if need be without some of what was to be spent."""
        while bought or scratch:
            selection = self.selection(bought, scratch)
            prepared = prepare(self.graph, self.offers.target, selection)
            back = dict(zip(prepared.nodes, self.graph.nodes, strict=True))
            plan = make_plan(prepared, keep_inputs=self.keep_inputs)
            over = plan.arena.size - limit
            if over <= 0:
                return selection, plan
            step = plan.arena.peak_step
            peak = back.get(plan.steps[step]) if 0 <= step < len(plan.steps) else None
            if peak in scratch and scratch[peak] > over:
                scratch[peak] -= over
            elif peak in scratch:
                del scratch[peak]
            elif peak in bought:
                del bought[peak]
            else:
                some: dict[Node, int] | dict[Node, Candidate] = scratch or bought
                least = min(some, key=lambda node: node.output.bytes)
                scratch.pop(least, None)
                bought.pop(least, None)
        return None

    def selection(self, bought: dict[Node, Candidate], scratch: dict[Node, int]) -> Selection:
        """Bargains for those that bought one, what fits into their scratch memory for others, else the usual."""
        choices: dict[Node, Choice] = {}
        for node in self.graph.nodes:
            offered = self.offers.of(node)
            if node in bought:
                choices[node] = choice(bought[node], FLASH, offered)
            elif offered:
                choices[node] = usual(offered)
                if node in scratch:
                    other = self.in_scratch(offered, scratch[node])
                    if other is not choices[node].candidate:
                        choices[node] = choice(other, IDLE, offered)
        return Selection(choices)

    @staticmethod
    def in_scratch(offered: tuple[Candidate, ...], scratch: int) -> Candidate:
        """The fastest that is content with these bytes, and with less flash than the fastest of all."""
        return fastest(offered, scratch, fastest(offered).flash)

    def spare(self, bought: dict[Node, Candidate], plan: Plan, room: int) -> dict[Node, int]:
        """Layers that would gain enough from the scratch memory left when they run, if their output overlaps their
        input."""
        spare = {}
        by_output = {node.output.name: (step, node) for step, node in enumerate(plan.steps) if len(node.outputs) == 1}
        for node in self.graph.nodes:
            offered = self.offers.of(node)
            if len(offered) > 1 and node not in bought and node.output.name in by_output:
                step, planned = by_output[node.output.name]
                own = plan.scratch_name(planned)
                alive = sum(b.size for b in plan.buffers if b.first <= step <= b.last and b.name != own)
                left = room - alive + min(node.inputs[0].bytes, node.output.bytes)
                now, other = usual(offered).candidate, self.in_scratch(offered, left)
                if _saved(now, other) > WORTH * (_code(other.micro) + DRIVER):
                    spare[node] = left
        return spare
