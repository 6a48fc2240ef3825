"""What measurements of single layers are worth for the whole model: compiled with and without them, run, compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pilotlight.compiler import Build, compile
from pilotlight.errors import PilotlightError
from pilotlight.measure.profile import Profile
from pilotlight.programs import ProgramBuild, compile_program
from pilotlight.session import Session, run_program, run_session
from pilotlight.trials.placement import Part, Placements, compare_placements
from pilotlight.trials.search import Search
from pilotlight.tune.costs import Cost
from pilotlight.tune.places import place_key

SLOWER = "slower in the network"


@dataclass(frozen=True)
class Whole:
    """A model on its board: what one run of each entry point takes, and whether all outputs are right."""

    build: Build | ProgramBuild
    sessions: tuple[Session, ...]  # one for each entry point

    @property
    def match(self) -> bool:
        return all(session.match for session in self.sessions)

    @property
    def profiles(self) -> list[Profile]:
        return [session.profile for session in self.sessions if session.profile is not None]

    @property
    def profile(self) -> Profile:
        """Of the first entry point."""
        return self.profiles[0]

    @property
    def figures(self) -> dict[str, Any]:
        """Of its flash and RAM, which entry points share."""
        return self.sessions[0].figures

    @property
    def instructions(self) -> int:
        return sum(profile.instructions for profile in self.profiles)

    @property
    def cycles(self) -> int | None:
        """As estimated; None where the core has no table."""
        cycles = [profile.cycles for profile in self.profiles if profile.cycles is not None]
        return sum(cycles) if len(cycles) == len(self.sessions) else None

    @property
    def cost(self) -> int:
        return self.instructions if self.cycles is None else self.cycles

    @property
    def parts(self) -> list[Part]:
        """What was counted, as far as cycles are known."""
        return [
            Part(session.info, session.counts, session.profile.cycles) for session in self.sessions
            if session.counts is not None and session.profile is not None and session.profile.cycles is not None
        ]

    @property
    def with_waits(self) -> int | None:
        """Estimated cycles, those that the core waits for memories among them."""
        timings = [profile.timing.total for profile in self.profiles if profile.timing is not None]
        return sum(timings) if len(timings) == len(self.sessions) else None


def confirm(search: Search, file: Path, inputs: list[list[torch.Tensor]] | None = None) -> tuple[Whole, Whole]:
    """The model without and with the measurements, which are written to the file. Kernels that make the network slower
    than the usual ones do, because of what the compiler makes of the code around them, are marked so."""
    search.costs.places.pop(_key(search.build), None)  # of an earlier search
    before = run_whole(search.build, inputs)
    while True:
        search.costs.write(file)
        after = run_whole(tuned_build(search.build, file), inputs)
        if not after.match:
            raise PilotlightError(
                f"{after.build.name} gives other results with the kernels of {file}",
                where=f"board {after.build.board.name}", hint="please report this, with the file", kind="mismatch",
            )
        if after.cost <= before.cost or not mark_slower(search, after.build):
            return before, after


def mark_slower(search: Search, build: Build | ProgramBuild, why: str = SLOWER) -> bool:
    """Say of kernels that took the place of the usual ones why they are no longer used; whether there are any."""
    changed = [
        (layer.key, kernel) for layer, kernel in zip(search.layers, search.kernels(build), strict=True)
        if kernel != search.default(layer)
    ]
    for key, kernel in changed:
        search.costs.layers[key][kernel] = Cost(failure=why)
    return bool(changed)


def tuned_build(build: Build | ProgramBuild, file: Path) -> Build | ProgramBuild:
    """The same model with kernels from a file of measurements."""
    options = replace(build.options, tuned=(file,))
    if isinstance(build, ProgramBuild):
        return compile_program(build.program, build.board, options=options, passes=build.passes)
    return compile(build.graph, build.board, name=build.name, options=options, passes=build.passes)


def run_whole(build: Build | ProgramBuild, inputs: list[list[torch.Tensor]] | None = None) -> Whole:
    """One boot; a model with several entry points is called as `run` calls it."""
    if isinstance(build, ProgramBuild):
        sessions = tuple(run_program(build).entries.values())
    else:
        example = None if build.graph.streaming else [build.graph.truth.example]
        sessions = (run_session(build, inputs or example),)
    for session in sessions:
        if session.profile is None:
            raise PilotlightError(
                f"nothing was counted: {session.counts_reason}", where=f"board {build.board.name}",
                kind="not-countable",
            )
    return Whole(build, sessions)


def place(
    search: Search, file: Path, after: Whole, inputs: list[list[torch.Tensor]] | None = None
) -> tuple[Whole, Placements]:
    """The model in the memories with the fewest estimated cycles, which the file says from then on; as it is where no
    other placement is better, or where a run does not confirm it."""
    build = after.build
    found = compare_placements(after.parts, build.board, search.build.options)
    if found.best is None:
        return after, found
    search.costs.places[_key(build)] = found.best
    search.costs.write(file)
    placed = after
    if found.best.weights:
        placed = run_whole(tuned_build(search.build, file), inputs)
        now, before = placed.with_waits, after.with_waits
        if not placed.match or placed.build.place != found.best or now is None or before is None or now >= before:
            del search.costs.places[_key(build)]
            search.costs.write(file)
            return after, replace(found, best=None, reason=f"{found.best.text} was not better when it was run")
    return placed, found


def _key(build: Build | ProgramBuild) -> str:
    return place_key(build.board, build.name, build.lowered_graphs)
