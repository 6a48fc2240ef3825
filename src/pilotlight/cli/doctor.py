"""`pilotlight doctor`: what is installed, what was found, what is missing."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from pilotlight import boards
from pilotlight.cli.options import common
from pilotlight.cli.talk import Talk
from pilotlight.installed import Part, cache_state, micropython_state, parts
from pilotlight.report.style import BAD, GOOD, QUIET, facts


@click.command("doctor", short_help="Show what is installed, found and missing.")
@common
@click.pass_obj
def command(talk: Talk) -> None:
    """Show which compilers, emulators and packages are installed, with their versions, and what is missing.

    A missing part is needed only for the use shown next to it.
    """
    with talk.stage("looking around"):
        found, (known, bad) = parts(), boards.known_boards()
    cache, source = cache_state(), micropython_state()
    data = {
        "parts": [vars(part) for part in found], "missing": _missing(found),
        "cache": cache, "micropython": source, "boards": len(known), "bad_boards": [e.as_dict() for e in bad],
    }
    grid = facts()
    there = [part for part in found if part.version is not None and part.small]
    for part in found:
        if part not in there:
            grid.add_row(part.name, _version(part), _about(part))
        elif part is there[0]:
            grid.add_row("packages", str(len(there)), ", ".join(f"{p.name} {p.version}" for p in there))
    grid.add_row("boards", str(len(known)), "; ".join(f"{e.where} is bad: {e.message}" for e in bad) or "no bad files")
    writable = Text("writable", GOOD) if cache["writable"] else Text("read only", BAD)
    grid.add_row("cache", writable, str(cache["folder"]))
    grid.add_row("MicroPython", "", source)
    talk.result(data, grid, *_verdict(found))


def _version(part: Part) -> Text:
    if part.version is None:
        return Text("-", QUIET) if part.instead else Text("missing", BAD)
    return Text(part.version)


def _about(part: Part) -> str:
    if part.version is None and part.instead:
        return f"{part.instead} ({part.install})"
    if part.version is None:
        return f"for {part.use}: {part.install}"
    return part.where or ""


def _missing(found: list[Part]) -> list[str]:
    """What is not installed and has nothing in its place."""
    return [part.name for part in found if part.version is None and not part.instead]


def _verdict(found: list[Part]) -> list[Text | Table]:
    missing = _missing(found)
    return [Text("nothing is missing" if not missing else f"missing: {', '.join(missing)}", QUIET)]
