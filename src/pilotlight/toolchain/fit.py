"""Does it fit: what each memory of a board has to hold."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.boards import Board, Placement
from pilotlight.errors import DoesNotFitError
from pilotlight.toolchain.folder import ModelFolder
from pilotlight.toolchain.sizes import Sizes


@dataclass(frozen=True)
class MemoryUse:
    name: str
    kind: str
    size: int
    used: int

    @property
    def over(self) -> int:
        return max(0, self.used - self.size)


def memory_use(
    board: Board, place: Placement, folder: ModelFolder, sizes: Sizes, stack: int | None
) -> tuple[MemoryUse, ...]:
    """Bytes in every memory of the board; what is unknown (code without a compiler) counts as nothing."""
    used = dict.fromkeys((m.name for m in board.memories), 0)
    used[place.code] += (sizes.code or 0) + sizes.tables + (sizes.harness or 0)
    used[place.weights] += sizes.weights - sizes.tables
    used[place.arena] += folder.arena_bytes + folder.state_bytes
    used[place.stack] += (stack or 0) + sizes.static
    return tuple(MemoryUse(m.name, m.kind, m.size, used[m.name]) for m in board.memories)


def check_fit(board: Board, uses: tuple[MemoryUse, ...]) -> None:
    overflows = {use.name: use.over for use in uses if use.over}
    if overflows:
        raise DoesNotFitError(overflows, where=f"board {board.name}")
