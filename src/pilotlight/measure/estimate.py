"""Cycle estimates: counted instructions weighted with a core's published timings.

The tables are cycles/CORE.toml; a board names its table, and a board without one has no estimate.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pilotlight.device.counts import Counts
from pilotlight.errors import PilotlightError
from pilotlight.toolchain.disassembly import Disassembly, MachineInstruction
from pilotlight.toolchain.flow import register_words

_TABLES = Path(__file__).parent / "cycles"


@dataclass(frozen=True)
class Rule:
    match: re.Pattern[str]
    cycles: int
    after_memory: int
    per_word: int
    memory: bool


@dataclass(frozen=True)
class CycleTable:
    default: int
    taken_branch: int
    rules: tuple[Rule, ...]

    def rule(self, instruction: MachineInstruction) -> Rule | None:
        return next((rule for rule in self.rules if rule.match.match(instruction.mnemonic)), None)

    def cycles(self, instruction: MachineInstruction, before: MachineInstruction | None) -> int:
        """Of one instruction, given the one executed before it."""
        rule = self.rule(instruction)
        if rule is None:
            return self.default
        if rule.per_word:
            return rule.cycles + rule.per_word * register_words(instruction.operands)
        previous = self.rule(before) if before else None
        return rule.after_memory if previous and previous.memory else rule.cycles


def load_table(name: str) -> CycleTable:
    path = _TABLES / f"{name}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in _TABLES.glob("*.toml")))
        raise PilotlightError(f"cycles: no table named {name!r}; there are: {known}", kind="bad-board")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    rules = tuple(
        Rule(
            match=re.compile(f"(?:{row['match']})"),
            cycles=row["cycles"],
            after_memory=row.get("after_memory", row["cycles"]),
            per_word=row.get("per_word", 0),
            memory=row.get("memory", False),
        )
        for row in data["rule"]
    )
    return CycleTable(data["default"], data["taken_branch"], rules)


def estimate(counts: Counts, code: Disassembly, table: CycleTable) -> tuple[int, ...]:
    """Cycles of each step in the first run.

    A segment's first instruction is paired with the one before it in memory: where control comes from
    elsewhere, that one is a branch or the end of another function, and no load or store.
    """
    cycles = [0] * len(counts.runs[0])
    for segment in counts.segments:
        first = code.index[segment.address]
        inside = code.instructions[first : first + segment.instructions]
        before = code.instructions[first - 1] if first else None
        once = 0
        for instruction in inside:
            once += table.cycles(instruction, before)
            before = instruction
        cycles[segment.step] += segment.times * once + segment.taken * table.taken_branch
    return tuple(cycles)
