"""The order of the passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pilotlight.backends import Backend
from pilotlight.backends.partition import hand_over
from pilotlight.errors import PilotlightError
from pilotlight.fixed import TFLM
from pilotlight.graph import Graph, verify
from pilotlight.passes.activation import absorb_padding, fuse_clamps
from pilotlight.passes.affine import fold_affine
from pilotlight.passes.clean import fold_constants, remove_dead, separate_outputs
from pilotlight.passes.constant_channels import drop_constant_channels
from pilotlight.passes.fuse import fuse_pointwise
from pilotlight.passes.integer import integer_ports, to_integers
from pilotlight.passes.integer_states import integer_states
from pilotlight.passes.layout import optimize_layout
from pilotlight.passes.transforms import absorb_fft_windows, join_powers
from pilotlight.passes.weights import keep_integer_weights
from pilotlight.passes.windows import absorb_windows

Pass = Callable[[Graph], Graph]
Passes = Sequence[tuple[str, Pass]]
HAND_OVER = "hand parts to backends"


def passes(keep_io: bool = False, float_io: bool = False, keep_states: bool = False) -> list[tuple[str, Pass]]:
    """Names and passes in order: a list to add your own passes to, for `compile(graph, passes=...)`."""
    return [
        ("fold constants", fold_constants),
        ("remove dead code", remove_dead),
        ("optimize layout", lambda g: optimize_layout(g, keep_io=keep_io, keep_states=keep_states)),
        ("fold scale and shift", fold_affine),
        ("fuse clamps", fuse_clamps),
        ("go integer", to_integers),
        ("keep states integer", (lambda g: g) if keep_states else integer_states),
        ("keep weights integer", keep_integer_weights),
        ("make ports integer", (lambda g: g) if float_io else integer_ports),
        ("absorb padding", absorb_padding),
        ("drop constant channels", drop_constant_channels),
        ("fold constants again", fold_constants),
        ("separate outputs", separate_outputs),
        (HAND_OVER, lambda g: g),  # `optimize` knows the backends
        ("join powers", join_powers),
        ("absorb windows of transforms", absorb_fft_windows),
        ("absorb windows", absorb_windows),
        ("fuse pointwise chains", fuse_pointwise),
        ("remove dead code again", remove_dead),
    ]


def optimize(
    graph: Graph, *, keep_io: bool = False, float_io: bool = False, keep_states: bool = False, check: bool = False,
    chosen: Passes | None = None, backends: Sequence[Backend] = (),
) -> Graph:
    """Run every pass, on subgraphs first, which backends are not offered; with `check` the graph is verified after
    each. Passes in `chosen` replace ours for the graph itself."""
    if float_io and graph.numerics == TFLM:
        raise PilotlightError(
            "under the numerics of TFLM inputs and outputs are integers; float ones are not supported",
            hint="omit --float-io: the header has functions that convert numbers", kind="unsupported",
        )
    if backends and chosen is not None and HAND_OVER not in dict(chosen):
        raise PilotlightError(
            f"backends are given, but no pass is called {HAND_OVER!r}",
            hint="start from default_passes(), which has one", kind="usage",
        )
    for node in graph.nodes:
        for attribute, inner in node.subgraphs.items():
            node.attrs[attribute] = optimize(inner, keep_io=True, float_io=True, check=check)
    for name, step in passes(keep_io, float_io, keep_states) if chosen is None else chosen:
        graph = hand_over(remove_dead(step(graph)), backends) if name == HAND_OVER and backends else step(graph)
        if check:
            verify(graph, after=name)
    return graph
