"""Cycle estimates: the code that was executed, timed with a core's published figures, memory without waits.

The tables are cycles/CORE.toml; a board names its table, and a board without one has no estimate.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pilotlight.device.counts import Counts, Segment
from pilotlight.errors import PilotlightError
from pilotlight.measure.pipeline import CycleTable, Pipeline, Rule
from pilotlight.measure.registers import untargeted
from pilotlight.toolchain.disassembly import Disassembly, MachineInstruction

_TABLES = Path(__file__).parent / "cycles"
_CONDITIONAL = re.compile(
    r"b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)(\.[nw])?$|cbn?z|b(eq|ne|lt|ge|gt|le)(z|u)?$|b(lt|ge)u$"
)

_MOST_TIMED = 4096  # pieces of code that are remembered
_ROUNDS = 4  # of a loop, so that two instructions may start together across its end in every other round


@cache
def load_table(name: str) -> CycleTable:
    path = _TABLES / f"{name}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in _TABLES.glob("*.toml")))
        raise PilotlightError(f"cycles: no table named {name!r}; there are: {known}", kind="bad-board")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    rules = tuple(_rule(row) for row in data.pop("rule"))
    measured = tuple(data.pop("measured", ()))
    return CycleTable(name, rules=rules, default=Rule(re.compile("")), measured=measured, **data)


def _rule(row: dict[str, Any]) -> Rule:
    operands = row.pop("operands", None)
    return Rule(
        match=re.compile(f"(?:{row.pop('match')})"),
        operands=None if operands is None else re.compile(operands),
        units=tuple(row.pop("units", ())),
        **row,
    )


@dataclass(frozen=True)
class Cycles:
    """Of one step: the estimate, and the least and the most where instructions take a time that depends on numbers."""

    estimate: int = 0
    least: int = 0
    most: int = 0


def estimate(counts: Counts, code: Disassembly, table: CycleTable) -> tuple[Cycles, ...]:
    """Cycles of each step in the first run."""
    sums = [[0.0, 0.0, 0.0] for _ in counts.runs[0]]
    for segment in counts.segments:
        for k, cycles in enumerate(_segment(segment, code, table)):
            sums[segment.step][k] += cycles
    return tuple(Cycles(*(round(value) for value in row)) for row in sums)


def readable(counts: Counts, code: Disassembly) -> bool:
    """Whether every instruction that ran has a name: the library that reads code where there is no objdump lacks some
    extensions."""
    for segment in counts.segments:
        first = code.index.get(segment.address)
        if first is None or not all(i.mnemonic for i in code.instructions[first : first + segment.instructions]):
            return False
    return True


def _segment(segment: Segment, code: Disassembly, table: CycleTable) -> tuple[float, float, float]:
    """One piece, as often as it ran: its instructions, then its branch.

    It is timed after the instruction before it in memory: where control comes from elsewhere, that one is a branch or
    the end of another function. A piece that is a whole loop is timed in its next rounds, except when entered.
    """
    first = code.index[segment.address]
    last = first + segment.instructions
    inside = code.instructions[first:last]
    loops = inside[-1].target == segment.address
    once, again = _timed(code, first, last, loops, table)
    rounds = segment.taken if loops else 0
    total = (segment.times - rounds) * once + rounds * again + _branches(segment, inside[-1], loops, table)
    rules = [table.rule(instruction) for instruction in inside]
    least = sum(rule.least - rule.cycles for rule in rules if rule.least is not None)
    most = sum(rule.most - rule.cycles for rule in rules if rule.most is not None)
    return total, total + segment.times * least, total + segment.times * most


def _timed(code: Disassembly, first: int, last: int, loops: bool, table: CycleTable) -> tuple[float, float]:
    """Cycles of some instructions, once and in the next rounds of a loop. Code that is the same but for the places that
    it branches to takes the same: what many kernels have in common is timed once."""
    rows = [(code.instructions[k], _is_short(code, k)) for k in range(max(0, first - 1), last)]
    key = loops, first > 0, *(
        (i.mnemonic, i.operands, short) if i.target is None else (i.mnemonic, untargeted(i), short, id(table.rule(i)))
        for i, short in rows
    )
    if key not in table.timed:
        body = rows[1:] if first else rows
        pipeline = Pipeline(table)
        start = pipeline.run(rows[:1]) if first else 0.0
        after = pipeline.run(body)
        once = after - start
        again = (pipeline.run(body * _ROUNDS) - after) / _ROUNDS if loops else once
        if len(table.timed) >= _MOST_TIMED:
            table.timed.clear()
        table.timed[key] = once, again
    return table.timed[key]


def _branches(segment: Segment, branch: MachineInstruction, loops: bool, table: CycleTable) -> float:
    """What the pipeline loses where the next instruction executed is not the next in memory, or was not expected."""
    rule, missed = table.rule(branch), segment.times - segment.taken
    cost = table.taken_branch if rule.taken is None else rule.taken
    if table.predicts == "branches":
        return min(segment.taken, missed) * cost if _CONDITIONAL.match(branch.mnemonic) else 0.0
    if table.predicts == "loops" and loops:
        return min(segment.taken, 2 * missed) * cost  # the first time round and the last
    return segment.taken * cost


def _is_short(code: Disassembly, index: int) -> bool:
    """Whether an instruction has 16 bits; the last one before a literal pool counts as long."""
    rows = code.instructions
    return index + 1 < len(rows) and rows[index + 1].address - rows[index].address == 2
