"""Two runs next to each other: figures with their difference, operators where their names are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pilotlight.report.rows import operator_rows
from pilotlight.report.style import BAD, GOOD, HEAD, QUIET, number, table
from pilotlight.report.summary import flash_need, percent, ram_need

Run = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A number from both runs; None if one of them lacks it. Less is better unless `better` says otherwise."""

    name: str
    a: float | None
    b: float | None
    form: str = "count"  # or "share" of samples, "dB" of signal over noise
    better: str = "less"  # "more", or "" where neither is

    @property
    def change(self) -> float | None:
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def tone(self) -> str:
        """Whether b is better than a."""
        if not self.change or not self.better:
            return ""
        return "good" if (self.change < 0) == (self.better == "less") else "bad"

    def shown(self, value: float | None) -> str:
        if value is None:
            return "-"
        return percent(value) if self.form == "share" else f"{value:.1f} dB" if self.form == "dB" else f"{value:,.0f}"

    @property
    def change_text(self) -> str:
        change = self.change
        if change is None:
            return ""
        if change == 0:
            return "the same"
        if self.form == "share":
            return f"{100 * change:+.2f} points"
        return f"{change:+.1f} dB" if self.form == "dB" else f"{change:+,.0f}"

    @property
    def change_share(self) -> str:
        if self.form != "count" or not self.change or not self.a:
            return ""
        return f"{100 * self.change / self.a:+.1f}%"

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "a": self.a, "b": self.b, "change": self.change}


@dataclass(frozen=True)
class FigurePair:
    """An operator in both runs, or in one of them."""

    a: dict[str, Any] | None
    b: dict[str, Any] | None
    cost: Figure

    @property
    def what(self) -> str:
        return self._both("what")

    @property
    def type(self) -> str:
        return self._both("type").replace("->", "→")

    def _both(self, key: str) -> str:
        """Of a, and of b where it differs."""
        return " → ".join(dict.fromkeys(row[key] for row in (self.a, self.b) if row))

    @property
    def module(self) -> str:
        return str((self.a or self.b or {})["module"] or "")

    @property
    def only(self) -> str:
        return "" if self.a and self.b else "only in a" if self.a else "only in b"

    def as_dict(self) -> dict[str, Any]:
        keys = ("index", "what", "type", "module", "instructions", "macs")
        a, b = ({key: row[key] for key in keys} if row else None for row in (self.a, self.b))
        return {"a": a, "b": b, "change": self.cost.change}


@dataclass(frozen=True)
class Versus:
    names: tuple[str, str]  # of the files
    runs: tuple[Run, Run]
    figures: list[Figure]
    pairs: list[FigurePair]
    unit: str  # of an operator's cost
    settings: list[tuple[str, str, str]]  # differences in set-up: name, a, b

    @property
    def largest(self) -> float:
        """The cost of the most expensive operator of both."""
        return max((cost for pair in self.pairs for cost in (pair.cost.a, pair.cost.b) if cost), default=1)

    def as_dict(self) -> dict[str, Any]:
        return {
            "a": self.names[0], "b": self.names[1],
            "settings": [{"name": name, "a": a, "b": b} for name, a, b in self.settings],
            "figures": [figure.as_dict() for figure in self.figures],
            "unit": self.unit, "operators": [pair.as_dict() for pair in self.pairs],
        }


def versus(names: tuple[str, str], a: Run, b: Run) -> Versus:
    """Operators are compared by instructions where both runs counted them, else by MACs."""
    unit = "instructions" if a["operators"] and b["operators"] else "macs"
    rows = _matched(operator_rows(a), operator_rows(b))
    pairs = [FigurePair(left, right, Figure(unit, _get(left, unit), _get(right, unit))) for left, right in rows]
    return Versus(names, (a, b), _figures(a, b), pairs, unit, _settings(a, b))


def _get(row: dict[str, Any] | None, key: str) -> int | None:
    return row[key] if row else None


def _figures(a: Run, b: Run) -> list[Figure]:
    def figure(name: str, get: Callable[[Run], Any], **more: str) -> Figure:
        return Figure(name, get(a), get(b), **more)

    found = [
        figure("accuracy", lambda run: run["accuracy"] and run["accuracy"]["board"], form="share", better="more"),
        figure("signal over noise", _worst_noise, form="dB", better="more"),
        figure("instructions", lambda run: run["instructions"]),
        figure("cycles, estimated", lambda run: run["cycles_estimate"]),
        figure("MACs", lambda run: run["macs_executed"], better=""),
        figure("flash", lambda run: flash_need(run["flash"])),
        *(Figure(f"flash: {part}", a["flash"][part], b["flash"][part]) for part in ("code", "weights")),
        figure("RAM", lambda run: ram_need(run["ram"])),
        *(Figure(f"RAM: {part}", a["ram"][part], b["ram"][part])
          for part in ("arena", "state", "static", "stack", "weights")),
    ]
    return [f for f in found if f.a or f.b]


def _worst_noise(run: Run) -> float | None:
    return min((decibels for decibels in run["snr_db"] or () if decibels is not None), default=None)


def _settings(a: Run, b: Run) -> list[tuple[str, str, str]]:
    """The differences in set-up."""
    def flat(run: Run) -> dict[str, Any]:
        made = run["made"]
        return {"model": run["name"], "board": run["board"], **made["options"], **made["versions"]}

    left, right = flat(a), flat(b)
    return [(key.replace("_", " "), _said(left.get(key)), _said(right.get(key)))
            for key in dict.fromkeys([*left, *right]) if left.get(key) != right.get(key)]


def _said(value: Any) -> str:
    return "-" if value is None else "no" if value is False else "yes" if value is True else str(value)


Row = dict[str, Any]


def _matched(a: list[Row], b: list[Row]) -> list[tuple[Row | None, Row | None]]:
    """Rows of the same module and kind, then those of the same module, in a's order; what only b has comes
    after b's row before it."""
    other = _paired(a, b, lambda row: (row["module"], row["group"]))
    free = {row["index"] for row in other.values()}
    left_a, left_b = [r for r in a if r["index"] not in other and r["module"]], [r for r in b if r["index"] not in free]
    other |= _paired(left_a, left_b, lambda row: row["module"])
    of = {row["index"]: index for index, row in other.items()}  # b's index to a's
    alone: dict[int | None, list[Row]] = {}
    last = None
    for row in b:
        if row["index"] in of:
            last = of[row["index"]]
        else:
            alone.setdefault(last, []).append(row)
    rows: list[tuple[Row | None, Row | None]] = [(None, row) for row in alone.get(None, ())]
    for row in a:
        rows += [(row, other.get(row["index"])), *((None, single) for single in alone.get(row["index"], ()))]
    return rows


def _paired(a: list[Row], b: list[Row], name: Callable[[Row], Any]) -> dict[int, Row]:
    """By a's index, the row of b that has the same name and is the same one of them in order."""
    keys_a, keys_b = (_numbered([name(row) for row in rows]) for rows in (a, b))
    found = dict(zip(keys_b, b, strict=True))
    return {row["index"]: found[key] for key, row in zip(keys_a, a, strict=True) if key in found}


def _numbered(names: list[Any]) -> list[tuple[Any, int]]:
    seen: Counter[Any] = Counter()
    keys = []
    for name in names:
        keys.append((name, seen[name]))
        seen[name] += 1
    return keys


def versus_tables(found: Versus) -> list[RenderableType]:
    """For a terminal: the differences in set-up, the figures, the operators."""
    shown: list[RenderableType] = [Text.assemble(("a ", HEAD), found.names[0], ("   b ", HEAD), found.names[1])]
    if found.settings:
        grid = _grid("done differently", "a", "b")
        for row in found.settings:
            grid.add_row(*row)
        shown.append(grid)
    grid = _grid("figure", "a", "b", "difference", "")
    verdicts = [Text("yes", GOOD) if run["match"] else Text("NO", BAD) for run in found.runs]
    grid.add_row("match", *verdicts, "", "")
    for figure in found.figures:
        grid.add_row(figure.name, figure.shown(figure.a), figure.shown(figure.b), *_difference(figure))
    shown.append(grid)
    unit = "instructions" if found.unit == "instructions" else "MACs"
    grid = _grid("operator", f"{unit} a", "b", "difference", "")
    grid.add_column("type", style=QUIET)
    grid.add_column("module", style=QUIET, overflow="fold")
    for pair in found.pairs:
        numbers = [number(_get(row, found.unit)) for row in (pair.a, pair.b)]
        difference = [Text(pair.only, QUIET), ""] if pair.only else _difference(pair.cost)
        grid.add_row(pair.what, *numbers, *difference, pair.type, pair.module)
    shown.append(grid)
    return shown


def _difference(figure: Figure) -> list[Text]:
    style = {"good": GOOD, "bad": BAD}.get(figure.tone, QUIET)
    return [Text(figure.change_text, style), Text(figure.change_share, style)]


def _grid(first: str, *rest: str) -> Table:
    grid = table()
    grid.add_column(first)
    for head in rest:
        grid.add_column(head, justify="right", no_wrap=True)
    return grid
