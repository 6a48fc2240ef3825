"""A program on a board: its entry points called in turns on one state, and compared with the module's own methods."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pilotlight.capture.reference import variations
from pilotlight.errors import PilotlightError
from pilotlight.figures.build import figures
from pilotlight.figures.record import FORMAT, hardware
from pilotlight.graph import Program
from pilotlight.graph.lengths import vary_lengths
from pilotlight.graph.program import mixed
from pilotlight.measure.compare import Truth, identical
from pilotlight.measure.profile import profile
from pilotlight.programs import ProgramBuild, RunningProgram
from pilotlight.report.notebook import as_html
from pilotlight.report.style import console
from pilotlight.report.summary import run_title, summary_table
from pilotlight.session.inputs import possible
from pilotlight.session.matching import compare_outputs
from pilotlight.session.result import Session
from pilotlight.session.run import instructions_for_speed

Call = tuple[str, list[torch.Tensor]]  # an entry point and its flat inputs
CALLS = 4  # of each entry point on average


@dataclass
class ProgramSession:
    """What a run of a program showed: a `Session` for each entry point that was called."""

    build: ProgramBuild
    entries: dict[str, Session]

    @property
    def match(self) -> bool:
        """Whether all outputs of all calls are what they should be, and again after a reset."""
        return all(session.match for session in self.entries.values())

    @property
    def warnings(self) -> list[str]:
        """Why a match may show less than it seems to."""
        return [f"{name}: {text}" for name, session in self.entries.items() for text in session.warnings]

    @property
    def command(self) -> str | None:
        """As typed, if any."""
        return next(iter(self.entries.values())).command

    @command.setter
    def command(self, typed: str) -> None:
        for session in self.entries.values():
            session.command = typed

    def as_dict(self) -> dict[str, Any]:
        """The object that `run --json` prints."""
        return {
            "format": FORMAT, "name": self.build.name, "board": self.build.board.name, "target": self.build.board.cpu,
            "hardware": hardware(self.build.board), "match": self.match,
            "entries": {name: session.as_dict() for name, session in self.entries.items()},
        }

    def show(self) -> None:
        """Print the facts, as `pilotlight run` does."""
        out = console(sys.stdout)
        for session in self.entries.values():
            data = session.as_dict()
            out.print(run_title(data), summary_table(data))

    def _repr_html_(self) -> str:
        """For notebooks: the facts that a terminal shows."""
        rows = [session.as_dict() for session in self.entries.values()]
        return as_html(*(part for row in rows for part in (run_title(row), summary_table(row))))


def usual_calls(program: Program) -> list[Call]:
    """The entry points in turns, with their examples and variations of them, as far as the module itself takes them."""
    order = mixed(list(program.entries), CALLS * len(program.entries))
    samples = {}
    for name, graph in program.entries.items():
        example = graph.truth.example
        samples[name] = [example, *vary_lengths(graph.inputs, variations(example, len(order)))]
    seen: Counter[str] = Counter()
    calls = []
    for name in order:
        calls.append((name, samples[name][seen[name]]))
        seen[name] += 1
    answers = program.reference.along(order).in_float32()
    return possible(answers, calls, len(program.entries), lambda call: call[1])


def run_program(
    build: ProgramBuild, calls: Sequence[Call] | None = None, *, timeout: float = 120.0, count: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> ProgramSession:
    """Call the entry points in the given order, or in turns, in one boot, twice from the first state, and compare with
    PyTorch. `progress` is called with the number of calls done and in total."""
    calls = usual_calls(build.program) if calls is None else list(calls)
    order = [name for name, _ in calls]
    unknown = [name for name in order if name not in build.entries]
    if unknown or not calls:
        raise PilotlightError(
            f"there is no entry point {unknown[0]!r}" if unknown else "there are no calls to run",
            hint=f"there are: {', '.join(build.entries)}", kind="usage",
        )
    truth = Truth(build.program.reference.along(order), [inputs for _, inputs in calls])
    with build.open(timeout=timeout, count=count) as running:
        first, second = (_run_all(running, calls, k, progress) for k in range(2))
    sessions = {}
    for name, entry in build.entries.items():
        runs = [k for k, called in enumerate(order) if called == name]
        if not runs:
            continue
        number = list(build.entries).index(name)
        counts = running.device.entry_counts(number)
        measured = profile(entry.runnable_info, counts) if counts is not None and counts.runs else None
        names = [p.name for p in entry.graph.outputs if not p.is_size]
        outputs, own = [first[k] for k in runs], truth.of_runs(runs)
        repeated = all(identical(a, b) for k in runs for a, b in zip(first[k], second[k], strict=True))
        matches, _ = compare_outputs(entry, own, [calls[k][1] for k in runs], outputs, names)
        session = Session(
            entry, entry.runnable_info, outputs, own, matches, repeated, measured,
            running.device.counts_reason, running.device.stack, running.device.emulator, counts,
        )
        before = instructions_for_speed(entry, calls[runs[0]][1], timeout) if entry.saving and measured else None
        session.figures = figures(entry, entry.runnable_info, measured, before)
        sessions[name] = session
    return ProgramSession(build, sessions)


def _run_all(
    running: RunningProgram, calls: Sequence[Call], done: int, progress: Callable[[int, int], None] | None
) -> list[list[torch.Tensor]]:
    running.reset()
    results = []
    for number, (name, inputs) in enumerate(calls, done * len(calls) + 1):
        results.append(running.entry(name).flat(inputs))
        if progress is not None:
            progress(number, 2 * len(calls))
    return results
