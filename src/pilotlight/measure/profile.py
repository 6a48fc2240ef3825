"""Where the time goes: counts of each step joined with the operator it came from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pilotlight.device.counts import Counts
from pilotlight.errors import PilotlightError
from pilotlight.measure.estimate import Cycles, estimate, load_table, readable
from pilotlight.measure.timing import Timing, timing
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.disassembly import disassemble


@dataclass(frozen=True)
class ProfileRow:
    """One operator in one inference; cycles is None where the board has no table of timings."""

    index: int
    label: str
    op: str
    module: str | None
    source: str | None
    instructions: int
    cycles: int | None
    macs: int


@dataclass(frozen=True)
class Profile:
    """The first run. Rows add up to the totals exactly."""

    rows: tuple[ProfileRow, ...]
    instructions: int
    cycles: int | None
    timing: Timing | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def profile(build: BuildInfo, counts: Counts) -> Profile:
    if not counts.runs:
        raise PilotlightError("nothing was run, so there is nothing to profile", kind="usage")
    first = counts.runs[0]
    found = _cycles(build, counts)
    steps, time = found if found else ((), None)
    ops = {op["index"]: op for op in build.folder.ops}
    rows = []
    for index, instructions in enumerate(first):
        op = ops.get(index, {})
        rows.append(
            ProfileRow(
                index=index,
                label=op.get("label") or f"step {index}",
                op=op.get("op") or "",
                module=op.get("module"),
                source=op.get("source"),
                instructions=instructions,
                cycles=steps[index].estimate if steps else None,
                macs=op.get("macs") or 0,
            )
        )
    return Profile(tuple(rows), sum(first), time.cycles if time else None, time)


def cycles_estimate(build: BuildInfo, counts: Counts | None) -> int | None:
    """Cycles of the first run, None where there is no table or nothing was counted."""
    found = _cycles(build, counts) if counts and counts.runs else None
    return found[1].cycles if found else None


def _cycles(build: BuildInfo, counts: Counts) -> tuple[tuple[Cycles, ...], Timing] | None:
    if build.board.cycles is None or build.image is None or build.toolchain is None:
        return None
    code, table = disassemble(build.toolchain, build.image), load_table(build.board.cycles)
    if not readable(counts, code):
        return None
    steps = estimate(counts, code, table)
    return steps, timing(build, counts, code, table, steps)
