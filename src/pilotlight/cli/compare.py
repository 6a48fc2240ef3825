"""`pilotlight compare`: which layers of a quantized model lose most."""

from __future__ import annotations

import click

from pilotlight.cli.options import Request, model_command
from pilotlight.cli.talk import Talk

SAMPLES = 16


@click.command("compare", short_help="Show which layers of a quantized model lose most.")
@model_command
def command(talk: Talk, request: Request) -> None:
    """Run the quantized model and the float model side by side on the host and compare every layer.

    Needs --quantize and --calibrate. Prints signal over noise per layer, worst first, and what stays float.
    """
    graphs = request.graphs(talk)
    from pilotlight.passes.pipeline import optimize
    from pilotlight.quantize.fallbacks import fallback_costs
    from pilotlight.quantize.layers import layer_snr
    from pilotlight.report.comparison import comparison_table, comparison_title

    with talk.stage("comparing layers"):
        rows = layer_snr(graphs.real, graphs.compiled, graphs.samples[:SAMPLES])
        fallbacks = fallback_costs(optimize(graphs.compiled.clone()))
    result = {
        "name": graphs.real.name,
        "samples": min(SAMPLES, len(graphs.samples)),
        "layers": [vars(row) for row in rows],
        "float": fallbacks,
    }
    talk.result(result, comparison_title(result), comparison_table(result))
