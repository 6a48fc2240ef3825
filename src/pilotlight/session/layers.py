"""Layer by layer: what each step leaves on the board next to what PyTorch computes there, and where the two part.

A step of a float model is compared with the tensor of the user's own module that it computes, by the rule for outputs.
Which tensor that is, is found by value: the compiled graph, run on this computer, gives the same numbers, perhaps with
other strides. Steps that compute no tensor of the module are held to the graph itself. A quantized model must give the
bytes of the integer reference at every step; how far that is from the float model is signal over noise.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight import device
from pilotlight.capture.recording import SAME, RecordedReference, apart, record
from pilotlight.capture.reference import ExportedReference, one_thread, variations
from pilotlight.compiler import Build
from pilotlight.device import Device
from pilotlight.figures.record import FORMAT, hardware
from pilotlight.graph import Value
from pilotlight.graph.arithmetic import Arithmetic, arithmetic
from pilotlight.graph.dtypes import to_torch
from pilotlight.graph.evaluate import trace
from pilotlight.graph.lengths import with_lengths
from pilotlight.graph.ports import from_memory, to_memory, visible
from pilotlight.measure.compare import OutputMatch, Truth, nearly_same_numbers, same_numbers
from pilotlight.ops.describe import describe_node, describe_op
from pilotlight.quantize.layers import LayerSnr
from pilotlight.session.matching import INTEGER_REFERENCE, ROUNDING, compare_outputs

CALLS = 3  # of a model with state; the others are called once
GRAPH = "the graph"
_ONLY_PLANNED = "only the plan has it"
_LEAST_WATCH, _SPARE = 1024, 1 << 15  # bytes that a run keeps; bytes for the server
_MOST_DIMENSIONS = 4  # whose orders are all tried


Runs = list[torch.Tensor]  # one tensor in several runs


@dataclass
class LayerMatch:
    """A step of the model. `differing` counts integers that are not equal; `match` is None where nothing was compared:
    `reason` says why."""

    index: int
    op: str  # in words
    what: str  # the same with shapes
    module: str
    source: str
    against: str | None = None
    match: bool | None = None
    max_abs_error: float = 0.0
    limit: float = 0.0
    elements: int = 0
    differing: int | None = None
    snr_db: float | None = None
    reason: str | None = None

    def take_graph(self, got: Runs, want: Runs) -> None:
        """One of its results, which the compiled graph has on this computer."""
        self.take(GRAPH, same_numbers("", got, want, SAME if want[0].is_floating_point() else 0.0), got, want)

    def take(self, against: str, found: OutputMatch, got: Runs, want: Runs) -> None:
        """One of its results; figures are those of the worst."""
        apart = found.max_abs_error - found.limit
        if self.match is None or (self.match and not found.match) or apart > self.max_abs_error - self.limit:
            self.against, self.max_abs_error, self.limit = against, found.max_abs_error, found.limit
        self.match = found.match and self.match is not False
        self.elements += sum(x.numel() for x in got)
        if not got[0].is_floating_point():
            same_shape = [(a, b) for a, b in zip(got, want, strict=True) if a.shape == b.shape]
            self.differing = (self.differing or 0) + sum(int((a != b).sum()) for a, b in same_shape)


@dataclass
class LayerComparison:
    """All steps of a model on a board, and its outputs."""

    build: Build
    layers: list[LayerMatch]
    outputs: list[OutputMatch]
    runs: int
    compared_with: str
    emulator: str | None

    @property
    def match(self) -> bool:
        return all(row.match for row in self.outputs) and all(row.match is not False for row in self.layers)

    @property
    def parted(self) -> LayerMatch | None:
        """The first step that is not what it should be. Where only outputs differ, the compiled graph is not the
        module: then it is the first step after which nothing is a tensor of the module."""
        wrong = next((row for row in self.layers if row.match is False), None)
        if wrong is not None or self.match:
            return wrong
        known = [k for k, row in enumerate(self.layers) if row.against not in (None, GRAPH)]
        after = known[-1] + 1 if known else 0
        return self.layers[after] if after < len(self.layers) else None

    def add_noise(self, rows: Sequence[LayerSnr]) -> None:
        """Signal over noise against the float model, where a step is a layer of it."""
        waiting: dict[tuple[str, str, str], list[float]] = {}
        for row in rows:
            waiting.setdefault((row.op, row.module, row.source), []).append(row.snr_db)
        for layer in self.layers:
            if found := waiting.get((layer.op, layer.module, layer.source)):
                layer.snr_db = found.pop(0)

    def as_dict(self) -> dict[str, Any]:
        """The object that `compare --json` prints."""
        board, parted = self.build.board, self.parted
        return {
            "format": FORMAT, "name": self.build.name, "board": board.name, "target": board.cpu,
            "hardware": hardware(board), "match": self.match, "compared_with": self.compared_with, "runs": self.runs,
            "parted": None if parted is None else parted.index, "steps": [vars(row) for row in self.layers],
            "outputs": [vars(row) for row in self.outputs], "emulator": self.emulator,
        }


def compare_layers(
    build: Build, inputs: list[list[torch.Tensor]] | None = None, *, connected: Device | None = None,
    timeout: float = 120.0, progress: Callable[[int, int], None] | None = None,
) -> LayerComparison:
    """Run the example, or the given inputs one after another, and compare every step. A model with state is called
    three times. A debug build is made and booted, unless a device with one is `connected`."""
    example = build.graph.truth.example
    if inputs is None:
        inputs = [example, *variations(example, CALLS - 1)] if build.graph.states else [example]
    with one_thread():
        traced = _traced(build, inputs)
    with contextlib.nullcontext(connected) if connected is not None else _booted(build, timeout) as dev:
        found = _read_results(build, dev, inputs, progress)
    names = [port.name for port in build.graph.outputs if not port.is_size]
    outputs, other = compare_outputs(build, Truth(build.graph.truth, inputs), inputs, found.outputs, names)
    layers = [
        LayerMatch(index, describe_op(node), describe_node(node, place=False), node.place.module, node.place.source)
        for index, node in enumerate(build.plan.steps)
    ]
    judge = _in_integers if other == INTEGER_REFERENCE else _in_floats
    judge(build, inputs, layers, found.results, traced)
    return LayerComparison(build, layers, outputs, len(inputs), other, found.emulator)


@dataclass(frozen=True)
class _Result:
    """A tensor that a step computes."""

    step: int
    value: Value
    name: str  # in the graph: planning adds copies of states, which have the name of what is copied there

    @property
    def bytes(self) -> int:
        return self.value.bytes


def _results(build: Build) -> list[_Result]:
    found = []
    for step, node in enumerate(build.plan.steps):
        copies = node.op == "copy" and not node.place.source
        found += [_Result(step, value, node.inputs[0].name if copies else value.name) for value in node.outputs]
    return [result for result in found if result.bytes]


@dataclass
class _Found:
    """What the board computed: each result, and the outputs run by run."""

    results: list[Runs]
    outputs: list[list[torch.Tensor]]
    emulator: str | None


def _traced(build: Build, inputs: list[list[torch.Tensor]]) -> list[Runs | None]:
    """Each result as the compiled graph has it on this computer; None for one that only the plan has."""
    carried: dict[str, torch.Tensor] = {}
    runs = []
    for row in inputs:
        values = trace(build.lowered, row, carried)[0]
        carried = {state.name: values[state.next].clone() for state in build.lowered.states}
        runs.append({value.name: tensor for value, tensor in values.items()})
    names = [result.name for result in _results(build)]
    return [[run[name] for run in runs] if name in runs[0] else None for name in names]


@contextlib.contextmanager
def _booted(build: Build, timeout: float) -> Iterator[Device]:
    info = build.build_for(build.board, harness=True, watch=_watch(build))
    with device.open(build.board, info, timeout, False, build.options.emulator) as dev:
        yield dev


def _read_results(
    build: Build, dev: Device, inputs: list[list[torch.Tensor]], progress: Callable[[int, int], None] | None
) -> _Found:
    """Every result of every run; one run for each piece that the board can keep. State is read after the run."""
    wanted = [(result, *build.plan.locate(result.value)) for result in _results(build)]
    results: list[Runs] = [[] for _ in wanted]
    outputs = []
    dev.reset()
    for number, row in enumerate(inputs):
        given = with_lengths(build.lowered.inputs, row)
        arrays = [to_memory(port, x) for port, x in zip(build.lowered.inputs, given, strict=True)]
        for k, (result, place, at) in enumerate(wanted):
            if place == "arena":
                results[k].append(_tensor(result.value, dev.intermediate(arrays, result.step, at, result.bytes)))
            if progress is not None:
                progress(number * len(wanted) + k + 1, len(inputs) * len(wanted))
        written = dev.run(arrays)
        after = dev.save_state() if build.plan.state_size else b""
        for k, (result, place, at) in enumerate(wanted):
            if place == "state":
                results[k].append(_tensor(result.value, after[at : at + result.bytes]))
        found = [from_memory(port, array) for port, array in zip(build.lowered.outputs, written, strict=True)]
        outputs.append(visible(build.lowered.outputs, found))
    return _Found(results, outputs, dev.emulator)


def _tensor(value: Value, data: bytes) -> torch.Tensor:
    return to_torch(np.frombuffer(data, value.dtype.numpy).copy()).reshape(value.shape)


def _watch(build: Build) -> int:
    """How many bytes a run should keep: the largest result, as far as there is room for it."""
    largest = max((result.bytes for result in _results(build)), default=0)
    if build.board.is_host:
        return max(largest, _LEAST_WATCH)
    assert build.info.place is not None
    (use,) = [use for use in build.info.memory if use.name == build.info.place.stack]
    return max(min(largest, (use.size - use.used - _SPARE) // 2), _LEAST_WATCH)


def _in_integers(
    build: Build, inputs: list[list[torch.Tensor]], layers: list[LayerMatch], got: list[Runs],
    traced: list[Runs | None],
) -> None:
    """Against the integer reference; what is computed in float may differ by rounding."""
    kinds = {value.name: kind for value, kind in arithmetic(build.lowered).items()}
    for result, board, want in zip(_results(build), got, traced, strict=True):
        if want is None:
            layers[result.step].reason = _ONLY_PLANNED
        else:
            kind = kinds.get(result.name, Arithmetic.EXACT)
            layers[result.step].take(INTEGER_REFERENCE, _by_kind(kind, board, want), board, want)


def _by_kind(kind: Arithmetic, got: Runs, want: Runs) -> OutputMatch:
    if kind is Arithmetic.QUANTIZED_FLOAT:
        return nearly_same_numbers("", got, want, ROUNDING)
    return same_numbers("", got, want, ROUNDING if kind is Arithmetic.FLOAT else 0.0)


def _in_floats(
    build: Build, inputs: list[list[torch.Tensor]], layers: list[LayerMatch], got: list[Runs],
    traced: list[Runs | None],
) -> None:
    """Against the tensors of the user's module; what is none of them, against the graph."""
    quantization, reference = build.lowered.quantization, build.graph.truth
    if quantization is not None:
        reference = ExportedReference(quantization.program, bool(build.graph.states))
    with one_thread():
        recording = record(reference, inputs)
    known = _Known(recording.runs)
    found: list[tuple[LayerMatch, Runs, Runs, _Match]] = []
    for result, board, want in zip(_results(build), got, traced, strict=True):
        row = layers[result.step]
        match = None if want is None else known.nearest(want)
        if want is None:
            row.reason = _ONLY_PLANNED
        elif match is not None:
            found.append((row, board, want, match))
        elif any(port.sizes for port in (*build.graph.inputs, *build.graph.outputs)):
            row.reason = "what is after the last row counts for nothing"
        else:
            row.take_graph(board, want)
    places = [match.place for _, _, _, match in found]
    truth = Truth(RecordedReference(reference, recording, places), inputs)

    def judged(tensors: list[Runs]) -> list[OutputMatch]:
        return truth.compare([[runs[k] for runs in tensors] for k in range(len(inputs))], [""] * len(tensors))

    boards = [match.like_module(board) for _, board, _, match in found]
    graphs = [match.like_module(want) for _, _, want, match in found]
    for (row, board, want, match), tensors, on_board, on_host in zip(
        found, boards, judged(boards), judged(graphs), strict=True
    ):
        if on_host.match:
            row.take(reference.name, on_board, tensors, match.tensors)
        else:  # what looked alike is another tensor, or the graph is not the module
            row.take_graph(board, want)


@dataclass(frozen=True)
class _Match:
    """A tensor of the module, and the order of its dimensions in memory."""

    place: int
    order: tuple[int, ...]
    tensors: Runs

    def like_module(self, got: Runs) -> Runs:
        """A result in the order of dimensions that the module has."""
        back = [self.order.index(axis) for axis in range(len(self.order))]
        shapes = [[tensor.shape[axis] for axis in self.order] for tensor in self.tensors]
        return [x.reshape(shape).permute(back) for x, shape in zip(got, shapes, strict=True)]


class _Known:
    """The tensors of a module, to be found by their numbers."""

    def __init__(self, runs: list[Runs]):
        self._tensors = [list(tensors) for tensors in zip(*runs, strict=True)]
        self._kinds: dict[tuple[torch.dtype, int], list[int]] = {}
        for place, (first, *_) in enumerate(self._tensors):
            self._kinds.setdefault((first.dtype, first.numel()), []).append(place)
        self._sums = [_sums(tensors) for tensors in self._tensors]

    def nearest(self, want: Runs) -> _Match | None:
        """The one with the same numbers in any order of dimensions; the nearest of several."""
        best: tuple[float, _Match] | None = None
        sums = _sums(want)
        for place in self._kinds.get((want[0].dtype, want[0].numel()), ()):
            tensors = self._tensors[place]
            if any(abs(a - b) > SAME * max(a, b) for a, b in zip(sums, self._sums[place], strict=True)):
                continue
            for order in _orders(tensors[0].shape):
                pairs = zip(want, tensors, strict=True)
                distance = max(apart(a, b.permute(order).reshape(a.shape)) for a, b in pairs)
                if distance <= SAME and (best is None or distance < best[0]):
                    best = distance, _Match(place, order, tensors)
        return None if best is None else best[1]


def _sums(tensors: Runs) -> list[float]:
    """A number for each that does not depend on the order of elements, and changes little if they do."""
    return [float(x.double().abs().nan_to_num(0.0, 0.0, 0.0).sum()) for x in tensors]


def _orders(shape: torch.Size) -> Iterator[tuple[int, ...]]:
    """Orders of dimensions, those of size one last."""
    small = tuple(axis for axis, n in enumerate(shape) if n == 1)
    large = tuple(axis for axis, n in enumerate(shape) if n != 1)
    if len(large) <= _MOST_DIMENSIONS:
        yield from (order + small for order in itertools.permutations(large))
    else:
        yield tuple(range(len(shape)))
        yield (0, *range(2, len(shape)), 1)
