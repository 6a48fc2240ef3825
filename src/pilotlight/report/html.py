"""The HTML pages: one self-contained file each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from pilotlight.figures.record import layer_text
from pilotlight.report.memory_map import colours, memory_map
from pilotlight.report.rows import operator_rows
from pilotlight.report.style import error_text, number, ratio, size
from pilotlight.report.summary import (
    accuracy_text,
    arena_text,
    flash_need,
    flash_text,
    match_text,
    noise_text,
    percent,
    ram_need,
    ram_text,
    runs_text,
)
from pilotlight.report.timing import timing_rows
from pilotlight.report.versus import Versus
from pilotlight.report.waves import stream_pictures

_INTEGERS = "the integer reference"


@dataclass(frozen=True)
class Tile:
    """One figure of the summary."""

    name: str
    value: str
    detail: str
    tone: str = ""  # "good" or "bad"


@dataclass(frozen=True)
class PagePart:
    """A piece of a bar; `share` is its part of the whole, in percent."""

    name: str
    bytes: int
    share: float


def write_report(run: dict[str, Any], path: Path, title: str | None = None) -> Path:
    """The page of a run: the object that `run --json` prints."""
    return write_page(render_report(run, title), path)


def write_page(text: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def render_report(run: dict[str, Any], title: str | None = None) -> str:
    rows, colour = operator_rows(run), colours(run["network"])
    return _template("report.html.j2").render(
        title=title or f"{run['name']} on {run['board']}", run=run, hardware=run["hardware"], made=run["made"],
        tiles=list(_tiles(run)), map=memory_map(run["network"]), arena=arena_text(run["ram"]),
        rows=rows, groups=sorted({row["group"] for row in rows}), types=sorted({row["type"] for row in rows}),
        counted=run["operators"] is not None, has_cycles=run["cycles_estimate"] is not None,
        drawing=_embedded({"rows": rows, "colours": colour, **_drawn(run["network"])}),
        flash=_parts(run["flash"], ("code", "weights", "harness")),
        ram=_parts(run["ram"], ("arena", "state", "static", "stack", "weights")),
        stream=stream_pictures(run),
        claim=_claim(run), rule=_rule(run), outputs=list(_outputs(run)), options=_options(made=run["made"]),
    )


def render_versus(versus: Versus) -> str:
    return _template("versus.html.j2").render(
        title=f"{versus.names[0]} and {versus.names[1]}", versus=versus, made=[run["made"] for run in versus.runs],
    )


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pilotlight.report"), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )
    environment.filters.update(number=number, size=size, error=error_text, layer=layer_text, shape=_shape)
    return environment.get_template(name)


def _embedded(data: dict[str, Any]) -> str:
    """JSON for a script element, escaped so that nothing in it ends the element."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _drawn(network: dict[str, Any]) -> dict[str, Any]:
    """What the page's script draws besides the operators."""
    keys = ("name", "buffer", "dtype", "shape")
    ports = {side: [{key: port[key] for key in keys} for port in network[side]] for side in ("inputs", "outputs")}
    buffers = {b["name"]: [b["offset"], b["bytes"], b["first"], b["last"]] for b in network["buffers"]}
    return {**ports, "states": network["states"], "buffers": buffers}


def _shape(sizes: list[int]) -> str:
    return " × ".join(map(str, sizes)) or "scalar"


def _options(made: dict[str, Any]) -> dict[str, str]:
    """The options that differ from their defaults, with their values."""
    return {key: str(value) for key, value in made["options"].items() if value not in (None, False)}


def _tiles(run: dict[str, Any]) -> Iterator[Tile]:
    yield _match_tile(run)
    if run["accuracy"]:
        yield Tile("accuracy on the board", percent(run["accuracy"]["board"]), accuracy_text(run["accuracy"]))
    for key, text in (run.get("notes") or {}).items():
        yield Tile(f"{key} in the file", "", text)
    flash, ram, usual = run["flash"], run["ram"], run["hardware"]["place"] or {}
    yield Tile("flash", number(flash_need(flash)), f"bytes: {flash_text(run, usual)}")
    yield Tile("RAM", number(ram_need(ram)), f"bytes: {ram_text(run, usual)}")
    count, macs = run["instructions"], run["macs_executed"]
    per_mac = f"one inference; {ratio(count, macs)} per MAC"
    yield Tile("instructions", number(count), run["counts_reason"] or "" if count is None else per_mac)
    for name, value, text in timing_rows(run):
        yield Tile(name, value, text)


def _match_tile(run: dict[str, Any]) -> Tile:
    """The verdict, with the output that comes closest to its limit or exceeds it."""
    verdict, tone = ("yes", "good") if run["match"] else ("no", "bad")
    text = runs_text(run["runs"])
    if run["outputs"]:
        worst = max(range(len(run["outputs"])), key=lambda k: _worse(run, k))
        text = f"{match_text(run, worst, run['compared_with'] == _INTEGERS)}; {text}"
    return Tile(_claim(run), verdict, text, tone)


def _claim(run: dict[str, Any]) -> str:
    """What a yes means."""
    other = run["compared_with"]
    return f"bytes equal {other}" if other == _INTEGERS else f"matches {other}"


def _rule(run: dict[str, Any]) -> str:
    other = run["compared_with"]
    if other == _INTEGERS:
        return (f"Bytes are compared with {other}, the same integers computed on the host. How near those come to "
                f"{run['snr_against']} is the ratio of signal to noise, in decibels.")
    return (f"An output matches when its largest distance from {other} in float64 is at most eight times its "
            "float32's own, plus 4e-6 of the largest output; infinities and NaN must be the same.")


def _outputs(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Ports with what the comparison said of them; a size that depends on the data has no comparison of its own."""
    compared = iter(enumerate(run["outputs"]))
    for port in run["network"]["outputs"]:
        at, match = (None, None) if port["is_size"] else next(compared, (None, None))
        yield {**port, "compared": match, "noise": noise_text(run, at) if at is not None and run["snr_db"] else ""}


def _worse(run: dict[str, Any], index: int) -> tuple[float, float]:
    """How close it is to the limit, then the noise of quantization."""
    decibels = (run["snr_db"] or [None] * (index + 1))[index]
    return _nearness(run["outputs"][index]), float("-inf") if decibels is None else -decibels


def _nearness(output: dict[str, Any]) -> float:
    """An output's distance as a share of its limit; integers must be equal."""
    error, limit = output["max_abs_error"], output["limit"]
    if error is None:
        return float("inf")
    return float(error / limit) if limit else float("inf") if error else 0.0


def _parts(figures: dict[str, int | None], names: tuple[str, ...]) -> list[PagePart]:
    known = {name: size for name in names if (size := figures[name])}
    whole = sum(known.values()) or 1
    return [PagePart(name, size, 100 * size / whole) for name, size in known.items()]
