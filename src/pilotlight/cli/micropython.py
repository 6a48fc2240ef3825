"""`pilotlight micropython`: builds with `import torch`, and scripts that use it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pilotlight.cli.options import Seconds, Size, common
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError, no_file
from pilotlight.system import need_terminals

if TYPE_CHECKING:
    from pilotlight.boards import Board
    from pilotlight.micropython.ports import MicroPythonPort
    from pilotlight.micropython.select import TorchSelection

_Function = TypeVar("_Function", bound=Callable[..., Any])

board_option = click.option(
    "--board", default="host", show_default=True, metavar="NAME",
    help="This computer (host), or an emulated board that MicroPython is built for: a name, or a .toml file.",
)
heap_option = click.option(
    "--heap", type=Size(16 << 10, 64 << 30), metavar="SIZE",
    help="MicroPython's heap, such as 256K; default: 1M on a board, 64M here."
)


def selection_options(function: _Function) -> _Function:
    model = click.option("--ops", metavar="MODEL",
                         help="Only what a model needs: file.py:name, a .pt2 file, or a TorchScript .pt file.")
    inputs = click.option("--input", "inputs", multiple=True, metavar="SHAPE",
                          help="Shape of an example input of --ops, such as 1x3x96x96; once per input.")
    listed = click.option("--ops-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.yaml",
                          help="Only the operators in a list: `operators: [softmax, conv2d, add.Tensor]`.")
    parts = click.option("--with", "parts", metavar="PARTS",
                         help="Parts that are built only when asked for: "
                              "load,save,jit,safetensors,linalg,signal,fft,types,image,losses,utils,errors,data,"
                              "stdlib, or all.")
    dtypes = click.option("--dtypes", metavar="DTYPES",
                          help="Only kernels for these dtypes, such as float32,int64.")
    return model(inputs(listed(parts(dtypes(function)))))


def made(
    talk: Talk, board: str, heap: int | None, selection: TorchSelection | None = None, runnable: bool = True
) -> tuple[MicroPythonPort, Path]:
    """The port of a board, and its program, which is built on first use; `runnable`: on this computer."""
    need_terminals("MicroPython")
    from pilotlight.micropython import ports

    port = ports.port(board, heap, runnable)
    from pilotlight.micropython.build import build
    from pilotlight.micropython.select import ALL

    with talk.stage(f"building MicroPython for {port.name}, once"):
        return port, build(port, selection or ALL)


def chosen(
    talk: Talk, ops: str | None, inputs: tuple[str, ...], ops_file: Path | None, parts: str | None, dtypes: str | None
) -> TorchSelection:
    """What --ops or --ops-file ask for, --with and --dtypes."""
    selection = _named(talk, ops, inputs, ops_file).with_parts(_words(parts))
    return selection.with_dtypes(_words(dtypes)) if dtypes else selection


def _words(listed: str | None) -> list[str]:
    return [word.strip() for word in listed.split(",")] if listed else []


def left_out(selection: TorchSelection) -> list[str]:
    """A line about the parts that were not asked for."""
    parts = ",".join(selection.without)
    return [f"  not built in: {parts.replace(',', ', ')} (add --with {parts})"] if parts else []


def _named(talk: Talk, ops: str | None, inputs: tuple[str, ...], ops_file: Path | None) -> TorchSelection:
    if ops is not None and ops_file is not None:
        raise PilotlightError("--ops and --ops-file both select operators", hint="give one", kind="usage")
    from pilotlight.micropython.select import SMALL, from_file

    if ops_file is not None:
        return from_file(ops_file)
    if ops is None:
        return SMALL
    with talk.loading_pytorch():
        from pilotlight.micropython.model import from_model
    with talk.stage(f"reading {ops}"), contextlib.redirect_stdout(sys.stderr):
        return from_model(ops, inputs)


@click.group("micropython", invoke_without_command=True,
             short_help="Build MicroPython with `import torch`, and run scripts with it.")
@click.pass_context
def command(context: click.Context) -> None:
    """Build MicroPython with `import torch`, run scripts with it, or write the module for a port of your own."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("run", short_help="Run a script, here or on an emulated board.")
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1)
@board_option
@heap_option
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True, metavar="SECONDS",
              help="How long a board may stay silent.")
@common
@click.pass_obj
def run(talk: Talk, script: Path, arguments: tuple[str, ...], board: str, heap: int | None, timeout: float) -> int:
    """Run a script, with its output and its exit code."""
    if not script.is_file():
        raise no_file(script)
    port, program = made(talk, board, heap)
    from pilotlight.micropython import session

    out: list[bytes] = []
    err: list[bytes] = []
    sinks = (out.append, err.append) if talk.as_json else (_writer(sys.stdout), _writer(sys.stderr))
    if port.board is None:
        code = session.run_on_host(program, (str(script), *arguments), heap, sinks if talk.as_json else None)
    else:
        with session.open_session(port.board, program, timeout) as opened:
            code = opened.run(script, arguments, *sinks)
    if talk.as_json:
        texts = {name: b"".join(parts).decode(errors="replace") for name, parts in (("stdout", out), ("stderr", err))}
        talk.result({"board": port.name, "exit_code": code, **texts})
    return code


def _writer(stream: Any) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.buffer.write(data)
        stream.flush()

    return write


@command.command("build", short_help="Write firmware with `import torch`, and show what each operator costs.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Folder for firmware.elf, .bin, .hex, .uf2 and report.json; created if missing.")
@click.option("--all", "everything", is_flag=True, help="List every operator, not just the largest.")
@board_option
@heap_option
@selection_options
@common
@click.pass_obj
def build(
    talk: Talk, output: Path, everything: bool, board: str, heap: int | None, ops: str | None, inputs: tuple[str, ...],
    ops_file: Path | None, parts: str | None, dtypes: str | None,
) -> None:
    """Write firmware with `import torch`, and say what each operator costs in flash."""
    from pilotlight.micropython import ports

    ports.port(board, heap, runnable=False)  # so that a wrong name is reported before a model is run
    selection = chosen(talk, ops, inputs, ops_file, parts, dtypes)
    port, program = made(talk, board, heap, selection, runnable=False)
    from pilotlight.micropython.firmware import report_tables, write_firmware

    report = write_firmware(port, program, output)
    talk.result(report, *report_tables(report, everything), *left_out(selection))


@command.command("export", short_help="Write the module as a folder for any port of MicroPython, or for C and C++.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the module; created if missing.")
@click.option("--embed", is_flag=True,
              help="A library for C and C++ programs: MicroPython, the module, and an example.")
@click.option("--board", metavar="NAME", help="With --embed: an emulated Cortex-M board that the example is for.")
@selection_options
@common
@click.pass_obj
def export(
    talk: Talk, output: Path, embed: bool, board: str | None, ops: str | None, inputs: tuple[str, ...],
    ops_file: Path | None, parts: str | None, dtypes: str | None,
) -> None:
    """Write the module as a folder that any port of MicroPython can be built with.

    make ports: USER_C_MODULES=FOLDER; cmake ports: -DUSER_C_MODULES=FOLDER/micropython.cmake; and in the board's
    manifest: include("FOLDER/manifest.py").

    With --embed it is MicroPython itself, as a library that a C or C++ program calls: interpreter.h, interpreter.hpp,
    a Makefile, a CMakeLists.txt, and an example.
    """
    if board is not None and not embed:
        raise PilotlightError("--board is for --embed: the module alone is the same for every board",
                              hint="leave out --board, or add --embed", kind="usage")
    chosen_board = None
    if board is not None:
        from pilotlight import boards

        chosen_board = boards.load(board)
    selection = chosen(talk, ops, inputs, ops_file, parts, dtypes)
    if embed:
        loaders = ["load", "jit"] if selection.operators is None else ["load"]
        _export_embedded(talk, output, selection.with_parts(loaders), chosen_board)
        return
    from pilotlight.micropython.module import write_module

    files = write_module(output, selection)
    make = f"make USER_C_MODULES={output.resolve()} FROZEN_MANIFEST={output.resolve()}/manifest.py"
    talk.result(
        {"folder": str(output), "files": files, "operators": len(selection.kernels())},
        f"{output}: {len(files)} files, {len(selection.kernels())} operator overloads", f"  {make}",
        *left_out(selection),
    )


def _export_embedded(talk: Talk, output: Path, selection: TorchSelection, board: Board | None) -> None:
    from pilotlight.micropython.embed import write_embedded

    with talk.stage("writing the embedded interpreter"):
        files = write_embedded(output, selection, board)
    talk.result(
        {"folder": str(output), "files": files, "operators": len(selection.kernels())},
        f"{output}: {len(files)} files, {len(selection.kernels())} operator overloads",
        f"  make -C {output / 'example'} run", *left_out(selection),
    )
