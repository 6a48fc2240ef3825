"""Templates: folders of small files with a template.toml that says what they are for.

A template is looked for in the folder that the user gives, in $PILOTLIGHT_TEMPLATES (folders separated by ":"), then
here.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pilotlight.boards import Board, Memory
from pilotlight.errors import PilotlightError

SHIPPED = Path(__file__).parent / "templates"
SHARED = "shared"  # files that several templates use; not a template itself
FILE = "template.toml"
# What a project does; a template has some of them.
APPLICATIONS = {
    "run": "reads an input, runs the model, shows the result and its cost, sleeps",
    "server": "answers a computer on a serial line: docs/device-protocol.md",
}
DEFAULT_APPLICATION = "run"
_KEYS = {
    "title": str, "yours": list, "shared": dict, "boards": dict, "option": list, "tools": dict, "commands": dict,
    "memories": bool, "model": str, "sources_only": bool, "assembly_in_c": bool, "zip": dict, "program": str,
    "app": dict, "code_in": str,
}
_APP = {"yours": list, "shared": dict, "server": str}
_BOARDS = {"startup": list, "name": str, "vendor": str, "except": dict}
_OPTION = {"name": str, "default": str, "help": str}


@dataclass(frozen=True)
class TemplateOption:
    """Something to choose, as --option NAME=VALUE."""

    name: str
    default: str
    help: str


@dataclass(frozen=True)
class Application:
    """What one of a template's applications has besides the files of all of them."""

    name: str
    yours: tuple[str, ...] = ()  # files that are the user's once they are written
    shared: Mapping[str, str] = field(default_factory=dict)  # file of the project: file of the shared ones
    server: str | None = None  # folder of the device server's sources


@dataclass(frozen=True)
class Template:
    name: str
    path: Path
    title: str
    yours: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    apps: Mapping[str, Application] = field(default_factory=dict)
    program: str | None = None  # what a build makes
    startup: tuple[str, ...] | None = None  # kinds of start-up code it has
    board_name: str | None = None  # the environment in which a board must have a name
    vendor: str | None = None  # of the boards
    refused: Mapping[str, str] = field(default_factory=dict)  # board: why it is not taken
    options: tuple[TemplateOption, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)  # program: Debian package, or nothing
    commands: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    model: str = "model"  # folder of the generated files
    sources_only: bool = False  # only headers and sources there, where everything else would be in the way
    assembly_in_c: bool = False  # where files of assembly are not built with the flags of C
    zip: Mapping[str, str] = field(default_factory=dict)  # archive: folder that is in it
    code_in: str | None = None  # the environment in which a memory must have a name to put code into it
    memories: bool = False  # whether it can put code, weights and arena into memories of one's choice

    def reason_against(self, board: Board) -> str | None:
        """Why a board is not taken; None where it is."""
        if board.is_host:
            return "it is for boards"
        if board.name in self.refused:
            return self.refused[board.name]
        if self.board_name is not None and getattr(board.names, self.board_name) is None:
            return f"its file has no names.{self.board_name}"
        if self.vendor is not None and board.vendor != self.vendor:
            return f"it is not one of {self.vendor}"
        if self.startup is not None and board.startup not in self.startup:
            return f"there is no start-up code for its core, {board.cpu}"
        return None

    def check_board(self, board: Board) -> None:
        reason = self.reason_against(board)
        if reason:
            raise PilotlightError(
                f"the template {self.name} does not take {board.name}: {reason}",
                hint=f"`pilotlight boards --template {self.name}` lists those that it takes", kind="usage",
            )

    def takes_code_in(self, memory: Memory) -> bool:
        """Whether start-up puts the model's code into a memory."""
        return self.memories or (self.code_in is not None and getattr(memory.names, self.code_in) is not None)

    def application(self, name: str) -> Application:
        """One of the template's applications, with the files that all of them have."""
        if name not in self.apps:
            raise PilotlightError(
                f"the template {self.name} has no application {name!r}", hint=f"it has: {', '.join(self.apps)}",
                kind="usage",
            )
        app = self.apps[name]
        return Application(name, (*self.yours, *app.yours), {**self.shared, **app.shared}, app.server)

    def chosen(self, given: Mapping[str, str]) -> dict[str, str]:
        """The value of every option; an unknown one is refused by name."""
        known = {option.name: option.default for option in self.options}
        for name in given:
            if name not in known:
                raise PilotlightError(
                    f"the template {self.name} has no option {name!r}",
                    hint=f"it has: {', '.join(known) or 'none'}", kind="usage",
                )
        return {**known, **given}


def load_template(name: str, folder: Path | None = None) -> Template:
    """The template of that name; `folder` is one of the user's with templates in it."""
    found = _folders(folder)
    if name in found:
        return _parse(name, found[name])
    near = difflib.get_close_matches(name, found, n=1, cutoff=0.4)
    raise PilotlightError(
        f"unknown template {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        hint=f"known templates: {', '.join(sorted(found))}", kind="unknown-template",
    )


def all_templates(folder: Path | None = None) -> list[Template]:
    return [_parse(name, path) for name, path in sorted(_folders(folder).items())]


def _folders(folder: Path | None) -> dict[str, Path]:
    """Template → its folder; earlier places win."""
    if folder is not None and not folder.is_dir():
        raise PilotlightError(f"there is no folder of templates {folder}", hint="check --templates", kind="file")
    user = [Path(p) for p in os.environ.get("PILOTLIGHT_TEMPLATES", "").split(os.pathsep) if p]
    found: dict[str, Path] = {}
    for place in [*([folder] if folder else []), *user, SHIPPED]:
        for file in sorted(place.glob(f"*/{FILE}")):
            found.setdefault(file.parent.name, file.parent)
    return found


def _parse(name: str, path: Path) -> Template:
    file = path / FILE
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PilotlightError(f"cannot be used: {error}", where=str(file), kind="bad-template") from error
    _check(file, "", data, _KEYS)
    if "title" not in data:
        raise _bad(file, "title: missing")
    taken = data.get("boards", {})
    _check(file, "boards.", taken, _BOARDS)
    if not set(data.get("commands", {})) <= {"build", "flash"}:
        raise _bad(file, "commands: expected build and flash")
    options = data.get("option", [])
    for row in options:
        _check(file, "option.", row, _OPTION)
        if len(row) < len(_OPTION):
            raise _bad(file, f"option: expected {', '.join(_OPTION)}")
    startup = taken.get("startup")
    apps = data.get("app", {DEFAULT_APPLICATION: {}})
    _check(file, "app.", apps, dict.fromkeys(APPLICATIONS, dict))
    for app, row in apps.items():
        _check(file, f"app.{app}.", row, _APP)
    return Template(
        name=name,
        path=path,
        title=data["title"],
        yours=tuple(data.get("yours", [])),
        shared=data.get("shared", {}),
        apps={app: Application(app, tuple(row.get("yours", [])), row.get("shared", {}), row.get("server"))
              for app, row in apps.items()},
        program=data.get("program"),
        startup=None if startup is None else tuple(startup),
        board_name=taken.get("name"),
        vendor=taken.get("vendor"),
        refused=taken.get("except", {}),
        options=tuple(TemplateOption(**row) for row in options),
        tools=data.get("tools", {}),
        commands={key: tuple(map(tuple, rows)) for key, rows in data.get("commands", {}).items()},
        model=data.get("model", "model"),
        sources_only=data.get("sources_only", False),
        assembly_in_c=data.get("assembly_in_c", False),
        zip=data.get("zip", {}),
        code_in=data.get("code_in"),
        memories=data.get("memories", False),
    )


def _check(file: Path, prefix: str, data: Any, known: Mapping[str, type]) -> None:
    if not isinstance(data, dict):
        raise _bad(file, f"{prefix[:-1]}: expected a table")
    for key, value in data.items():
        if key not in known:
            raise _bad(file, f"{prefix}{key}: unknown key; known: {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise _bad(file, f"{prefix}{key}: expected {known[key].__name__}, got {value!r}")


def _bad(file: Path, message: str) -> PilotlightError:
    return PilotlightError(message, where=str(file), hint="docs/projects.md lists the keys", kind="bad-template")
