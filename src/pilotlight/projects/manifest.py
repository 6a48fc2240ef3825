"""pilotlight.toml: what a project was made from, and a hash of every file that was written."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pilotlight.errors import PilotlightError
from pilotlight.projects.template import DEFAULT_APPLICATION
from pilotlight.version import __version__

MANIFEST = "pilotlight.toml"
_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """`arguments` are those of the model: its source, and how it is compiled; paths are relative to the project."""

    template: str
    board: str
    templates: str | None = None
    code_in: str | None = None
    app: str = DEFAULT_APPLICATION
    program: str | None = None  # what a build makes
    model: str = "model"  # folder of the generated files
    arguments: dict[str, Any] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[list[str]]] = field(default_factory=dict)
    yours: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        head = {
            "version": _VERSION, "generator": f"pilotlight {__version__}", "template": self.template,
            "templates": self.templates, "board": self.board, "code_in": self.code_in, "app": self.app,
            "program": self.program, "model_folder": self.model, "yours": list(self.yours),
        }
        tables = {
            "model": self.arguments, "options": self.options, "commands": self.commands, "tools": self.tools,
            "files": self.files,
        }
        lines = ["# What this project was made from. `pilotlight update` and `pilotlight build` read it."]
        lines += _rows(head)
        for name, table in tables.items():
            lines += ["", f"[{name}]", *_rows(table)]
        return "\n".join(lines) + "\n"


def read_manifest(folder: Path) -> Manifest:
    file = folder / MANIFEST
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise PilotlightError(
                f"version {data['version']} of a project; expected {_VERSION}", where=str(file),
                hint="use the Pilotlight that wrote it, or make the project again", kind="bad-project",
            )
        return Manifest(
            template=data["template"], board=data["board"], templates=data.get("templates"),
            code_in=data.get("code_in"), app=data.get("app", DEFAULT_APPLICATION), program=data.get("program"),
            model=data.get("model_folder", "model"), arguments=data["model"], options=data["options"],
            tools=data["tools"], commands=data["commands"], yours=tuple(data["yours"]), files=data["files"],
        )
    except FileNotFoundError as error:
        raise PilotlightError(
            f"{folder} is not a project: it has no {MANIFEST}", hint="`pilotlight new` makes one", kind="bad-project"
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        problem = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise PilotlightError(
            f"the description of the project cannot be used: {problem}", where=str(file),
            hint="put it back as it was, or make the project again", kind="bad-project",
        ) from error


def _rows(table: dict[str, Any]) -> list[str]:
    """Keys with values; JSON's texts, numbers and lists are TOML's too."""
    return [f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()
            if value is not None]


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)
