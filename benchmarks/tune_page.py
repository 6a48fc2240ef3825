"""What benchmarks/tune.py found, as a page: networks, gains, what won over what, and what was left out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pilotlight.trials.confirm import Whole

HEAD = ("board", "network", "unit", "default", "tuned", "less", "weights", "RAM", "candidates", "a minute")


@dataclass(frozen=True)
class Size:
    """A network on a board: cycles or instructions of a run, bytes of weights and of RAM."""

    cost: int
    weights: int
    ram: int

    @staticmethod
    def of(whole: Whole) -> Size:
        ram = sum(int(whole.figures["ram"][name]) for name in ("arena", "state", "static"))
        return Size(whole.cost, int(whole.figures["flash"]["weights"]), ram)


@dataclass(frozen=True)
class Row:
    """A network on a board without and with the measurements."""

    board: str
    network: str
    unit: str
    before: Size
    after: Size
    known: int  # candidates, now or before
    candidates: int
    measured: int  # in this run
    seconds: float
    won: frozenset[str]  # kernels that took the place of the usual ones

    @property
    def ratio(self) -> float:
        return self.after.cost / self.before.cost

    def cells(self) -> list[str]:
        return [
            self.board, self.network, self.unit, f"{self.before.cost:,}", f"{self.after.cost:,}",
            f"{100 * (1 - self.ratio):.1f} %", _changed(self.before.weights, self.after.weights),
            _changed(self.before.ram, self.after.ram), f"{self.known:,} of {self.candidates:,}",
            _rate(self.measured, self.seconds),
        ]


@dataclass
class Page:
    """All that was found so far."""

    weights: str  # whose they are
    limit: str  # what was measured
    rows: list[Row] = field(default_factory=list)
    fixed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # networks without a choice: boards
    left_out: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def markdown(self, order: Sequence[str]) -> str:
        """Boards in an order."""
        by_board: dict[str, list[Row]] = {board: [] for board in order}
        for row in self.rows:
            by_board.setdefault(row.board, []).append(row)
        rows = [row for some in by_board.values() for row in some]
        lines = ["# Measured kernels", "", *self._head(), ""]
        lines += ["| " + " | ".join(HEAD) + " |", "|" + "---|" * 3 + "---:|" * (len(HEAD) - 3)]
        lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
        lines += ["", "| board | networks | less, geometric mean | least | most | measured now | a minute |",
                  "|---|" + "---:|" * 6]
        lines += [_board_line(board, some) for board, some in by_board.items() if some]
        lines += ["", "What won over what, and in how many networks (sizes left out):", "", *_winners(rows)]
        lines += _section("These networks have no layer with a choice of kernels, so they are not counted:",
                          [f"{network} on {', '.join(boards)}" for network, boards in self.fixed.items()])
        lines += _section("Left out:", self.left_out)
        lines += _section("Outputs did not match, so these are not counted:", self.wrong)
        return "\n".join(lines) + "\n"

    def _head(self) -> list[str]:
        names = list(dict.fromkeys(row.network for row in self.rows))
        return [
            f"One run of `make bench-tune` with {len(names)} int8 networks ({', '.join(names)}): {self.weights};",
            "no budget. What [`--tuned`](../docs/tuning.md) brings.",
            f"{self.limit} are measured, those that layers of several networks share once, by the first of them.",
            "Outputs matched in the same run, with and without. RAM is arena, state and static data; the last columns",
            "count the candidates that were measured in a minute, with the time that processes take to start.",
        ]


def mean_ratio(rows: Iterable[Row]) -> float:
    """The geometric mean of what is left."""
    logs = [math.log(row.ratio) for row in rows]
    return math.exp(sum(logs) / len(logs))


def kind(name: str) -> str:
    """A kernel without its sizes: dsp.conv.wide.p12 is dsp.conv.wide.p."""
    return ".".join(part.rstrip("0123456789") for part in name.split("."))


def _board_line(board: str, rows: Sequence[Row]) -> str:
    ratios = [row.ratio for row in rows]
    less = (f"{100 * (1 - ratio):.1f} %" for ratio in (mean_ratio(rows), max(ratios), min(ratios)))
    measured, seconds = sum(row.measured for row in rows), sum(row.seconds for row in rows)
    return f"| {board} | {len(rows)} | {' | '.join(less)} | {measured:,} | {_rate(measured, seconds)} |"


def _winners(rows: Sequence[Row]) -> list[str]:
    """What happened in most networks first."""
    counted = Counter((row.board, change) for row in rows for change in row.won)
    networks = Counter(row.board for row in rows)
    ordered = sorted(counted.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    return [f"- {board}: {change}: {times} of {networks[board]}" for (board, change), times in ordered]


def _section(head: str, lines: Sequence[str]) -> list[str]:
    return ["", head, "", *(f"- {line}" for line in lines)] if lines else []


def _changed(before: int, after: int) -> str:
    return " → ".join(f"{n:,}" for n in dict.fromkeys((before, after)))


def _rate(measured: int, seconds: float) -> str:
    return f"{60 * measured / seconds:,.0f}" if measured and seconds else ""
