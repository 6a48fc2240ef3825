"""What `new` and `update` share: from a request to the files of a project, and its arguments in the manifest."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pilotlight import boards
from pilotlight.cli.options import Argument, Request
from pilotlight.cli.placing import project_code
from pilotlight.cli.talk import Talk
from pilotlight.options import Options
from pilotlight.projects.manifest import Manifest, read_manifest
from pilotlight.projects.template import Template
from pilotlight.projects.write import Changes, create, digest, update

_PATHS = ("weights", "calibrate")
_LIBRARY = "cmsis_nn"  # a folder among the options


def write_project(
    talk: Talk, request: Request, folder: Path, template: Template, given: dict[str, str], code_in: str | None,
    app: str, arguments: dict[str, Any], templates: Path | None, *, old: Manifest | None = None, force: bool = False,
) -> Changes:
    """Compiles the model, renders the project and writes it: anew, or over the one that `old` describes."""
    build = replace(request, source=arguments["model"]).compile(talk)
    with talk.stage(f"compiling for {build.board.name}"):
        info = build.build_for(build.board, need_compiler=False)
    from pilotlight.projects.render import render

    used = project_code(talk, build, template, code_in)
    made = render(template, build, info, folder.absolute().name, given, used, app)
    manifest = Manifest(
        template=template.name, board=_board(request.board, folder),
        templates=None if templates is None else _relative(templates, folder), code_in=code_in, app=app,
        program=made.program, model=template.model, arguments=arguments, options=made.options, tools=made.tools,
        commands=made.commands, yours=made.yours,
        files={name: digest(data) for name, data in made.files.items()},
    )
    if old is None:
        return create(folder, made.files, manifest, force)
    return update(folder, made.files, old, manifest, force)


def show_project(talk: Talk, folder: Path, template: str, board: str, changes: Changes) -> None:
    data = {
        "folder": str(folder), "template": template, "board": board, "written": list(changes.written),
        "removed": list(changes.removed), "kept": list(changes.kept),
    }
    lines = [f"{folder}: {len(changes.written)} files written for {board}, template {template}"]
    lines += [f"removed {name}, which is no longer needed" for name in changes.removed]
    lines += [f"kept {name}, which you have changed; --force writes it anew" for name in changes.kept]
    build = f"pilotlight build {folder}, or " if "build" in read_manifest(folder).commands else ""
    lines.append(f"next: {build}see {folder / 'README.md'}")
    talk.result(data, "\n".join(lines))


def stored_arguments(request: Request, folder: Path) -> dict[str, Any]:
    """What the manifest keeps of a request: what was given, with paths relative to the project."""
    stored: dict[str, Any] = {"model": _source(request.model, folder)}
    for field in fields(Request):
        value = getattr(request, field.name)
        if field.name in ("model", "board", "choices", "source") or value in (None, (), field.default):
            continue
        if field.name in _PATHS:
            value = _relative(value, folder)
        elif field.name == "kernels":
            value = [_relative(file, folder) for file in value]
        elif field.name == "init":
            value = [f"{key}={text!r}" for key, text in value]
        stored[field.name] = list(value) if isinstance(value, tuple) else value
    usual = Options()
    choices = {key: value for key, value in request.choices.items() if value != getattr(usual, key)}
    if "tuned" in choices:
        choices["tuned"] = [_relative(Path(file), folder) for file in choices["tuned"]]
    return stored | {key: _relative(value, folder) if key == _LIBRARY else value for key, value in choices.items()}


def stored_request(arguments: dict[str, Any], board: str, folder: Path) -> Request:
    """The request that `stored_arguments` came from, with paths as they are from here."""
    choices = {field.name for field in fields(Options)}
    given: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in arguments.items()}
    for key in (*_PATHS, _LIBRARY):
        if key in given:
            given[key] = folder / given[key]
    for key in ("kernels", "tuned"):
        given[key] = tuple(folder / file for file in given.get(key, ()))
    given["init"] = tuple(Argument().convert(text, None, None) for text in given.get("init", ()))
    file, colon, name = given.pop("model").partition(":")
    known = {field.name for field in fields(Request)} - {"model", "board", "choices"}
    return Request(
        model=(str(folder / file) if _is_file(file) else file) + colon + name,
        board=str(folder / board) if board.endswith(".toml") else board,
        inputs=given.pop("inputs", ()),
        name=given.pop("name", None),
        choices={key: given[key] for key in given if key in choices},
        **{key: value for key, value in given.items() if key in known and key not in choices},
    )


def _source(model: str, folder: Path) -> str:
    """MODEL with the path of its file relative to the project; a module stays as it is."""
    file, colon, name = model.partition(":")
    return (_relative(Path(file), folder) if _is_file(file) else file) + colon + name


def _is_file(text: str) -> bool:
    return text.endswith((".py", ".pt2", ".pt", ".pth", ".jit", ".onnx"))


def _board(name: str, folder: Path) -> str:
    return _relative(Path(name), folder) if name.endswith(".toml") else boards.load(name).name


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()
