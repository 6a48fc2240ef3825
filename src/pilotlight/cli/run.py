"""`pilotlight run`: build, boot, run, compare with PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pilotlight.cli.connected import is_project, run_project
from pilotlight.cli.entries import refuse_options, run_entries
from pilotlight.cli.options import DIFFERENT, Request, Seconds, check_writable, chosen_inputs, model_command
from pilotlight.cli.streaming import streamed_wav
from pilotlight.cli.talk import Talk

if TYPE_CHECKING:
    from pilotlight.programs import ProgramBuild


@click.command("run", short_help="Build a model, boot the board, run it, compare with PyTorch.")
@model_command
@click.option("--inputs", "data", type=click.Path(path_type=Path), metavar="FILE",
              help="Run all samples in an .npz file: one array per input, samples along the first axis; an "
              "array named label holds their classes. With --stream: recordings, also a .wav file of any length.")
@click.option("--timeout", type=Seconds(), default=120.0, show_default=True, metavar="SECONDS",
              help="How long the board may take to answer.")
@click.option("--port", metavar="PORT",
              help="Of a project: the board's serial port, or tcp://HOST:PORT; default: found by its USB id.")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html",
              help="Also write an HTML report.")
def command(
    talk: Talk, request: Request, data: Path | None, timeout: float, port: str | None, report: Path | None
) -> int:
    """Build a model, boot the board, run it and compare the results with PyTorch.

    MODEL may also be the folder of a project whose application is the server: then the device that runs it is asked,
    and the emulated board of a project is booted with what was built.

    Runs the example inputs and seven seeded variations, or all of --inputs, in one boot; models with state
    are run again after a reset; quantized ones run 16 calibration samples, or up to 512 if these have labels,
    and must give the same bytes as the integer reference. Exits with 1 if the outputs differ.

    With --stream, recordings go through the model hop by hop; what comes out must be what PyTorch gives over the whole
    recording, or over each window.
    """
    if is_project(request, port):
        return run_project(talk, request, data, timeout, port, report)
    if report is not None:
        check_writable(report, "--report")
    found = request.compile_graphs(talk, to_run=True)
    if not isinstance(found, tuple):
        return _run_program(talk, found, data, timeout, report)
    build, graphs = found
    from pilotlight.report.streaming import timeline_tables
    from pilotlight.report.summary import run_title, summary_table
    from pilotlight.session import run_session

    if data is not None and data.suffix.lower() == ".wav":
        inputs, labels = streamed_wav(talk, build, data)
    else:
        inputs, labels = chosen_inputs(talk, build, graphs, data)
    with talk.stage(f"compiling for {build.board.name}"):
        _ = build.info
    with talk.stage(f"running on {build.board.name}") as stage:
        session = run_session(build, inputs, labels=labels, timeout=timeout, progress=stage.done)
    if graphs.compiled is not graphs.real and build.graph.streaming is None:
        from pilotlight.quantize.layers import worst_layers

        with talk.stage("comparing layers"):
            rows = inputs if inputs is not None else [build.graph.truth.example]
            session.worst_layers = [vars(row) for row in worst_layers(graphs.real, graphs.compiled, rows)]
    session.command = talk.command
    result = session.as_dict()
    if report is not None:
        from pilotlight.report.html import write_report

        write_report(result, report)
        talk.note(f"wrote {report}")
    talk.result(result, run_title(result), summary_table(result), *timeline_tables(result))
    loss = session.accuracy.loss if session.accuracy else None
    max_loss = request.max_loss
    if request.quantize == "auto" and data is None:
        max_loss = None  # it was checked on all calibration samples, with the same bytes as the board
    if max_loss is not None and (loss is None or loss > max_loss):
        reason = "there are no labels" if loss is None else f"accuracy fell by {loss:.2%}"
        talk.note(f"above --max-loss: {reason}, allowed {max_loss:.2%}")
        return DIFFERENT
    return 0 if session.match else DIFFERENT


def _run_program(talk: Talk, build: ProgramBuild, data: Path | None, timeout: float, report: Path | None) -> int:
    """The entry points in turns, on one state."""
    refuse_options(build, inputs=data, report=report)
    from pilotlight.report.summary import run_title, summary_table

    session = run_entries(talk, build, timeout)
    result = session.as_dict()
    talk.result(result, *(part for row in result["entries"].values() for part in (run_title(row), summary_table(row))))
    return 0 if session.match else DIFFERENT
