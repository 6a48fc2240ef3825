"""`pilotlight check-kernel`: kernels of a file against their references, on a board."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from pilotlight import boards
from pilotlight.cli.options import EMULATOR, TOOLCHAIN, common
from pilotlight.cli.talk import Talk
from pilotlight.options import Options
from pilotlight.report.style import BAD, GOOD, number, table

if TYPE_CHECKING:
    from pilotlight.check import Passed


@click.command("check-kernel", short_help="Check kernels of your own against their references.")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.py")
@click.option("--board", "names", multiple=True, metavar="NAME", help="A board to check on; may be repeated.")
@TOOLCHAIN
@EMULATOR
@common
@click.pass_obj
def command(talk: Talk, file: Path, names: tuple[str, ...], toolchain: str | None, emulator: str | None) -> int:
    """Run every kernel of a file against its reference: on an emulated board, and on this computer if it is portable.

    Sizes, parameters and numbers are generated; memory around the tensors is watched, declared overlaps, scratch and
    stack are tried. Exits with 1 if a kernel does not do what it declares.
    """
    found = [boards.load(name) for name in names or (boards.default_board(),)]
    with talk.loading_pytorch():
        from pilotlight.capture.kernels import load_kernels
        from pilotlight.check import KernelError, check_kernel
    with contextlib.redirect_stdout(sys.stderr), talk.stage(f"reading {file}"):  # what the file itself prints
        kernels = load_kernels(file)
    options = Options(toolchain=toolchain, emulator=emulator)
    grid = table()
    rows: list[dict[str, Any]] = []
    for head in ("kernel", "board", "shapes", "calls", "stack"):
        grid.add_column(head, justify="left" if head in ("kernel", "board") else "right")
    grid.add_column("")
    for kernel in kernels:
        for board in found:
            if not kernel.needs <= board.isa:
                lacks = ", ".join(sorted(kernel.needs - board.isa))
                grid.add_row(kernel.name, board.name, "-", "-", "-", f"not for this core: it lacks {lacks}")
                rows.append({"kernel": kernel.name, "board": board.name, "passed": None, "problem": f"lacks {lacks}"})
                continue
            with talk.stage(f"checking {kernel.name} on {board.name}"):
                try:
                    passed = check_kernel(kernel, board, options=options)
                except KernelError as error:
                    problem = error.message.removeprefix(f"kernel {kernel.name}: ")
                    rows.append({"kernel": kernel.name, "board": board.name, "passed": False, "problem": problem})
                    hint = f" ({error.hint})" if error.hint else ""
                    grid.add_row(kernel.name, board.name, "-", "-", "-", Text(f"{problem}{hint}", BAD))
                    continue
            rows.append({"kernel": kernel.name, "board": board.name, "passed": True, **_figures(vars(passed))})
            cells = [number(value) for value in (passed.shapes, passed.calls, passed.stack)]
            grid.add_row(kernel.name, board.name, *cells, Text("does what it declares", GOOD) + _only(passed))
    talk.result({"kernels": rows}, grid)
    return int(any(row["passed"] is False for row in rows))


def _only(passed: Passed) -> Text:
    """Says so where no board ran it."""
    return Text(" on this computer; its core is not emulated" if passed.on == ["host"] != [passed.board] else "")


def _figures(passed: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in passed.items() if key not in ("kernel", "board")}
