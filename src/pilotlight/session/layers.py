"""Layer by layer: what each step leaves on the board next to what PyTorch computes there, and where the two part.

A step of a float model is compared with the tensor of the user's own module that it computes, by the rule for outputs.
Which tensor that is, is found by value: the compiled graph, run on this computer, gives the same numbers, perhaps with
other strides. Steps that compute no tensor of the module are held to the graph itself. A quantized model must give the
bytes of the integer reference at every step; how far that is from the float model is signal over noise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight import device
from pilotlight.capture.recording import RecordedReference, record
from pilotlight.capture.reference import ExportedReference, one_thread, variations
from pilotlight.compiler import Build
from pilotlight.figures.record import FORMAT, hardware
from pilotlight.graph import Node, Value
from pilotlight.graph.arithmetic import Arithmetic, arithmetic
from pilotlight.graph.dtypes import to_torch
from pilotlight.graph.evaluate import trace
from pilotlight.graph.lengths import with_lengths
from pilotlight.graph.ports import from_memory, to_memory, visible
from pilotlight.measure.compare import OutputMatch, Truth, nearly_same_numbers, same_numbers
from pilotlight.ops.describe import describe_node, describe_op
from pilotlight.quantize.layers import LayerSnr
from pilotlight.session.matching import INTEGER_REFERENCE, PYTORCH, ROUNDING, compare_outputs

CALLS = 3  # of a model with state; the others are called once
SAME = 1e-3  # of the largest element: how near two ways to compute one tensor are
GRAPH = "the graph"
_LEAST_WATCH, _SPARE = 1024, 1 << 15  # bytes that a run keeps; bytes for the server
_MOST_DIMENSIONS = 4  # whose orders are all tried


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
    max_abs_error: float | None = None
    limit: float | None = None
    elements: int = 0
    differing: int | None = None
    snr_db: float | None = None
    reason: str | None = None


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
    build: Build, inputs: list[list[torch.Tensor]] | None = None, *, timeout: float = 120.0,
    progress: Callable[[int, int], None] | None = None,
) -> LayerComparison:
    """Run the example, or the given inputs one after another, and compare every step. A model with state is called
    three times."""
    example = build.graph.truth.example
    if inputs is None:
        inputs = [example, *variations(example, CALLS - 1)] if build.graph.states else [example]
    with one_thread():
        traced = _traced(build, inputs)
    found = _read_steps(build, inputs, timeout, progress)
    names = [port.name for port in build.graph.outputs if not port.is_size]
    outputs, other = compare_outputs(build, Truth(build.graph.truth, inputs), inputs, found.outputs, names)
    layers = [
        LayerMatch(index, describe_op(node), describe_node(node, place=False), node.place.module, node.place.source)
        for index, node in enumerate(build.plan.steps)
    ]
    judge = _in_integers if other == INTEGER_REFERENCE else _in_floats
    judge(build, inputs, layers, found.steps, traced)
    return LayerComparison(build, layers, outputs, len(inputs), other, found.emulator)


Runs = list[torch.Tensor]  # one tensor in several runs


@dataclass
class _Found:
    """What the board computed: the first result of each step, None where it cannot be read; outputs run by run."""

    steps: list[Runs | None]
    outputs: list[list[torch.Tensor]]
    emulator: str | None


def _traced(build: Build, inputs: list[list[torch.Tensor]]) -> list[Runs | None]:
    """The first result of each step as the compiled graph has it on this computer."""
    carried: dict[str, torch.Tensor] = {}
    runs = []
    for row in inputs:
        values = trace(build.lowered, row, carried)[0]
        carried = {state.name: values[state.next].clone() for state in build.lowered.states}
        runs.append({value.name: tensor for value, tensor in values.items()})
    names = [_traced_name(node) for node in build.plan.steps]
    return [[run[name] for run in runs] if name in runs[0] else None for name in names]


def _traced_name(node: Node) -> str:
    """Planning adds copies of states, which the graph has under the name of what is copied."""
    return (node.inputs if node.op == "copy" and not node.place.source else node.outputs)[0].name


def _read_steps(
    build: Build, inputs: list[list[torch.Tensor]], timeout: float, progress: Callable[[int, int], None] | None
) -> _Found:
    """Every step of every run, from a debug build; one run for each piece that the board can keep."""
    values = [node.outputs[0] if node.outputs and node.outputs[0].bytes else None for node in build.plan.steps]
    steps: list[Runs | None] = [None if value is None else [] for value in values]
    outputs = []
    info = build.build_for(build.board, harness=True, watch=_watch(build, values))
    with device.open(build.board, info, timeout, False, build.options.emulator) as dev:
        dev.reset()
        for number, row in enumerate(inputs):
            given = with_lengths(build.lowered.inputs, row)
            arrays = [to_memory(port, x) for port, x in zip(build.lowered.inputs, given, strict=True)]
            for step, value in enumerate(values):
                if value is not None and build.plan.locate(value)[0] == "arena":
                    data = dev.intermediate(arrays, step, build.plan.locate(value)[1], value.bytes)
                    _append(steps, step, value, data)
                if progress is not None:
                    progress(number * len(values) + step + 1, len(inputs) * len(values))
            written = dev.run(arrays)
            after = dev.save_state() if build.plan.state_size else b""
            for step, value in enumerate(values):
                if value is not None and build.plan.locate(value)[0] == "state":
                    at = build.plan.locate(value)[1]
                    _append(steps, step, value, after[at : at + value.bytes])
            found = [from_memory(port, array) for port, array in zip(build.lowered.outputs, written, strict=True)]
            outputs.append(visible(build.lowered.outputs, found))
    return _Found(steps, outputs, dev.emulator)


def _append(steps: list[Runs | None], step: int, value: Value, data: bytes) -> None:
    runs = steps[step]
    assert runs is not None
    runs.append(to_torch(np.frombuffer(data, value.dtype.numpy).copy()).reshape(value.shape))


def _watch(build: Build, values: Sequence[Value | None]) -> int:
    """How many bytes a run should keep: the largest result, as far as there is room for it."""
    largest = max((value.bytes for value in values if value is not None), default=0)
    if build.board.is_host:
        return max(largest, _LEAST_WATCH)
    assert build.info.place is not None
    (use,) = [use for use in build.info.memory if use.name == build.info.place.stack]
    return max(min(largest, (use.size - use.used - _SPARE) // 2), _LEAST_WATCH)


def _in_integers(
    build: Build, inputs: list[list[torch.Tensor]], layers: list[LayerMatch], steps: list[Runs | None],
    traced: list[Runs | None],
) -> None:
    """Against the integer reference; a step that is computed in float may differ by rounding."""
    kinds = {value.name: kind for value, kind in arithmetic(build.lowered).items()}
    for row, got, want in _comparable(layers, steps, traced):
        kind = kinds.get(_traced_name(build.plan.steps[row.index]), Arithmetic.EXACT)
        _judged(row, INTEGER_REFERENCE, _by_kind(kind, got, want))
        _count_differing(row, got, want)


def _by_kind(kind: Arithmetic, got: Runs, want: Runs) -> OutputMatch:
    if kind is Arithmetic.QUANTIZED_FLOAT:
        return nearly_same_numbers("", got, want, ROUNDING)
    return same_numbers("", got, want, ROUNDING if kind is Arithmetic.FLOAT else 0.0)


def _in_floats(
    build: Build, inputs: list[list[torch.Tensor]], layers: list[LayerMatch], steps: list[Runs | None],
    traced: list[Runs | None],
) -> None:
    """Against the tensors of the user's module, and where a step is none of them, against the graph."""
    quantization, reference = build.lowered.quantization, build.graph.truth
    if quantization is not None:
        reference = ExportedReference(quantization.program, bool(build.graph.states))
    with one_thread():
        recording = record(reference, inputs)
    places: dict[int, tuple[int, tuple[int, ...]]] = {}
    for row, got, want in _comparable(layers, steps, traced):
        place = _tensor_of(want, recording.runs)
        if place is not None:
            places[row.index] = place
        elif any(port.sizes for port in (*build.graph.inputs, *build.graph.outputs)):
            row.reason = "what is after the last row counts for nothing"
        else:
            _judged(row, GRAPH, same_numbers("", got, want, SAME if want[0].is_floating_point() else 0.0))
            _count_differing(row, got, want)
    order = list(places)
    truth = Truth(RecordedReference(reference, recording, [places[index][0] for index in order]), inputs)
    seen = [_like_module(steps[index], recording.runs, *places[index]) for index in order]
    by_run = [list(tensors) for tensors in zip(*seen, strict=True)] if seen else [[] for _ in inputs]
    for index, found, got in zip(order, truth.compare(by_run, ["" for _ in order]), seen, strict=True):
        _judged(layers[index], PYTORCH, found)
        _count_differing(layers[index], got, [run[places[index][0]] for run in recording.runs])


def _comparable(
    layers: list[LayerMatch], steps: list[Runs | None], traced: list[Runs | None]
) -> Iterator[tuple[LayerMatch, Runs, Runs]]:
    """Steps with what the board computed and what the graph gives on this computer."""
    for row, got, want in zip(layers, steps, traced, strict=True):
        if not got:
            row.reason = "it has no elements"
        elif want is None:
            row.reason = "it is a detail of the plan"
        else:
            yield row, got, want


def _judged(row: LayerMatch, against: str, found: OutputMatch) -> None:
    row.against, row.match = against, found.match
    row.max_abs_error, row.limit = found.max_abs_error, found.limit


def _count_differing(row: LayerMatch, got: Runs, want: Runs) -> None:
    row.elements = sum(x.numel() for x in got)
    if not got[0].is_floating_point():
        row.differing = sum(int((a != b).sum()) for a, b in zip(got, want, strict=True) if a.shape == b.shape)


def _tensor_of(want: Runs, recorded: list[Runs]) -> tuple[int, tuple[int, ...]] | None:
    """The place of a tensor in the recordings, and the order of its dimensions in memory; the nearest of several."""
    best: tuple[float, int, tuple[int, ...]] | None = None
    for place in range(len(recorded[0])):
        tensors = [run[place] for run in recorded]
        if not all(_alike(a, b) for a, b in zip(want, tensors, strict=True)):
            continue
        for order in _orders(tensors[0].shape):
            apart = max(_apart(a, b.permute(order).reshape(a.shape)) for a, b in zip(want, tensors, strict=True))
            if apart <= SAME and (best is None or apart < best[0]):
                best = apart, place, order
    return None if best is None else best[1:]


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors may be the same in another order: type, elements, their sum and the largest."""
    if a.dtype != b.dtype or a.numel() != b.numel():
        return False
    x, y = (t.double().abs().nan_to_num(0.0, 0.0, 0.0) for t in (a, b))
    largest = max(float(x.max()), float(y.max()))
    close = abs(float(x.max()) - float(y.max())) <= SAME * largest
    return close and abs(float(x.sum()) - float(y.sum())) <= SAME * largest * x.numel()


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest distance over the largest element."""
    x, y = a.double(), b.double()
    if not bool((x.isnan() == y.isnan()).all() and (x.isinf() == y.isinf()).all()):
        return float("inf")
    x, y = (t.nan_to_num(0.0, 1.0, -1.0) for t in (x, y))
    largest = float(y.abs().max())
    return float((x - y).abs().max()) / largest if largest else float(x.abs().max())


def _orders(shape: torch.Size) -> Iterator[tuple[int, ...]]:
    """Orders of dimensions, those of size one last."""
    small = tuple(axis for axis, n in enumerate(shape) if n == 1)
    large = tuple(axis for axis, n in enumerate(shape) if n != 1)
    if len(large) <= _MOST_DIMENSIONS:
        yield from (order + small for order in itertools.permutations(large))
    else:
        yield tuple(range(len(shape)))
        yield (0, *range(2, len(shape)), 1)


def _like_module(got: Runs | None, recorded: list[Runs], place: int, order: tuple[int, ...]) -> Runs:
    """A step's result in the order of dimensions that the module has."""
    assert got is not None
    back = [order.index(axis) for axis in range(len(order))]
    shapes = [[run[place].shape[axis] for axis in order] for run in recorded]
    return [x.reshape(shape).permute(back) for x, shape in zip(got, shapes, strict=True)]
