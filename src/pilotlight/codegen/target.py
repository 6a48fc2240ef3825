"""What the code generator has to know about a core."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.boards import Board


@dataclass(frozen=True)
class Target:
    """The features that choose kernels; a board names them in its TOML file."""

    isa: frozenset[str] = frozenset()
    fused: bool = False  # a fused multiply-add costs no more than a multiply and an add
    small: bool = False  # little code counts more than speed
    measured: bool = False  # also kernels whose worth only measurements show
    hides_loads: bool = False  # loads cost least between products that do not need them, not one after another

    @staticmethod
    def of(board: Board, small: bool = False, measured: bool = False) -> Target:
        return Target(board.isa, board.fused, small, measured, board.hides_loads)

    @property
    def float_assembly(self) -> bool:
        """Whether the generated float micro-kernels run on this core."""
        return {"thumb2", "fpu32"} <= self.isa
