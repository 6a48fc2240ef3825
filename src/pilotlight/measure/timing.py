"""How long an inference takes on a board: cycles of the core, waits for its memories, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pilotlight.boards.board import MemorySpeed
from pilotlight.device.counts import Counts
from pilotlight.measure.estimate import Cycles
from pilotlight.measure.pipeline import CycleTable
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.disassembly import Disassembly

_LOAD = re.compile(r"v?ldr|v?ldm|v?pop|vld[24]|l[bhw]u?$")


@dataclass(frozen=True)
class Waits:
    """Cycles that the core waits for the memories of code and weights. rule: "once", each line of them is fetched once
    an inference; "cached", they fit into the cache together, and nothing waits after the first inference; "uncached",
    each line of code waits whenever it is executed. most: if every fetch and every load had to wait."""

    cycles: int
    most: int
    rule: str
    memories: tuple[dict[str, Any], ...]  # name, waits, line, cache and source of each that lets the core wait


@dataclass(frozen=True)
class Timing:
    """core, sources, published, measured: of the table of cycles. least, most: cycles of the core where instructions
    depend on numbers, widened by what estimates were off where software was measured."""

    core: str
    sources: str
    published: bool
    measured: tuple[float, ...]
    measured_on: str
    cycles: int
    least: int
    most: int
    waits: Waits | None
    clock_hz: int | None

    @property
    def total(self) -> int:
        return self.cycles + (self.waits.cycles if self.waits else 0)

    @property
    def seconds(self) -> float | None:
        return self.total / self.clock_hz if self.clock_hz else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "total": self.total, "seconds": self.seconds}


def timing(build: BuildInfo, counts: Counts, code: Disassembly, table: CycleTable, steps: Iterable[Cycles]) -> Timing:
    rows = tuple(steps)
    cycles = sum(row.estimate for row in rows)
    low, high = min((0.0, *table.measured)), max((0.0, *table.measured))
    return Timing(
        core=table.core, sources=table.sources, published=table.published,
        measured=table.measured, measured_on=table.measured_on,
        cycles=cycles,
        least=round(sum(row.least for row in rows) / (1 + high)),
        most=round(sum(row.most for row in rows) / (1 + low)),
        waits=waits(build, counts, code, cycles),
        clock_hz=build.board.clock_hz,
    )


def waits(build: BuildInfo, counts: Counts, code: Disassembly, cycles: int) -> Waits | None:
    """None where the board's file says nothing of its memories."""
    board, place = build.board, build.place
    if place is None:
        return None
    in_code, in_weights = board.memory(place.code).speed, board.memory(place.weights).speed
    if in_code is None and in_weights is None:
        return None
    names = tuple(dict.fromkeys((place.code, place.weights)))
    shown = tuple({"name": name, **asdict(speed)} for name in names if (speed := board.memory(name).speed))
    rule, waited, fetches = code_waits(counts, code, in_code, cycles, build.sizes.weights if len(names) == 1 else 0)
    if in_weights and rule != "cached":
        waited += -(-build.sizes.weights // in_weights.line) * in_weights.waits
    loads = sum(s.times * _loads(code, s.address, s.instructions) for s in counts.segments)
    longest = max(speed.waits for speed in (in_code, in_weights) if speed)
    return Waits(waited, fetches + loads * longest, rule, shown)


def code_waits(
    counts: Counts, code: Disassembly, speed: MemorySpeed | None, cycles: int, weights: int = 0
) -> tuple[str, int, int]:
    """The rule, cycles that fetching code waits by it, and if every fetch waited. cycles: of the core, for the same
    code. weights: bytes that share the cache.

    Prefetching brings a line while the one before is executed; where a branch leads, it starts anew."""
    if speed is None:
        return "once", 0, 0
    fetches, lines = _fetches(counts, code, speed)
    most = fetches * speed.waits
    if lines * speed.line + weights <= speed.cache:
        return "cached", 0, most
    hidden = min(speed.waits, max(0.0, cycles / fetches - 1)) if speed.prefetch and fetches else 0.0
    if speed.cache:
        return "once", round(lines * (speed.waits - hidden)), most
    taken = sum(segment.taken for segment in counts.segments)
    return "uncached", round(most - hidden * max(0, fetches - taken)), most


def _fetches(counts: Counts, code: Disassembly, speed: MemorySpeed) -> tuple[int, int]:
    """Lines of code fetched by every piece each time it runs, and lines that are fetched at all."""
    fetches, lines = 0, set[int]()
    for segment in counts.segments:
        last = code.instructions[code.index[segment.address] + segment.instructions - 1].address
        spanned = range(segment.address // speed.line, last // speed.line + 1)
        fetches += segment.times * len(spanned)
        lines.update(spanned)
    return fetches, len(lines)


def _loads(code: Disassembly, address: int, instructions: int) -> int:
    first = code.index[address]
    return sum(1 for i in code.instructions[first : first + instructions] if _LOAD.match(i.mnemonic))

