"""The commands of a project: those of its own environment, as its manifest has them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.projects.manifest import read_manifest


def run_commands(folder: Path, name: str, dry_run: bool = False) -> list[str]:
    """Runs the commands of that name in the project's folder, and gives them as one would type them there. What they
    print goes to stderr."""
    manifest = read_manifest(folder)
    commands = manifest.commands.get(name)
    if not commands:
        raise PilotlightError(
            f"a project of the template {manifest.template} has no command to {name} it",
            hint=f"see {folder / 'README.md'}", kind="usage",
        )
    lines = [shlex.join(command) for command in commands]
    if dry_run:
        return lines
    for program, package in manifest.tools.items():
        if shutil.which(program) is None:
            raise MissingToolError(program, package or None, f"to {name} {folder}")
    for command, line in zip(commands, lines, strict=True):
        code = _shown(command, folder)
        if code != 0:
            raise PilotlightError(
                f"`{line}` in {folder} failed with exit code {code}",
                hint="what it printed is above", kind="build",
            )
    return lines


def _shown(command: list[str], folder: Path) -> int:
    """Runs a command with its output on stderr, line by line."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            sys.stderr.write(text)
    return process.returncode
