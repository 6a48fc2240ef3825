"""What an inference takes from a battery, from the board's published currents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.measure.timing import Timing

_HOURS_A_DAY = 24


@dataclass(frozen=True)
class Energy:
    """Of one inference `every` so many seconds, of `seconds` each; the chip sleeps in between. days: on a battery of so
    many milliampere-hours, where one is given. The chip alone: no sensor, no radio, no self-discharge."""

    every: float
    seconds: float
    active_microamps: float
    sleep_microamps: float
    volts: float
    source: str
    battery_mah: float | None = None

    @property
    def microjoules(self) -> float:
        return self.active_microamps * self.volts * self.seconds

    @property
    def mean_microamps(self) -> float:
        awake = self.seconds / self.every
        return self.active_microamps * awake + self.sleep_microamps * (1 - awake)

    @property
    def days(self) -> float | None:
        return None if self.battery_mah is None else 1000 * self.battery_mah / self.mean_microamps / _HOURS_A_DAY

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self), "microjoules": self.microjoules, "mean_microamps": self.mean_microamps, "days": self.days
        }


def energy(board: Board, timing: Timing | None, every: float, battery_mah: float | None = None) -> Energy:
    """Refuses what cannot be known."""
    if board.power is None or board.clock_hz is None:
        raise PilotlightError(
            f"--every: board {board.name} has no currents in its file, so there is no energy to tell",
            hint="add [power] with a source to a board file: docs/adding-a-board.md", kind="no-power",
        )
    if timing is None or timing.seconds is None:
        raise PilotlightError(
            f"--every: how long an inference takes on {board.name} is not known",
            hint="cycles are in its file, and the model has to fit and run", kind="no-time",
        )
    if timing.seconds > every:
        raise PilotlightError(
            f"--every {every:g}s: an inference takes {timing.seconds:.3g} s, so the next would begin before it ends",
            where=f"board {board.name}", hint="give a longer time", kind="usage",
        )
    power = board.power
    return Energy(
        every, timing.seconds, power.microamps_per_mhz * board.clock_hz / 1e6, power.sleep_microamps, power.volts,
        power.source, battery_mah,
    )
