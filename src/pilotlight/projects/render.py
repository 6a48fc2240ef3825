"""Template and model → the files of a project."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from pilotlight.boards import Board
from pilotlight.compiler import Build
from pilotlight.errors import PilotlightError
from pilotlight.programs import ProgramBuild
from pilotlight.projects.assembly import assembly_as_c
from pilotlight.projects.editor import editor_values
from pilotlight.projects.model import ProjectModel, project_model
from pilotlight.projects.server import SOURCES, server_files
from pilotlight.projects.template import DEFAULT_APPLICATION, SHARED, SHIPPED, Application, Template
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.find import compiler, compilers
from pilotlight.version import __version__

_APPLICATION_STACK = 2048  # bytes besides the model's: main, what it calls, an interrupt
_UNKNOWN_STACK = 4096
# Targets of CMake itself and of the environments.
_TARGETS = ("all", "app", "clean", "freertos", "help", "install", "main", "package", "test", "zephyr")


@dataclass(frozen=True)
class Rendered:
    """A project before it is written: its files, and what its manifest says besides."""

    template: Template
    board: Board
    options: dict[str, str]
    code_in: str | None
    app: str
    yours: tuple[str, ...]
    program: str | None
    files: dict[str, bytes]
    commands: dict[str, list[list[str]]]
    tools: dict[str, str]


def render(
    template: Template, build: Build | ProgramBuild, info: BuildInfo, name: str,
    given: Mapping[str, str] | None = None, code_in: str | None = None, app: str = DEFAULT_APPLICATION,
) -> Rendered:
    """All files of a project called `name`; `info` is the model built for its board."""
    board, options, application = build.board, template.chosen(given or {}), template.application(app)
    template.check_board(board)
    _check_memories(template, board, build, code_in)
    model = project_model(build, info.stack)
    values = {
        "project": program_name(name, model.name), "title": name, "board": board, "model": model,
        "options": options, "version": __version__, "place": board.placement(
            build.options.weights_in, build.options.arena_in
        ),
        "code_in": code_in, "compiler": compiler(board), "stack_bytes": _stack(model), "app": app,
        "console": "serial" if board.uart is not None and board.emulator is None else "semihosting",
        "server_sources": [f"{application.server}/{source}" for source in SOURCES] if application.server else [],
    }
    commands = _commands(template, values)
    program = None if template.program is None else _text(template.program, values)
    values |= {"commands": commands, "image": program, **editor_values(board, commands, program)}
    files = {f"{template.model}/{path}": _bytes(text) for path, text in _model_files(template, build, model).items()}
    if application.server is not None:
        files |= {f"{application.server}/{path}": text.encode() for path, text in server_files(info.folder).items()}
    rendered = _rendered(template, application, values)
    files |= {path: text.encode() for path, text in rendered.items() if text.strip()}
    _check_headers(files, template.model, model.name)
    for archive, inside in template.zip.items():
        name = _text(archive, values)
        files[name] = _zipped(files, inside, name.removesuffix(".zip"))
    missing = [path for path in application.yours if path not in rendered]
    if missing:
        raise PilotlightError(
            f"yours: the template has no file {missing[0]}", where=str(template.path / "template.toml"),
            kind="bad-template",
        )
    yours = tuple(path for path in application.yours if path in files)
    return Rendered(
        template, board, options, code_in, app, yours, program, files, commands, _tools(template, board)
    )


def program_name(project: str, model: str) -> str:
    """What the program and its build target are called: like the project, unless the model's library or a target of the
    environment has that name."""
    name = re.sub(r"\W+", "_", project).strip("_") or "app"
    return f"{name}_app" if name in (model, *_TARGETS) else name


def _check_headers(files: Iterable[str], folder: str, model: str) -> None:
    """The model's header has to be the only one of its name: an #include finds the first."""
    header = f"{model}.h"
    others = [path for path in files if path.endswith(f"/{header}") or path == header]
    if any(path != f"{folder}/{header}" for path in others):
        raise PilotlightError(
            f"the model is called {model}, and the project has a file {header} of its own",
            hint=f"give the model another name: --name {model}_net", kind="usage",
        )


def _check_memories(template: Template, board: Board, build: Build | ProgramBuild, code_in: str | None) -> None:
    chosen = {} if build.place else {"--weights-in": build.options.weights_in, "--arena-in": build.options.arena_in}
    given = [option for option, memory in chosen.items() if memory is not None]
    if given and not template.memories:
        raise PilotlightError(
            f"the template {template.name} does not choose memories: the linker script of its environment does",
            hint=f"omit {given[0]}, and place it there", kind="usage",
        )
    if code_in is not None and not template.takes_code_in(board.memory(code_in)):
        known = [memory.name for memory in board.memories if template.takes_code_in(memory)]
        raise PilotlightError(
            f"the template {template.name} cannot put the code of a project for {board.name} into {code_in}",
            hint=f"omit --code-in, or choose {' or '.join(known)}" if known else "omit --code-in", kind="usage",
        )


def _stack(model: ProjectModel) -> int:
    """What the linker script keeps for the stack, in whole kilobytes."""
    needed = _APPLICATION_STACK + (_UNKNOWN_STACK if model.stack_bytes is None else model.stack_bytes)
    return -(-needed // 1024) * 1024


def _rendered(template: Template, application: Application, values: dict[str, Any]) -> dict[str, str]:
    """The template's own files and the shared ones; one that comes out empty is not for this board or application."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([
            jinja2.FileSystemLoader(template.path / "files"), jinja2.FileSystemLoader(SHIPPED),
        ]),
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    environment.filters |= {
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "shell": lambda commands: " && ".join(shlex.join(command) for command in commands),
    }
    own = template.path / "files"
    sources = {str(path.relative_to(own).as_posix()): path.relative_to(own).as_posix()
               for path in sorted(own.rglob("*")) if path.is_file()}
    sources |= {f"{to}.j2": f"{SHARED}/{name}.j2" for to, name in application.shared.items()}
    files = {}
    for target, source in sources.items():
        try:
            text = environment.get_template(source).render(**values)
            name = environment.from_string(target.removesuffix(".j2")).render(**values)
        except jinja2.TemplateError as error:
            raise PilotlightError(
                f"cannot be rendered: {error}", where=str(Path(template.name) / source), kind="bad-template"
            ) from error
        files[name] = text
    return files


def _commands(template: Template, values: dict[str, Any]) -> dict[str, list[list[str]]]:
    return {name: [[_text(word, values) for word in row] for row in rows] for name, rows in template.commands.items()}


def _text(text: str, values: dict[str, Any]) -> str:
    return jinja2.Template(text, undefined=jinja2.StrictUndefined).render(**values)


def _model_files(template: Template, build: Build | ProgramBuild, model: ProjectModel) -> dict[str, str | bytes]:
    """What was generated, as the environment wants it."""
    files: dict[str, str | bytes] = {}
    for path, text in build.module.files.items():
        if template.assembly_in_c and path.endswith(".S"):
            assert isinstance(text, str)
            name = path.removesuffix(".S")
            files[f"{name}.c"] = assembly_as_c(text, name)
        elif not template.sources_only or _is_source(path, model):
            files[path] = text
    return files


def _is_source(path: str, model: ProjectModel) -> bool:
    return path in model.sources or path.endswith((".h", ".bin", "/LICENSE"))  # a library comes with its licence


def _zipped(files: Mapping[str, bytes], folder: str, top: str) -> bytes:
    """The files of a folder as an archive with one folder at its top; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            if path.startswith(f"{folder}/"):
                archive.writestr(zipfile.ZipInfo(f"{top}/{path.removeprefix(f'{folder}/')}"), data)
    return buffer.getvalue()


def _tools(template: Template, board: Board) -> dict[str, str]:
    """Programs that the commands need, and the Debian package of each; "gcc" stands for the board's compiler."""
    gcc, package = compilers()[board.toolchain]
    return {gcc if name == "gcc" else name: (package or "") if name == "gcc" else known
            for name, known in template.tools.items()}


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
