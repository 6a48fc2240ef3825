"""What measurements of single layers are worth for the whole model: compiled with and without them, run, compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pilotlight.compiler import Build, compile
from pilotlight.errors import PilotlightError
from pilotlight.measure.profile import Profile
from pilotlight.session import run_session
from pilotlight.trials.search import Search
from pilotlight.tune.costs import Cost

SLOWER = "slower in the network"


@dataclass(frozen=True)
class Whole:
    """A model on its board: what one run takes, and whether the outputs are right."""

    build: Build
    profile: Profile
    match: bool
    figures: dict[str, Any]

    @property
    def cost(self) -> int:
        return self.profile.instructions if self.profile.cycles is None else self.profile.cycles


def confirm(search: Search, file: Path, inputs: list[list[torch.Tensor]] | None = None) -> tuple[Whole, Whole]:
    """The model without and with the measurements, which are written to the file. Kernels that make the network slower
    than the usual ones do, because of what the compiler makes of the code around them, are marked so."""
    before = run_whole(search.build, inputs)
    while True:
        search.costs.write(file)
        after = run_whole(tuned_build(search.build, file), inputs)
        if not after.match:
            raise PilotlightError(
                f"{after.build.name} gives other results with the kernels of {file}",
                where=f"board {after.build.board.name}", hint="please report this, with the file", kind="mismatch",
            )
        changed = _changed(search, after.build)
        if after.cost <= before.cost or not changed:
            return before, after
        for key, kernel in changed:
            search.costs.layers[key][kernel] = Cost(failure=SLOWER)


def tuned_build(build: Build, file: Path) -> Build:
    """The same model with kernels from a file of measurements."""
    options = replace(build.options, tuned=(file,))
    return compile(build.graph, build.board, name=build.name, options=options, passes=build.passes)


def run_whole(build: Build, inputs: list[list[torch.Tensor]] | None = None) -> Whole:
    example = None if build.graph.streaming else [build.graph.truth.example]
    session = run_session(build, inputs or example)
    if session.profile is None:
        raise PilotlightError(
            f"nothing was counted: {session.counts_reason}", where=f"board {build.board.name}", kind="not-countable"
        )
    return Whole(build, session.profile, session.match, session.figures)


def _changed(search: Search, build: Build) -> list[tuple[str, str]]:
    """Layers that got another kernel than the usual one."""
    names = {node.output.name: choice.candidate.name for node, choice in build.selection.choices.items()}
    found = [(layer.key, names[layer.node.output.name], search.default(layer)) for layer in search.layers]
    return [(key, kernel) for key, kernel, usual in dict.fromkeys(found) if kernel != usual]
