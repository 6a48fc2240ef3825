"""Calls the command line the way a shell does, inside this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from pilotlight import boards
from pilotlight.cli import main
from support.paths import FIXTURES

NETS = FIXTURES / "cli" / "nets.py"


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def call_json(*args: str | Path, exit_code: int = 0) -> dict[str, Any]:
    """The one object on stdout."""
    result = call(*args, "--json")
    assert result.exit_code == exit_code, result.output
    data = json.loads(result.stdout)
    assert isinstance(data, dict)
    return data


def call_error(*args: str | Path) -> dict[str, str]:
    """The error of a call that the user has to change."""
    error = call_json(*args, exit_code=2)
    assert list(error) == ["error"]
    assert list(error["error"]) == ["kind", "message", "where", "hint"]
    return error["error"]


def line_of(text: str) -> int:
    """Where in the models' file a text is."""
    (number,) = [n for n, line in enumerate(NETS.read_text().splitlines(), 1) if text in line]
    return number


def board_file(folder: Path, program: str) -> Path:
    """A board like mps2-an386, booted by another program."""
    source = boards.load("mps2-an386").path
    assert source is not None
    text = source.read_text().replace('program = "qemu-system-arm"', f'program = "{program}"')
    file = folder / "mine.toml"
    file.write_text(text.replace('name = "mps2-an386"', 'name = "mine"'))
    return file
