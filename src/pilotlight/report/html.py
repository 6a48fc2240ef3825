"""The HTML report: one file, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from pilotlight import __version__
from pilotlight.compiler import Build
from pilotlight.graph import Value
from pilotlight.ops.describe import describe_op, describe_shapes
from pilotlight.report.comparison import layer_text
from pilotlight.report.memory_map import memory_map
from pilotlight.report.style import error_text, number, ratio, share, size
from pilotlight.report.summary import (
    accuracy_text,
    arena_text,
    cycles_text,
    flash_need,
    flash_text,
    match_text,
    noise_text,
    percent,
    ram_need,
    ram_text,
    runs_text,
)
from pilotlight.session import INTEGER_REFERENCE, Session


@dataclass(frozen=True)
class Tile:
    """One figure of the summary."""

    name: str
    value: str
    detail: str
    tone: str = ""  # "good" or "bad"


@dataclass(frozen=True)
class Part:
    """A piece of a bar; `share` is its part of the whole, in percent."""

    name: str
    bytes: int
    share: float


def write_report(session: Session, path: Path, title: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_report(session, title), encoding="utf-8")
    return path


def render_report(session: Session, title: str | None = None) -> str:
    build, result = session.build, session.as_dict()
    return _template().render(
        title=title or f"{build.name} on {build.board.name}",
        name=build.name, board=build.board, version=__version__, result=result,
        tiles=list(_tiles(result, build)), map=memory_map(build.plan), arena=arena_text(result["ram"]),
        operators=_operators(session), counted=session.profile is not None,
        has_cycles=session.profile is not None and session.profile.cycles is not None,
        flash=_parts(result["flash"], ("code", "weights", "harness")),
        ram=_parts(result["ram"], ("arena", "state", "static", "stack", "weights")),
        memory=build.info.memory, claim=_claim(result), rule=_rule(result),
        noise=[noise_text(result, k) for k in range(len(result["outputs"]))],
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pilotlight.report"), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )
    environment.filters.update(number=number, size=size, error=error_text, layer=layer_text)
    return environment.get_template("report.html.j2")


def _tiles(result: dict[str, Any], build: Build) -> Iterator[Tile]:
    yield _match_tile(result)
    if result["accuracy"]:
        right = percent(result["accuracy"]["board"])
        yield Tile("accuracy on the board", right, accuracy_text(result["accuracy"]))
    flash, ram = result["flash"], result["ram"]
    yield Tile("flash", number(flash_need(flash)), f"bytes: {flash_text(result, build.board)}")
    yield Tile("RAM", number(ram_need(ram)), f"bytes: {ram_text(result, build.board)}")
    count, macs, cycles = result["instructions"], result["macs_executed"], result["cycles_estimate"]
    per_mac = f"one inference; {ratio(count, macs)} per MAC"
    yield Tile("instructions", number(count), result["counts_reason"] or "" if count is None else per_mac)
    if cycles is not None:
        yield Tile("cycles", number(cycles), cycles_text(cycles, build.board))


def _match_tile(result: dict[str, Any]) -> Tile:
    """The verdict, with the output that comes nearest to its limit or passes it."""
    verdict, tone = ("yes", "good") if result["match"] else ("no", "bad")
    text = runs_text(result["runs"])
    if result["outputs"]:
        worst = max(range(len(result["outputs"])), key=lambda k: _worse(result, k))
        text = f"{match_text(result, worst, result['compared_with'] == INTEGER_REFERENCE)}; {text}"
    return Tile(_claim(result), verdict, text, tone)


def _claim(result: dict[str, Any]) -> str:
    """What a yes means."""
    other = result["compared_with"]
    return f"bytes equal {other}" if other == INTEGER_REFERENCE else f"matches {other}"


def _rule(result: dict[str, Any]) -> str:
    other = result["compared_with"]
    if other == INTEGER_REFERENCE:
        return (f"Bytes are compared with {other}, the same integers computed on the host. How near those come to "
                f"{result['snr_against']} is the ratio of signal to noise, in decibels.")
    return (f"An output matches when its largest distance from {other} in float64 is at most eight times PyTorch "
            "float32's own, plus 4e-6 of the largest output; infinities and NaN must be the same.")


def _worse(result: dict[str, Any], index: int) -> tuple[float, float]:
    """Nearness to the limit, then the noise of quantization."""
    decibels = (result["snr_db"] or [None] * (index + 1))[index]
    return _nearness(result["outputs"][index]), float("-inf") if decibels is None else -decibels


def _nearness(output: dict[str, Any]) -> float:
    """How much of its limit an output's distance takes; integers have no room at all."""
    error, limit = output["max_abs_error"], output["limit"]
    return float(error / limit) if limit else float("inf") if error else 0.0


def _parts(figures: dict[str, int | None], names: tuple[str, ...]) -> list[Part]:
    known = {name: size for name in names if (size := figures[name])}
    whole = sum(known.values()) or 1
    return [Part(name, size, 100 * size / whole) for name, size in known.items()]


def _operators(session: Session) -> list[dict[str, Any]]:
    """Every step with its cost; bars are relative to the most expensive one."""
    build, profile = session.build, session.profile
    seen: set[Value] = set()
    rows = []
    for index, node in enumerate(build.plan.steps):
        op = build.module.metadata["ops"][index]
        weights = [v for v in dict.fromkeys(node.inputs) if v.is_constant and v not in seen]
        seen.update(weights)
        counted = profile.rows[index] if profile else None
        count = counted.instructions if counted else None
        rows.append({
            **op, "what": describe_op(node), "shapes": describe_shapes(node).replace("->", "→"),
            "weights": sum(v.bytes for v in weights), "cost": op["macs"] if count is None else count,
            "instructions": count, "cycles": counted.cycles if counted else None,
            "per_mac": ratio(count, op["macs"]),
        })
    most, whole = max((row["cost"] for row in rows), default=0) or 1, sum(row["cost"] for row in rows)
    for row in rows:
        row["bar"], row["share"] = round(100 * row["cost"] / most, 2), share(row["cost"], whole)
    return rows
