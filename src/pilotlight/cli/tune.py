"""`pilotlight tune`: kernels chosen by measurement."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pilotlight.cli.options import DIFFERENT, Request, check_writable, model_command
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    from pilotlight.trials.confirm import Whole
    from pilotlight.trials.search import Search

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Duration(click.ParamType):
    """A time: 90, 90s, 10m or 1h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value).strip())
        if match is None or not float(match[1]):
            self.fail(f"{value!r} is not a time; write 90s, 10m or 1h", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


@click.command("tune", short_help="Measure kernels on the emulated core and keep the best.")
@model_command
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where measurements go. If there is such a file, what is in it is not measured again.")
@click.option("--time", "seconds", type=Duration(), metavar="TIME", help="Stop after 90s, 10m or 1h.")
@click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Measure at most N candidates.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; default: one for each core.")
@click.option("--dask", metavar="tcp://HOST:PORT", help="The scheduler of a Dask cluster whose workers measure.")
@click.option("--device", "port", metavar="PORT",
              help="Also time the best candidates on a board whose device server has a window: /dev/ttyACM0, tcp://…")
@click.option("--confirm", "project", type=click.Path(path_type=Path), metavar="DIR",
              help="A project of this model with the device server: flash it with and without what was found, and keep "
              "what the board's counter of cycles confirms.")
@click.option("--with", "tool", metavar="TOOL", help="With --confirm: what flashes, as for `pilotlight flash`.")
@click.option("--explain", is_flag=True, help="Show for each layer what won over what, and by how much.")
def command(
    talk: Talk, request: Request, out: Path, seconds: float | None, trials: int | None, jobs: int | None,
    dask: str | None, port: str | None, project: Path | None, tool: str | None, explain: bool,
) -> int:
    """Try the kernels that can compute each layer, with patches and packing of many sizes, on the emulated core:
    hundreds in a few images, each compared with the integers that the layer has to give and counted exactly. Then plan
    the whole model again with what was learned, and run it with and without.

    `compile`, `run` and `inspect` read the file with --tuned FILE. It holds for layers of the same shapes in any model
    on the same kind of core, and is refused after kernels or compiler changed. Ctrl-C keeps what was found.
    """
    check_writable(out, "--out")
    if dask is not None and jobs is not None:
        raise PilotlightError("--jobs is for this computer, --dask for others", hint="omit one of them", kind="usage")
    if tool is not None and project is None:
        raise PilotlightError("--with is for --confirm", hint="add --confirm DIR", kind="usage")
    build = request.compile(talk, to_run=True)
    from pilotlight.device import connect
    from pilotlight.fleet import chosen_workers, usable_cores
    from pilotlight.trials.confirm import confirm, place, run_whole, tuned_build
    from pilotlight.trials.flashed import ServerProject, confirm_flashed
    from pilotlight.trials.placement import incomparable
    from pilotlight.trials.search import Limits, Search
    from pilotlight.trials.window import WindowTrials
    from pilotlight.tune.costs import read_costs

    if build.options.optimize != "speed":
        raise PilotlightError(
            f"tuning looks for speed, not for what --optimize {build.options.optimize} is for",
            hint="omit --optimize", kind="usage",
        )
    known = [*build.options.tuned, *([out] if out.exists() else [])]
    search = Search(_without_measurements(build, request), read_costs(known, build.board, build.options.toolchain))
    if not search.layers and incomparable(build.board, search.build.options):
        raise PilotlightError(
            f"no layer of {build.name} has more than one kernel on {build.board.name}",
            hint="integer layers have several: --quantize int8", kind="nothing-to-tune",
        )
    flash = None if project is None else ServerProject(project, build, port, tool)
    interrupted = False
    with talk.stage(f"measuring on {build.board.name}") as stage:

        def progress(now: Search) -> None:
            now.costs.write(out)
            usual, best = now.best()
            stage.text = f"measuring on {now.build.board.name}, best so far {_percent(usual, best)} less"
            stage.done(now.measured, now.measured + now.left)

        try:
            with chosen_workers(jobs or usable_cores(), dask, talk.note) as workers:
                search.run(Limits(seconds, trials), workers, progress)
        except KeyboardInterrupt:
            interrupted = True
            talk.note("interrupted: what was measured is kept")
    if port is not None and not interrupted:
        with talk.stage(f"timing on {port}") as stage, connect(port) as board:
            search.time(WindowTrials(board, build.board, build.options.toolchain), stage.done)
    search.costs.write(out)
    with talk.stage(f"running on {build.board.name} with and without"):
        before, after = confirm(search, out)
        placed, places = place(search, out, after)
    flashed = None
    if flash is not None and not interrupted:
        with talk.stage(f"flashing {project} with and without") as stage, flash:
            flashed = confirm_flashed(search, out, flash, stage.done)
        if flashed.dropped:
            after = placed = run_whole(tuned_build(search.build, out))
            places = replace(places, best=placed.build.place, reason="others were not faster in flash")
    result = _result(search, before, after, out) | {
        "placement": places.as_dict(build.board), "flash": flashed.as_dict() if flashed else None}
    from pilotlight.report import tuning as report

    more = [report.placement_table(result["placement"])] if explain and places.tried else []
    more += [report.layers_table(result["layers"])] if explain else []
    said = [report.gain_text(result), report.placement_text(result["placement"])]
    said += [report.flash_text(result["flash"])] if result["flash"] else []
    talk.result(result, report.whole_table(result), *said, *more)
    if flashed is not None:
        talk.note(f"the files of {project} are as they were, the board has the last program that was tried; "
                  f"`pilotlight build {project}` and `pilotlight flash {project}` write it again")
    for failure in search.failures():
        talk.note(f"{failure.kernel} was dropped for {failure.layer.partition(' #')[0]}: {failure.why}")
    return 130 if interrupted else 0 if before.match and placed.match else DIFFERENT


def _without_measurements(build: Any, request: Request) -> Any:
    """The build that the others are compared with."""
    from pilotlight.compiler import compile
    from pilotlight.programs import ProgramBuild, compile_program

    if not build.options.tuned:
        return build
    usual = replace(build.options, tuned=(), weights_in=request.choices["weights_in"])
    if isinstance(build, ProgramBuild):
        return compile_program(build.program, build.board, options=usual, passes=build.passes)
    return compile(build.graph, build.board, options=usual, passes=build.passes)


def _percent(before: int, after: int) -> str:
    return f"{100 * (1 - after / before):.1f} %" if before else "0.0 %"


def _result(search: Search, before: Whole, after: Whole, out: Path) -> dict[str, Any]:
    """The object that `tune --json` prints."""
    from pilotlight.figures.tuning import layer_row, whole_row

    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for layer, now in zip(search.layers, search.kernels(after.build), strict=True):
        row = layer_row(layer, search.costs, search.default(layer), now)
        rows.setdefault((layer.key, now), row | {"times": 0})["times"] += 1
    return {
        "name": after.build.name, "board": after.build.board.name, "file": str(out), "match": after.match,
        "default": whole_row(before.instructions, before.cycles, before.figures),
        "tuned": whole_row(after.instructions, after.cycles, after.figures),
        "gain": 1 - after.cost / before.cost if before.cost else 0.0,
        "measured": search.total - search.left, "candidates": search.total, "left": search.left,
        "rate": 60 * search.measured / search.seconds if search.seconds else None,
        "failures": [vars(failure) for failure in search.failures()], "layers": list(rows.values()),
    }
