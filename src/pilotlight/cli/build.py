"""`pilotlight build`: a project's own build commands."""

from __future__ import annotations

from pathlib import Path

import click

from pilotlight.cli.options import common
from pilotlight.cli.talk import Talk
from pilotlight.projects.commands import run_commands


@click.command("build")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only print the commands.")
@common
@click.pass_obj
def command(talk: Talk, folder: Path, dry_run: bool) -> None:
    """Build a project of `pilotlight new` with the commands of its environment, in its folder."""
    lines = run_commands(folder, "build", dry_run)
    done = [] if dry_run else [f"built {folder}"]
    talk.result({"folder": str(folder), "commands": lines, "ran": not dry_run}, "\n".join([*lines, *done]))
