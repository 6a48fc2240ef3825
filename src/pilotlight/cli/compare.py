"""`pilotlight compare`: layer by layer, on the board and in PyTorch."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from pilotlight.cli.connected import is_project, project_model
from pilotlight.cli.options import DIFFERENT, Request, Seconds, model_command
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

SAMPLES = 16


@click.command("compare", short_help="Compare every layer on a board with PyTorch.")
@model_command
@click.option("--inputs", "data", type=click.Path(path_type=Path), metavar="FILE.npz",
              help="Run the samples in a file, one after another: one array per input, samples along the first axis.")
@click.option("--timeout", type=Seconds(), default=120.0, show_default=True, metavar="SECONDS",
              help="How long the board may take to answer.")
@click.option("--against", type=click.Choice(["pytorch", "tflm", "litert", "onnxruntime"]),
              help="Say what the truth has to be: the model's own framework is always asked.")
@click.option("--port", metavar="PORT",
              help="Of a project: the board's serial port, or tcp://HOST:PORT; default: found by its USB id.")
def command(
    talk: Talk, request: Request, data: Path | None, timeout: float, against: str | None, port: str | None
) -> int:
    """Run a model on the board, read what every layer leaves in memory, and show where it parts from PyTorch.

    A float layer is compared with the tensor that the module itself computes there; a quantized one must give the
    bytes of the integer reference, and its signal over noise against the float model is shown. Runs the example, a
    model with state three times. Exits with 1 if a layer or an output is not what it should be.

    MODEL may also be the folder of a project whose application is the server, built with WATCH_BYTES: then the device
    that runs it is asked.
    """
    folder = Path(request.model) if is_project(request, port) else None
    found = request.compile_graphs(talk, to_run=True) if folder is None else project_model(talk, request)
    if not isinstance(found, tuple):
        raise PilotlightError(
            f"comparing layers is not supported for {found.name}, which has the entry points "
            f"{', '.join(found.entries)}", hint="name a model with one entry point", kind="unsupported",
        )
    build, graphs = found
    if build.graph.streaming is not None:
        raise PilotlightError(
            "comparing layers is not supported for streaming models", kind="unsupported",
            hint="compare the model without --stream; `run --stream` compares what comes out of the stream",
        )
    truth = build.graph.truth.name
    if against is not None and against != truth.lower().replace(" ", ""):
        raise PilotlightError(
            f"{request.model} is compared with {truth}; --against {against} cannot change that",
            hint="omit --against", kind="usage",
        )
    from pilotlight.passes.pipeline import optimize
    from pilotlight.projects.connect import connect_project
    from pilotlight.quantize.fallbacks import fallback_costs
    from pilotlight.quantize.layers import layer_snr
    from pilotlight.report.comparison import layers_table, layers_text
    from pilotlight.report.summary import run_title
    from pilotlight.session import compare_layers, read_inputs

    inputs = None
    if data is not None:
        inputs, _ = read_inputs(data, build.graph.inputs)
    elif graphs.samples and not build.graph.states:
        inputs = graphs.samples[:1]
    if folder is None:
        with talk.stage(f"compiling for {build.board.name}"):
            _ = build.info
    there = None if folder is None else connect_project(folder, build, port, timeout, look=True)
    with there or contextlib.nullcontext() as device, talk.stage(f"comparing layers on {build.board.name}") as stage:
        comparison = compare_layers(build, inputs, connected=device, timeout=timeout, progress=stage.done)
    more = {}
    if graphs.samples:
        with talk.stage("comparing with the float model"):
            noise = layer_snr(graphs.real, graphs.compiled, graphs.samples[:SAMPLES])
            comparison.add_noise(noise)
            more = {
                "samples": min(SAMPLES, len(graphs.samples)), "layers": [vars(row) for row in noise],
                "float": fallback_costs(optimize(graphs.compiled.clone())),
            }
    result = comparison.as_dict() | more
    talk.result(result, run_title(result), layers_table(result), *layers_text(result))
    return 0 if comparison.match else DIFFERENT
