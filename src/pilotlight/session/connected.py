"""A model on a device that is there already: run it, compare with PyTorch, and say what each operator took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pilotlight.capture.reference import variations
from pilotlight.compiler import Build, Running
from pilotlight.device import Device
from pilotlight.errors import PilotlightError
from pilotlight.figures.record import FORMAT, hardware
from pilotlight.graph.lengths import vary_lengths
from pilotlight.measure.compare import OutputMatch, Truth, identical
from pilotlight.ops import get
from pilotlight.ops.describe import describe_op, describe_type
from pilotlight.programs import ProgramBuild
from pilotlight.session.accuracy import Accuracy, accuracy, agreement, snr_db
from pilotlight.session.inputs import possible
from pilotlight.session.matching import compare_outputs
from pilotlight.session.program import Call, usual_calls

Progress = Callable[[int, int], None]


@dataclass
class ConnectedSession:
    """One entry point: what its calls gave. `cycles` and `operators` are of the first call, as the device's own counter
    has them; None where it counts nothing."""

    build: Build
    outputs: list[OutputMatch]
    compared_with: str
    runs: int
    repeated: bool  # models with state: the same again after a reset
    cycles: int | None
    operators: list[dict[str, Any]] | None
    accuracy: Accuracy | None = None
    snr_db: list[float | None] | None = None
    agreement: list[float | None] | None = None

    @property
    def match(self) -> bool:
        return self.repeated and all(row.match for row in self.outputs)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.build.name, "match": self.match, "compared_with": self.compared_with, "runs": self.runs,
            "outputs": [vars(row) for row in self.outputs], "cycles": self.cycles, "operators": self.operators,
            "accuracy": self.accuracy.as_dict() if self.accuracy else None, "snr_db": self.snr_db,
            "agreement": self.agreement, "snr_against": "the float model",
            "warnings": [text for row in self.outputs for text in row.warnings],
        }


@dataclass
class ConnectedRun:
    """What a device showed: a session for each entry point; a model with one has it under the name ''."""

    board: str
    device: str
    emulator: str | None
    stack: int | None
    log: list[str]
    hardware: dict[str, Any]
    sessions: dict[str, ConnectedSession]

    @property
    def match(self) -> bool:
        return all(session.match for session in self.sessions.values())

    def as_dict(self) -> dict[str, Any]:
        """The object that `run --json` prints for a project."""
        rows = {name: session.as_dict() for name, session in self.sessions.items()}
        return {
            "format": FORMAT, "board": self.board, "device": self.device, "emulator": self.emulator,
            "hardware": self.hardware, "stack": self.stack, "log": self.log, "match": self.match,
            **(rows[""] if list(rows) == [""] else {"entries": rows}),
        }


def run_connected(
    build: Build | ProgramBuild, device: Device, inputs: list[list[torch.Tensor]] | None = None, *,
    labels: torch.Tensor | None = None, progress: Progress | None = None,
) -> ConnectedRun:
    """The example and seven variations or the given inputs; entry points in turns; what has state twice, from its
    beginning."""
    if isinstance(build, ProgramBuild):
        calls, parts = usual_calls(build.program), _builds(build)
        truth = Truth(build.program.reference.along([name for name, _ in calls]), [row for _, row in calls])
        stateful = True
    else:
        rows = _usual_rows(build) if inputs is None else inputs
        calls, parts = [("", row) for row in rows], {"": build}
        truth, stateful = Truth(build.graph.truth, rows), bool(build.graph.states)
    asked = _Asked(device, parts, len(calls) * (2 if stateful else 1), progress)
    first = asked.all(calls)
    second = asked.all(calls) if stateful else first
    sessions = {}
    for name, part in parts.items():
        places = [k for k, (called, _) in enumerate(calls) if called == name]
        if places:
            own = truth.of_runs(places)
            got, given = [first[k] for k in places], [calls[k][1] for k in places]
            names = [port.name for port in part.graph.outputs if not port.is_size]
            matches, other = compare_outputs(part, own, given, got, names)
            repeated = all(identical(a, b) for k in places for a, b in zip(first[k], second[k], strict=True))
            session = ConnectedSession(part, matches, other, len(places), repeated, *asked.costs[name])
            if part.lowered.quantization is not None:
                session.snr_db, session.agreement = snr_db(own, got), agreement(own, got)
            if labels is not None:
                session.accuracy = accuracy(part, own, got, given, labels)
            sessions[name] = session
    board = build.board
    return ConnectedRun(
        board.name, device.name, device.emulator, device.stack, list(device.log), hardware(board), sessions
    )


def _builds(build: ProgramBuild) -> dict[str, Build]:
    return {**build.entries}


def _usual_rows(build: Build) -> list[list[torch.Tensor]]:
    example = build.graph.truth.example
    rows = [example, *vary_lengths(build.graph.inputs, variations(example))]
    if any(port.is_size for port in build.graph.inputs):  # longer ones may fill a cache
        rows = possible(build.graph.truth.in_float32(), rows, 1, lambda row: row)
    return rows


class _Asked:
    """Calls on the device, and what the first one of each entry point cost."""

    def __init__(self, device: Device, parts: dict[str, Build], total: int, progress: Progress | None):
        self._device, self._parts, self._total, self._progress = device, parts, total, progress
        self._running = {name: Running(device, part.lowered, k) for k, (name, part) in enumerate(parts.items())}
        self._done = 0
        self.costs: dict[str, tuple[int | None, list[dict[str, Any]] | None]] = {}

    def all(self, calls: Sequence[Call]) -> list[list[torch.Tensor]]:
        self._device.reset()
        results = []
        for name, row in calls:
            results.append(self._running[name].flat(row))
            if name not in self.costs:
                self.costs[name] = self._cost(name)
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)
        return results

    def _cost(self, name: str) -> tuple[int | None, list[dict[str, Any]] | None]:
        part, entry = self._parts[name], list(self._parts).index(name)
        cycles = self._device.step_cycles(entry)
        if cycles is None:
            return self._device.marks().cycles, None
        if len(cycles) != len(part.plan.steps):
            raise PilotlightError(
                f"{self._device.name} counts {len(cycles)} steps of {part.name}, which has {len(part.plan.steps)}",
                hint="build and flash the project again", kind="protocol",
            )
        rows = [
            {
                "index": k, "op": node.op, "what": describe_op(node), "type": describe_type(node),
                "module": node.place.module, "source": node.place.source, "cycles": count,
                "macs": get(node.op).macs(node),
            }
            for k, (node, count) in enumerate(zip(part.plan.steps, cycles, strict=True))
        ]
        return self._device.marks().cycles, rows
