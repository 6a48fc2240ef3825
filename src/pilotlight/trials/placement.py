"""Memories as a choice: which placement of a model's weights and code has the fewest estimated cycles, with waits.

Cycles of the core are the same everywhere; what differs is how long it waits for a memory, which board files say
(`speed`). So one counted run is enough to compare placements, and the best one is run to confirm it.

What is not tried, because no estimate knows it: the arena in another memory, whose waits are not counted; a memory
that the board's file says nothing about, unless the board uses it anyway; code in a RAM that cores with several buses
read through that of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pilotlight.boards import Board, Memory, Placement
from pilotlight.device.counts import Counts
from pilotlight.measure.timing import waits
from pilotlight.options import Options
from pilotlight.toolchain import BuildInfo, MemoryUse
from pilotlight.toolchain.disassembly import Disassembly, disassemble
from pilotlight.toolchain.fit import memory_use
from pilotlight.tune.places import Place

WORTH = 0.01  # fewer cycles than with less RAM, as a share
ONE_BUS = ("cortex-m0", "cortex-m0plus")  # for code and data: code may be in any RAM
CODE_REGION = 0x2000_0000  # other Cortex-M cores fetch from below here without getting in the way of loads


@dataclass(frozen=True)
class Part:
    """An entry point that was run and counted, with the cycles of its core."""

    info: BuildInfo
    counts: Counts
    cycles: int


@dataclass(frozen=True)
class Tried:
    place: Place
    moved: int  # bytes of RAM that it takes
    cycles: int  # estimated, with waits


@dataclass(frozen=True)
class Placements:
    """What was compared, the board's own placement first; the best one; or why there is nothing to compare."""

    tried: tuple[Tried, ...] = ()
    best: Place | None = None
    reason: str | None = None

    def as_dict(self, board: Board) -> dict[str, Any]:
        """For `tune --json`: memories by name, and estimated cycles with waits."""
        usual = board.placement()
        rows = [
            {"weights": one.place.weights or usual.weights, "code": one.place.code or usual.code, "ram": one.moved,
             "cycles": one.cycles, "chosen": (one.place.weights, one.place.code) == self.chosen}
            for one in self.tried
        ]
        return {"text": self.best.text if self.best else None, "reason": self.reason, "arena": usual.arena,
                "tried": rows, "gain": 1 - self.best.cycles[1] / self.best.cycles[0] if self.best else 0.0}

    @property
    def chosen(self) -> tuple[str, str]:
        return (self.best.weights, self.best.code) if self.best else ("", "")


def compare_placements(parts: list[Part], board: Board, options: Options) -> Placements:
    """Every placement that has room, by the waits of all parts."""
    reason = incomparable(board, options) or (None if parts else "nothing was counted")
    if reason is not None:
        return Placements(reason=reason)
    info = parts[0].info
    assert info.place is not None and info.toolchain is not None and info.image is not None
    code = disassemble(info.toolchain, info.image)
    usual = _tried(parts, info.place, code)
    others = [_tried(parts, place, code) for place in _placements(info, options)]
    best = usual
    for one in sorted(others, key=lambda tried: (tried.moved, tried.cycles)):
        if one.cycles < best.cycles * (1 - WORTH):
            best = one
    if best is usual:
        why = "saves a hundredth of the estimated cycles" if others else "has room"
        return Placements((usual, *others), None, f"no other placement {why}")
    return Placements((usual, *others), replace(best.place, cycles=(usual.cycles, best.cycles)))


def incomparable(board: Board, options: Options) -> str | None:
    """Why estimates cannot tell placements apart, if they cannot."""
    if options.weights_in is not None or options.arena_in is not None:
        return "--weights-in or --arena-in says where the model is"
    if board.cycles is None:
        return f"{board.name} has no table of cycles, so waits cannot be compared with anything"
    usual = board.placement()
    if all(board.memory(name).speed is None for name in (usual.code, usual.weights)):
        where = " and ".join(dict.fromkeys((usual.code, usual.weights)))
        return (
            f"the file of board {board.name} says of no `speed` of {where}, so estimates cannot tell placements apart"
        )
    return None


def _placements(info: BuildInfo, options: Options) -> Iterator[Placement]:
    """All but the board's own that there is room for."""
    board, usual = info.board, info.place
    assert usual is not None
    weights = [usual.weights, *(m.name for m in board.memories if _known(board, m) and m.name != usual.weights)]
    code = [usual.code, *(m.name for m in board.memories if _takes_code(board, m) and m.name != usual.code)]
    for in_weights, in_code in product(weights, code):
        place = replace(usual, weights=in_weights, code=in_code)
        if place != usual and _has_room(info, place, options):
            yield place


def _known(board: Board, memory: Memory) -> bool:
    """Whether its waits are known: a memory that the board uses anyway counts as one that never waits."""
    usual = board.placement()
    return memory.speed is not None or memory.name in (usual.code, usual.weights, usual.arena, usual.stack)


def _takes_code(board: Board, memory: Memory) -> bool:
    fetched = board.cpu in ONE_BUS or (board.cpu.startswith("cortex-m") and memory.base < CODE_REGION)
    return memory.kind == "ram" and _known(board, memory) and fetched


def _has_room(info: BuildInfo, place: Placement, options: Options) -> bool:
    """Half of what is free in a memory that other things use is theirs, unless the user has set a limit."""
    usual = info.place
    assert usual is not None
    before = {use.name: use for use in _uses(info, usual)}
    for use in _uses(info, place):
        more = use.used - before[use.name].used
        free = use.size - before[use.name].used
        shared = use.name in (usual.arena, usual.stack) and options.max_ram is None
        if more > 0 and more > (free // 2 if shared else free):
            return False
    if options.max_ram is None:
        return True
    needed = sum(size or 0 for size in info.ram.values()) + _moved(info, place)
    return needed <= options.max_ram


def _uses(info: BuildInfo, place: Placement) -> tuple[MemoryUse, ...]:
    return memory_use(info.board, place, info.folder, replace(info.sizes, harness=0), info.stack)


def _moved(info: BuildInfo, place: Placement) -> int:
    """Bytes of weights and code that are in RAM now and were not before."""
    usual, board = info.place, info.board
    assert usual is not None

    def more(before: str, after: str, size: int) -> int:
        return size if board.memory(after).kind == "ram" and board.memory(before).kind != "ram" else 0

    code = (info.sizes.code or 0) + info.sizes.tables
    return more(usual.weights, place.weights, info.sizes.weights - info.sizes.tables) + more(
        usual.code, place.code, code)


def _tried(parts: list[Part], place: Placement, code: Disassembly) -> Tried:
    total = 0
    for part in parts:
        waited = waits(replace(part.info, place=place), part.counts, code, part.cycles)
        total += part.cycles + (waited.cycles if waited is not None else 0)
    info = parts[0].info
    assert info.place is not None
    named = Place(
        place.weights if place.weights != info.place.weights else "",
        place.code if place.code != info.place.code else "",
    )
    return Tried(named, _moved(info, place), total)
