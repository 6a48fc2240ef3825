"""`pilotlight compile`: a folder of plain C, or a native module of MicroPython."""

from __future__ import annotations

from pathlib import Path

import click

from pilotlight.cli.entries import compiled_entries
from pilotlight.cli.native import write_native
from pilotlight.cli.options import Request, model_command
from pilotlight.cli.talk import Talk
from pilotlight.emit.output import check_folder
from pilotlight.errors import PilotlightError


@click.command("compile")
@model_command
@click.option("-o", "--output", required=True, metavar="FOLDER",
              help="Folder for the C files; created if missing. Only files that Pilotlight wrote are overwritten.")
@click.option("--format", "form", type=click.Choice(["c", "mpy"]), default="c", show_default=True,
              help="Plain C, or a native module of MicroPython: code in NAME.mpy, weights in NAME.bin.")
@click.option("--arch", metavar="NAME",
              help="mpy: the architecture, such as armv7emsp or rv32imc; --board names it too.")
@click.option("--romfs", is_flag=True, help="mpy: also write both files as NAME.romfs, a file system for flash.")
@click.option("--mip-url", default="", metavar="URL",
              help="mpy: where mip will find the files, if not beside package.json.")
@click.option("--dump", is_flag=True, help="Also print the graph after the passes.")
def command(
    talk: Talk, request: Request, output: str, form: str, arch: str | None, romfs: bool, mip_url: str, dump: bool
) -> None:
    """Write a model as plain C, ready to drop into a project, or as a native module of MicroPython.

    It is compiled for the board first: a model that does not fit is not written. Without the board's compiler
    the C is still written, but its code size is unknown.
    """
    if not output:
        raise PilotlightError('-o "" names no folder', hint="write -o FOLDER, or -o . for this one", kind="usage")
    folder = Path(output)
    check_folder(folder)
    if form == "mpy":
        write_native(talk, request, folder, arch, romfs, mip_url, dump)
        return
    for option, value in {"--arch": arch, "--romfs": romfs, "--mip-url": mip_url}.items():
        if value:
            raise PilotlightError(f"{option} is for native modules", hint="add --format mpy", kind="usage")
    build = request.compile(talk)
    with talk.stage(f"compiling for {build.board.name}"):
        info = build.build_for(build.board, need_compiler=False)
    build.write(folder)
    from pilotlight.programs import ProgramBuild

    if isinstance(build, ProgramBuild):
        data, shown = compiled_entries(build, info, folder)
        graphs = [str(entry.lowered) for entry in build.entries.values()]
        talk.result(data | ({"graph": "\n".join(graphs)} if dump else {}), *shown, *(graphs if dump else []))
        return
    from pilotlight.figures.build import figures
    from pilotlight.figures.files import file_rows
    from pilotlight.figures.record import hardware
    from pilotlight.report.files import files_table
    from pilotlight.report.summary import summary_table

    rows, numbers = file_rows(build), figures(build, info)
    data = {"name": build.name, "board": build.board.name, "target": build.board.cpu, "folder": str(folder),
            "files": rows, "hardware": hardware(build.board), **numbers}
    shown = [files_table(rows, str(folder)), summary_table(data)]
    if dump:
        data["graph"] = str(build.lowered)
        shown.append(str(build.lowered))
    talk.result(data, *shown)
