"""Kernels for a whole network from what was measured: the fewest cycles that flash and arena have room for.

Every layer begins with its fastest kernel. While that takes too much flash, the layer changes that pays least for its
bytes; while the arena is too large, the layer that runs at its peak. In the end layers get faster kernels again, as far
as they fit the plan that was found. What was chosen without measurements is always a solution: it is kept unless
another one is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from pilotlight.graph import Graph, Node
from pilotlight.kernels.blocks import code_bytes
from pilotlight.kernels.candidate import Candidate
from pilotlight.plan import Plan, make_plan
from pilotlight.selection import Choice, Offers, Selection, prepare
from pilotlight.selection.rules import MEASURED, choice
from pilotlight.tune.costs import Costs
from pilotlight.tune.flash import DRIVER
from pilotlight.tune.layers import tunable_layers

MOST_PLANS = 64  # of the last round

Chosen = dict[Node, Candidate]
_block_bytes = cache(code_bytes)


@dataclass(frozen=True)
class Room:
    """Bytes of arena, and of constants and code of the layers with measured kernels."""

    arena: int
    flash: int


@dataclass(frozen=True)
class MeasuredKernel:
    candidate: Candidate
    cost: int


@dataclass(frozen=True)
class Solution:
    selection: Selection
    plan: Plan
    cost: int  # of the measured layers


class Network:
    """A graph whose layers have measured kernels, and the selection without measurements."""

    def __init__(self, graph: Graph, offers: Offers, costs: Costs, default: Selection, keep_inputs: bool):
        self.graph, self.offers, self.keep_inputs = graph, offers, keep_inputs
        self.measured: dict[Node, list[MeasuredKernel]] = {}
        self.default: Chosen = {}
        self.others: dict[Node, Choice] = dict(default.choices)
        self._inside = default.inside
        for layer in tunable_layers(graph, offers):
            found = costs.of(layer.key)
            kernels = [
                MeasuredKernel(c, found[c.name].value) for c in layer.offered
                if c.name in found and found[c.name].failure is None
            ]
            usual = next((k for k in kernels if k.candidate.name == default[layer.node].candidate.name), None)
            if usual is not None:  # what it is compared with was measured as well
                self.measured[layer.node] = sorted(kernels, key=_preference)
                self.default[layer.node] = usual.candidate
                del self.others[layer.node]

    def solve(self, room: Room) -> Solution:
        chosen = {node: kernels[0].candidate for node, kernels in self.measured.items()}
        if not self._save_flash(chosen, room.flash):
            chosen = dict(self.default)
        plan = self._save_arena(chosen, room.arena)
        if plan is None:
            chosen = dict(self.default)
            plan = self.plan(chosen)
        else:
            plan = self._faster_again(chosen, plan, room)
        if self.cost(chosen) > self.cost(self.default):
            chosen = dict(self.default)
            plan = self.plan(chosen)
        return Solution(self.selection(chosen), plan, self.cost(chosen))

    def cost(self, chosen: Mapping[Node, Candidate]) -> int:
        return sum(self._cost(node, candidate) for node, candidate in chosen.items())

    def flash(self, chosen: Mapping[Node, Candidate]) -> int:
        """Constants, and the code that layers share."""
        used = list(chosen.values())
        blocks = {name for candidate in used for name in candidate.micro}
        return _constants(used) + sum(map(_block_bytes, blocks)) + DRIVER * len({c.driver for c in used})

    def selection(self, chosen: Mapping[Node, Candidate]) -> Selection:
        measured = {
            node: choice(candidate, MEASURED, [k.candidate for k in self.measured[node]])
            for node, candidate in chosen.items()
        }
        return Selection(self.others | measured, self._inside)

    def plan(self, chosen: Mapping[Node, Candidate]) -> Plan:
        prepared = prepare(self.graph, self.offers.target, self.selection(chosen))
        return make_plan(prepared, keep_inputs=self.keep_inputs)

    def _cost(self, node: Node, candidate: Candidate) -> int:
        return next(kernel.cost for kernel in self.measured[node] if kernel.candidate is candidate)

    def _save_flash(self, chosen: Chosen, most: int) -> bool:
        """Smaller kernels until all fit; whether they do."""
        while self.flash(chosen) > most:
            swaps = []
            for node, now in chosen.items():
                for kernel in self.measured[node]:
                    saved = now.flash - kernel.candidate.flash
                    if saved > 0:
                        swaps.append(((kernel.cost - self._cost(node, now)) / saved, node, kernel.candidate))
            if not swaps:
                return False
            _, node, candidate = min(swaps, key=lambda swap: swap[0])
            chosen[node] = candidate
        return True

    def _save_arena(self, chosen: Chosen, most: int) -> Plan | None:
        """The plan with kernels that need less memory where the arena is too large; None where even those without
        measurements do not fit."""
        while True:
            plan = self.plan(chosen)
            if plan.arena.size <= most:
                return plan
            node = self._peak(plan, chosen)
            smaller = self._smaller(node, chosen[node]) if node is not None else None
            if node is None or smaller is None:
                changed = [n for n, candidate in chosen.items() if candidate is not self.default[n]]
                if not changed:
                    return None
                node = min(changed, key=lambda n: self._cost(n, self.default[n]) - self._cost(n, chosen[n]))
                smaller = self.default[node]
            chosen[node] = smaller

    def _peak(self, plan: Plan, chosen: Chosen) -> Node | None:
        """The layer that runs when most of the arena is in use."""
        step = plan.arena.peak_step
        if not 0 <= step < len(plan.steps):
            return None
        name = plan.steps[step].outputs[0].name
        return next((node for node in chosen if node.output.name == name), None)

    def _smaller(self, node: Node, now: Candidate) -> Candidate | None:
        """The fastest kernel that needs less scratch memory."""
        fitting = (k.candidate for k in self.measured[node] if k.candidate.scratch < now.scratch)
        return next(fitting, None)

    def _faster_again(self, chosen: Chosen, plan: Plan, room: Room) -> Plan:
        """Each layer's fastest kernel with which everything still fits, the largest gain first."""
        gains = []
        for node, now in chosen.items():
            for kernel in self.measured[node]:
                gain = self._cost(node, now) - kernel.cost
                if gain > 0:
                    gains.append((gain, node, kernel))
        plans = 0
        for _, node, kernel in sorted(gains, key=lambda row: -row[0]):
            if kernel.cost >= self._cost(node, chosen[node]) or plans == MOST_PLANS:
                continue
            trial = chosen | {node: kernel.candidate}
            if self.flash(trial) > room.flash:
                continue
            plans += 1
            planned = self.plan(trial)
            if planned.arena.size <= room.arena:
                chosen[node], plan = kernel.candidate, planned
        return plan


def _preference(kernel: MeasuredKernel) -> tuple[int, int, int]:
    return kernel.cost, kernel.candidate.flash, kernel.candidate.scratch


def _constants(candidates: Iterable[Candidate]) -> int:
    return sum(candidate.flash for candidate in candidates)
