"""A core that issues in order: when each instruction of a straight piece of code starts, by rules of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from pilotlight.measure.registers import Access, access
from pilotlight.toolchain.disassembly import MachineInstruction
from pilotlight.toolchain.flow import register_words


@dataclass(frozen=True)
class Rule:
    """What holds for the instructions whose name matches from its start and whose operands, if asked for, have a match.

    cycles: until the next instruction may start. latency: until its results may be read. after_memory: instead of
    `cycles` right after a single load or store. per_word: added for each 32-bit register of a list. least, most: where
    the time depends on the numbers. units: what it occupies for `busy` cycles. early: registers of an address and those
    that are shifted are read so many cycles before it starts; late: what is stored, and the sum of a
    multiply-accumulate, so many after. swift: its result comes a cycle earlier if all it reads was there a cycle before
    and it is the first to start in its cycle.
    pair: whether another may start in the same cycle: "any", "first" (only the one after it), "light" (as the short
    one of two, pipeline.pairing) or "no". taken: added where it branches, instead of the table's."""

    match: re.Pattern[str]
    operands: re.Pattern[str] | None = None
    cycles: float = 1
    latency: float | None = None
    after_memory: float | None = None
    per_word: float = 0
    memory: bool = False
    least: float | None = None
    most: float | None = None
    units: tuple[str, ...] = ()
    busy: float = 1
    early: float = 0
    late: float = 0
    swift: bool = False
    pair: str = "any"
    taken: float | None = None

    def holds(self, instruction: MachineInstruction) -> bool:
        if not self.match.match(instruction.mnemonic):
            return False
        return self.operands is None or self.operands.search(instruction.operands) is not None


@dataclass(frozen=True)
class CycleTable:
    """A core. pairing: "none", "any" (two may start together, as their rules say) or "light" (two of 16 bits, one of
    them light). taken_branch: cycles added to each branch that is taken; with `predicts` "loops" not where a branch
    goes to the start of its own piece of code again, with "branches" only to conditional branches on the rarer side.
    measured: shares of the measured cycles by which estimates were off, the lowest and the highest; empty where
    nothing was measured. sources: where the figures are from; published: whether they are the core's own."""

    name: str
    core: str
    sources: str
    default: Rule
    taken_branch: float
    rules: tuple[Rule, ...]
    pairing: str = "none"
    predicts: str = "none"
    measured: tuple[float, float] | tuple[()] = ()
    measured_on: str = ""
    published: bool = True
    _found: dict[tuple[str, str], Rule] = field(default_factory=dict, compare=False, repr=False)
    timed: dict[Any, tuple[float, float]] = field(default_factory=dict, compare=False, repr=False)  # see estimate.py

    def rule(self, instruction: MachineInstruction) -> Rule:
        text = instruction.mnemonic, instruction.operands
        if text not in self._found:
            self._found[text] = next((rule for rule in self.rules if rule.holds(instruction)), self.default)
        return self._found[text]


@dataclass
class Pipeline:
    """The state between two instructions."""

    table: CycleTable
    next: float = 0  # the first cycle in which a new instruction may start
    _group: float = 0  # the cycle in which the last one started
    _first: Rule | None = None  # the one that started then alone, and may have a partner
    _first_short: bool = False
    _before: Rule | None = None
    _ready: dict[str, float] = field(default_factory=dict)
    _free: dict[str, float] = field(default_factory=dict)

    def run(self, code: Iterable[tuple[MachineInstruction, bool]]) -> float:
        """Executes instructions, each with whether it has 16 bits; the cycle in which the next one may start."""
        for instruction, short in code:
            self._issue(instruction, short)
        return self.next

    def _issue(self, instruction: MachineInstruction, short: bool) -> None:
        rule, uses = self.table.rule(instruction), access(instruction)
        needed = max((self._needed(register, rule, uses) for register in uses.reads), default=-inf)
        needed = max([needed, *(self._free.get(unit, 0.0) for unit in rule.units)])
        if self._first is not None and needed <= self._group and self._pairs(self._first, rule, short):
            start = self._group
            self._first = None
        else:
            start = max(self.next, needed)
            self._group, self._first, self._first_short = start, rule, short
        taken = self._cycles(rule, instruction)
        self.next = max(self.next, start + taken)
        latency = taken if rule.latency is None else rule.latency
        if rule.swift and self._first is rule and needed < start:
            latency -= 1
        for register in uses.writes:
            self._ready[register] = start + (1 - rule.early if register in uses.updated else latency)
        for unit in rule.units:
            self._free[unit] = start + rule.busy
        self._before = rule

    def _needed(self, register: str, rule: Rule, uses: Access) -> float:
        ready = self._ready.get(register, -inf)
        if register in uses.address or register in uses.shifted:
            return ready + rule.early
        late = register in uses.sums or register in uses.stored
        return ready - rule.late if late else ready

    def _cycles(self, rule: Rule, instruction: MachineInstruction) -> float:
        if rule.per_word:
            return rule.cycles + rule.per_word * register_words(instruction.operands)
        if rule.after_memory is not None and self._before is not None and self._before.memory:
            return rule.after_memory
        return rule.cycles

    def _pairs(self, first: Rule, second: Rule, short: bool) -> bool:
        if self.table.pairing == "any":
            return first.pair != "no" and second.pair not in ("no", "first")
        if self.table.pairing == "light":
            both = self._first_short and short and "no" not in (first.pair, second.pair)
            return both and "light" in (first.pair, second.pair)
        return False
