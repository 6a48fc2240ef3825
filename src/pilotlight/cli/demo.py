"""`pilotlight demo`: a network that comes along, on a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pilotlight import boards
from pilotlight.cli.options import EMULATOR, TOOLCHAIN, common, runnable_board
from pilotlight.cli.talk import Talk

DIFFERENT = 1


@click.command("demo", short_help="Classify handwritten digits on a board: a network that comes along.")
@click.option("--board", default=boards.default_board(), show_default=True, metavar="NAME",
              help="A board of `pilotlight boards`, or a .toml file.")
@click.option("-o", "folder", type=click.Path(file_okay=False, path_type=Path), default="pilotlight-digits",
              show_default=True, metavar="FOLDER", help="Where the C and the report go.")
@TOOLCHAIN
@EMULATOR
@common
@click.pass_obj
def command(talk: Talk, board: str, folder: Path, toolchain: str | None, emulator: str | None) -> int:
    """Classify 360 handwritten digits on a board and compare every answer with PyTorch.

    The network is part of Pilotlight, as pilotlight.demo.model:digits. Exits with 1 if the board disagrees.
    """
    runnable_board(board)
    with talk.loading_pytorch():
        from pilotlight import demo
        from pilotlight.figures.profile import profile_rows
        from pilotlight.report.profile import profile_table
        from pilotlight.report.summary import run_title, summary_table
    with talk.stage(f"compiling for {board}"):
        build = demo.compile_digits(board, toolchain=toolchain, emulator=emulator)
        build.write(folder)
        _ = build.info
    with talk.stage(f"running 360 images on {board}"):
        session = demo.classify(build)
    session.command = talk.command
    result = session.as_dict()
    parts: list[Any] = [run_title(result), summary_table(result)]
    if session.profile is not None:
        result["operators"] = profile_rows(session.profile, build)
        parts += ["\nWhere the time goes:", profile_table(result)]
    report = session.report(folder / "report.html", "Handwritten digits")
    talk.result(result, *parts, f"The C is in {folder}, the report in {report}")
    agree = session.accuracy is not None and session.accuracy.different == 0
    return 0 if session.match and agree else DIFFERENT
