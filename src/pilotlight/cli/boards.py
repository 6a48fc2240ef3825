"""`pilotlight boards`: what it can build for and run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.text import Text

from pilotlight import boards
from pilotlight.boards import Board, BoardNames, MemoryNames
from pilotlight.cli.options import common
from pilotlight.cli.talk import Talk
from pilotlight.projects.template import load_template
from pilotlight.report.boards import boards_table, missing_tools
from pilotlight.report.style import BAD, QUIET


@click.command("boards")
@click.option("--template", metavar="NAME", help="Only those that a template of `pilotlight new` takes.")
@click.option("--templates", type=click.Path(path_type=Path), metavar="FOLDER", help="A folder with templates.")
@common
@click.pass_obj
def command(talk: Talk, template: str | None, templates: Path | None) -> None:
    """List the boards, with their memories and how they run.

    A board is one .toml file. Your own are looked for in ./boards and in the folders of $PILOTLIGHT_BOARDS. Files that
    cannot be used are listed at the end.
    """
    found, bad = boards.known_boards()
    if template is not None:
        chosen = load_template(template, templates)
        found = [board for board in found if chosen.reason_against(board) is None]
    missing = missing_tools(found)
    lines = [Text(line, QUIET) for line in missing]
    wrong = [Text(f"{error.where} cannot be used: {error.message}", BAD) for error in bad]
    data = {"boards": [as_dict(board) for board in found], "missing": missing, "bad": [e.as_dict() for e in bad]}
    talk.result(data, boards_table(found), *lines, *wrong)


def as_dict(board: Board) -> dict[str, Any]:
    return {
        "name": board.name,
        "title": board.title,
        "vendor": board.vendor,
        "cpu": board.cpu,
        "clock_hz": board.clock_hz,
        "runs": "host" if board.is_host else "emulated" if board.runnable else None,
        "memories": [
            {**vars(m), "names": _known(m.names), "speed": vars(m.speed) if m.speed else None} for m in board.memories
        ],
        "cycles": board.cycles,
        "power": vars(board.power) if board.power else None,
        "names": _known(board.names),
        "usb": list(board.usb),
        "file": str(board.path) if board.path else None,
    }


def _known(names: BoardNames | MemoryNames) -> dict[str, str]:
    return {key: name for key, name in vars(names).items() if name}
