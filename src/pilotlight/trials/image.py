"""One image with many candidates: an entry point for each, run once, counted, and compared with the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from pilotlight import device, ops, toolchain
from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.codegen.target import Target
from pilotlight.compiler import memories
from pilotlight.device import Device
from pilotlight.emit.module import emit_program
from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.graph import Graph, Node, Port, Value
from pilotlight.graph.dtypes import to_numpy, to_torch
from pilotlight.kernels.candidate import Candidate
from pilotlight.measure.estimate import estimate, load_table
from pilotlight.measure.pipeline import CycleTable
from pilotlight.options import Options
from pilotlight.plan import Plan, make_plan
from pilotlight.selection import Selection, prepare
from pilotlight.selection.rules import MEASURED, choice
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.disassembly import Disassembly, disassemble
from pilotlight.tune.costs import Cost
from pilotlight.tune.layers import layer_key

NAME = "trial"
DIFFERS, TOO_LARGE, CRASHES = "differs from the reference", "does not fit the board", "stops the board"


@dataclass(frozen=True)
class Trial:
    """A layer by itself, and the names of the candidates to measure: what is sent to a worker."""

    key: str
    graph: Graph  # of one node
    names: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """What goes into one image."""

    board: Board
    options: Options
    trials: tuple[Trial, ...]
    timeout: float = 120.0

    @property
    def count(self) -> int:
        return sum(len(trial.names) for trial in self.trials)


@dataclass(frozen=True)
class Measurement:
    key: str
    name: str
    cost: Cost


@dataclass(frozen=True)
class TrialEntry:
    """One candidate of one layer, with an input and what it must give."""

    key: str
    candidate: Candidate
    plan: Plan
    x: np.ndarray
    expected: np.ndarray


def alone(node: Node) -> Graph:
    """A graph of one layer: its input, its constants, its result."""
    graph = Graph(NAME)
    x = Value("x", node.inputs[0].dtype, node.inputs[0].shape)
    y = Value("y", node.output.dtype, node.output.shape)
    constants = [Value(f"c{i}", v.dtype, v.shape, v.data) for i, v in enumerate(node.inputs[1:])]
    attrs = {name: value for name, value in node.attrs.items() if name not in ("candidate", "choice")}
    graph.nodes = [Node(node.op, [x, *constants], [y], attrs)]
    graph.inputs, graph.outputs = [Port("x", x, x.shape)], [Port("y", y, y.shape)]
    return graph


def run_batch(batch: Batch) -> list[Measurement]:
    """All candidates of a batch; what does not fit one image is tried in two."""
    target = Target.of(batch.board, measured=True)
    entries = [entry for trial in batch.trials for entry in trial_entries(trial, target)]
    return list(_measure(batch, target, entries))


def trial_entries(trial: Trial, target: Target) -> Iterator[TrialEntry]:
    """The candidates of a layer, each planned by itself, with an input and what it must give."""
    (node,) = trial.graph.nodes
    offered = ops.get(node.op).candidates(node, target)
    if layer_key(node, offered) != trial.key:
        raise PilotlightError(
            f"this computer has other kernels for {trial.key}", hint="install the same Pilotlight everywhere",
            kind="stale",
        )
    x = _sample(trial.key, node.inputs[0])
    constants = [to_torch(np.asarray(value.data)) for value in node.inputs[1:]]
    expected = to_numpy(_tensor(ops.get(node.op).reference(node, [to_torch(x), *constants])))
    for candidate in offered:
        if candidate.name in trial.names:
            selection = Selection({node: choice(candidate, MEASURED, offered)})
            plan = make_plan(prepare(trial.graph, target, selection))
            yield TrialEntry(trial.key, candidate, plan, x, expected)


def _tensor(result: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor:
    return result if isinstance(result, torch.Tensor) else result[0]


def _sample(key: str, value: Value) -> np.ndarray:
    """Random integers over the whole range, the same for the same layer everywhere."""
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    limits = np.iinfo(value.dtype.numpy)
    x = np.random.default_rng(seed).integers(limits.min, limits.max, value.shape, value.dtype.numpy, endpoint=True)
    return np.asarray(x)


def _measure(batch: Batch, target: Target, entries: list[TrialEntry]) -> Iterator[Measurement]:
    if not entries:
        return
    with scratch_folder("trial-") as folder:
        try:
            info = _build(batch, target, entries, Path(folder))
        except DoesNotFitError:
            if len(entries) == 1:
                yield Measurement(entries[0].key, entries[0].candidate.name, Cost(failure=TOO_LARGE))
                return
            half = len(entries) // 2
            yield from _measure(batch, target, entries[:half])
            yield from _measure(batch, target, entries[half:])
            return
        yield from _Image(batch, info, entries).run()


def _build(batch: Batch, target: Target, entries: Sequence[TrialEntry], folder: Path) -> BuildInfo:
    plans = {}
    for number, entry in enumerate(entries):
        entry.plan.graph.name = f"{NAME}_c{number}"
        plans[f"c{number}"] = entry.plan
    board, options = batch.board, batch.options
    module = emit_program(
        NAME, plans, target, memories=memories(board, options), build_files=toolchain.toolchain_files(board)
    )
    module.write(folder / NAME)
    return toolchain.build_model(
        folder / NAME, board, folder / "build", options.optimize, options.weights_in, options.arena_in,
        compiler=options.toolchain, harness=True, figures=False,
    )


class _Image:
    """A built image; a candidate that stops the board does not keep the others from their turn."""

    def __init__(self, batch: Batch, info: BuildInfo, entries: Sequence[TrialEntry]):
        self.batch, self.info, self.entries = batch, info, entries
        board = batch.board
        self.code: Disassembly | None = None
        self.table: CycleTable | None = None
        if board.cycles is not None and info.image is not None and info.toolchain is not None:
            code = disassemble(info.toolchain, info.image)
            if all(instruction.mnemonic for instruction in code.instructions):  # else kernels are held to instructions
                self.code, self.table = code, load_table(board.cycles)

    def run(self) -> Iterator[Measurement]:
        done = 0
        while done < len(self.entries):
            for measurement in self._boot(done):
                done += 1
                yield measurement

    def _boot(self, first: int) -> Iterator[Measurement]:
        """The candidates from one on, up to one that stops the board."""
        batch = self.batch
        outputs: dict[int, np.ndarray] = {}
        stopped: int | None = None
        number = first
        with device.open(batch.board, self.info, batch.timeout, True, batch.options.emulator) as dev:
            for number in range(first, len(self.entries)):
                try:
                    (outputs[number],) = dev.run([self.entries[number].x], entry=number)
                except PilotlightError as error:
                    if error.kind not in ("board-crashed", "board-hangs"):
                        raise
                    stopped = number
                    break
        for number, output in outputs.items():
            yield self._measurement(dev, number, output)
        if stopped is not None:
            entry = self.entries[stopped]
            yield Measurement(entry.key, entry.candidate.name, Cost(failure=CRASHES))

    def _measurement(self, dev: Device, number: int, output: np.ndarray) -> Measurement:
        entry = self.entries[number]
        counts = dev.entry_counts(number)
        if counts is None or not counts.runs:
            raise PilotlightError(
                f"nothing was counted: {dev.counts_reason}", where=f"board {self.batch.board.name}",
                kind="not-countable",
            )
        cost = Cost(sum(counts.runs[0]))
        if not np.array_equal(output, entry.expected):
            cost = Cost(failure=DIFFERS)
        elif self.code is not None and self.table is not None:
            cycles = sum(step.estimate for step in estimate(counts, self.code, self.table))
            cost = replace(cost, cycles=cycles)
        return Measurement(entry.key, entry.candidate.name, cost)
