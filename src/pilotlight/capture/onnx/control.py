"""If, Loop and Scan as PyTorch's control flow: what only the data decides is decided on the board.

A body reads from outside it; PyTorch wants everything that it reads, constants too, as operands. While torch.export
runs the model these functions call PyTorch's own operators for control flow; otherwise they are plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pilotlight.capture.onnx.module import OnnxBody
from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class Inside:
    """A body, the names that it reads from outside, and the values of its results that are constants."""

    body: OnnxBody
    captured: list[str]
    known: list[Any]


@dataclass(frozen=True)
class Controlled:
    """The module of a control node: called with the node's computed inputs, then what its bodies capture."""

    module: nn.Module
    captured: list[str]


MOST_TURNS = 10_000
Import = Callable[[onnx.GraphProto, Sequence[Any]], Inside]
Entries = Sequence[Any]


def _refuse(message: str) -> PilotlightError:
    return PilotlightError(message, kind="unsupported")


def _captured(bodies: Sequence[Inside]) -> list[str]:
    return list(dict.fromkeys(name for inside in bodies for name in inside.captured))


class OnnxControl(nn.Module):
    """What control nodes share: bodies whose constants are operands."""

    def __init__(self, bodies: Mapping[str, Inside], captured: Sequence[str]):
        super().__init__()
        self.captured = tuple(captured)
        self.own = {name: len(inside.body.inputs) - len(inside.captured) for name, inside in bodies.items()}
        self.places = {name: [self.captured.index(c) for c in inside.captured] for name, inside in bodies.items()}
        for name, inside in bodies.items():
            self.add_module(name, inside.body)

    def constants(self, name: str) -> dict[str, Tensor]:
        return dict(self.get_submodule(name).named_buffers())

    def function(self, name: str, given: int, before: int = 0) -> Callable[..., tuple[Tensor, ...]]:
        """A body as a function of its own inputs, what is captured, and its constants after `before` others."""
        names, body, places = list(self.constants(name)), self.get_submodule(name), self.places[name]
        count = len(self.captured)

        def run(*operands: Tensor) -> tuple[Tensor, ...]:
            own, captured = operands[:given], operands[given : given + count]
            held = operands[given + count + before :]
            constants = dict(zip(names, held, strict=False))
            results = functional_call(body, constants, (*own, *(captured[k] for k in places)))
            return tuple(x.clone(memory_format=torch.contiguous_format) for x in results)

        return run


class OnnxIf(OnnxControl):
    def forward(self, condition: Tensor, *captured: Tensor) -> tuple[Tensor, ...]:
        first, second = self.constants("then"), self.constants("otherwise")
        then, otherwise = self.function("then", 0), self.function("otherwise", 0, len(first))
        operands = (*captured, *first.values(), *second.values())
        if torch.compiler.is_exporting():
            return tuple(torch.ops.higher_order.cond(condition.reshape(()), then, otherwise, operands))
        return (then if bool(condition) else otherwise)(*operands)


def make_if(entries: Entries, graphs: Mapping[str, Any], attributes: Mapping[str, Any], inside: Import) -> Controlled:
    bodies = {"then": inside(graphs["then_branch"], []), "otherwise": inside(graphs["else_branch"], [])}
    captured = _captured(list(bodies.values()))
    return Controlled(OnnxIf(bodies, captured), captured)


class OnnxLoop(OnnxControl):
    """A loop that carries values. `turns` is the number of turns, where it is known; `endless` if nothing but that
    ends it; then it may stack results as well."""

    def __init__(self, body: Inside, captured: Sequence[str], given: Sequence[Any], turns: int | None, stacked: int):
        super().__init__({"body": body}, captured)
        self.turns, self.stacked = turns, stacked
        self.live = [x is None for x in given]  # which of (count, condition, carried...) are inputs
        for k, tensor in enumerate(given):
            if tensor is not None:
                self.register_buffer(f"start_{k}", tensor)

    def forward(self, *operands: Tensor) -> tuple[Tensor, ...]:
        rest = iter(operands)
        start = [next(rest) if live else getattr(self, f"start_{k}") for k, live in enumerate(self.live)]
        most, condition, *carried = start
        captured, constants = tuple(rest), tuple(self.constants("body").values())
        count = len(carried)
        body = self.function("body", 2 + count)
        if self.stacked:
            assert self.turns is not None

            def step(*given: Tensor) -> list[Tensor]:
                number = given[count]
                truth = torch.ones((), dtype=torch.bool)
                return list(body(number, truth, *given[:count], *given[count + 1 :])[1:])

            return scanned(step, carried, [torch.arange(self.turns)], (*captured, *constants))

        def test(turn: Tensor, going: Tensor, *given: Tensor) -> Tensor:
            return going & (turn < given[count])

        def turn(number: Tensor, going: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
            going, *results = body(number, going, *given[:count], *given[count + 1 :])
            return (number + 1, going.reshape(()), *results)

        first = (torch.zeros((), dtype=torch.int64), condition.reshape(()).clone(), *(x.clone() for x in carried))
        more = (most.reshape(()), *captured, *constants)
        if torch.compiler.is_exporting():
            return tuple(torch.ops.higher_order.while_loop(test, turn, first, more))[2:]
        values: tuple[Tensor, ...] = first
        while bool(test(*values, *more)):
            if int(values[0]) >= MOST_TURNS:
                raise _refuse(f"the loop takes more than {MOST_TURNS:,} turns for the example")
            values = turn(*values, *more)
        return values[2:]


def scanned(
    step: Callable[..., list[Tensor]], carried: Sequence[Tensor], slices: Sequence[Tensor], more: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """`step` of the carried values and each slice; its results after the carried ones are stacked."""
    if torch.compiler.is_exporting():
        first = [x.clone(memory_format=torch.contiguous_format) for x in carried]
        return tuple(torch.ops.higher_order.scan(step, first, list(slices), tuple(more)))
    values, rows, count = list(carried), [], len(carried)
    for k in range(slices[0].shape[0]):
        results = step(*values, *(x[k] for x in slices), *more)
        values = results[:count]
        rows.append(results[count:])
    return (*values, *(torch.stack(column) for column in zip(*rows, strict=True)))


def make_loop(entries: Entries, graphs: Mapping[str, Any], attributes: Mapping[str, Any], inside: Import) -> Controlled:
    graph = graphs["body"]
    most, condition, *carried = list(entries) + [None] * (2 - len(entries))
    given: list[Tensor | None] = []
    for entry, default in ((most, torch.tensor(np.iinfo(np.int64).max)), (condition, torch.tensor(True))):
        given.append(default if entry is None else _constant(entry))
    given += [_constant(entry) for entry in carried]
    shown = [x if x is not None else e.example for x, e in zip(given[2:], carried, strict=True)]
    body = inside(graph, [torch.zeros((), dtype=torch.int64), torch.ones((), dtype=torch.bool), *shown])
    stacked = len(graph.output) - 1 - len(carried)
    turns = int(given[0]) if given[0] is not None and most is not None else None
    true = graph.output[0].name == graph.input[1].name or (body.known[0] is not None and bool(body.known[0])) \
        or _passes_on(graph, graph.input[1].name, graph.output[0].name)
    endless = true and given[1] is not None and bool(given[1])
    if stacked and (turns is None or not endless):
        raise _refuse("it stacks results of a loop, and how many turns it takes is not known before it runs")
    captured = body.captured
    return Controlled(OnnxLoop(body, captured, given, turns, stacked), captured)


def _passes_on(graph: onnx.GraphProto, first: str, last: str) -> bool:
    """Whether one value is the other, through nodes that do nothing."""
    makers = {name: node for node in graph.node for name in node.output}
    while last in makers and makers[last].op_type == "Identity":
        last = makers[last].input[0]
    return first == last


def _constant(entry: Any) -> Tensor | None:
    """The tensor of a value that is known; None for one that is computed."""
    array = getattr(entry, "array", None)
    return None if array is None else torch.from_numpy(np.array(array))


class OnnxScan(OnnxControl):
    """A body for each slice of some inputs, along axes and in directions."""

    def __init__(self, body: Inside, given: Sequence[Any], carried: int, along: dict[str, list[int]]):
        super().__init__({"body": body}, body.captured)
        self.carried, self.along = carried, along
        self.live = [x is None for x in given]
        for k, tensor in enumerate(given):
            if tensor is not None:
                self.register_buffer(f"start_{k}", tensor)

    def forward(self, *operands: Tensor) -> tuple[Tensor, ...]:
        rest = iter(operands)
        start = [next(rest) if live else getattr(self, f"start_{k}") for k, live in enumerate(self.live)]
        captured, constants = tuple(rest), tuple(self.constants("body").values())
        carried, slices = start[: self.carried], []
        for x, axis, backward in zip(start[self.carried :], self.along["scan_input_axes"],
                                     self.along["scan_input_directions"], strict=True):
            moved = x.movedim(axis, 0)
            slices.append((moved.flip(0) if backward else moved).contiguous())
        body = self.function("body", len(start))
        results = scanned(lambda *given: list(body(*given)), carried, slices, (*captured, *constants))
        stacked = []
        for y, axis, backward in zip(results[self.carried :], self.along["scan_output_axes"],
                                     self.along["scan_output_directions"], strict=True):
            stacked.append((y.flip(0) if backward else y).movedim(0, axis))
        return (*results[: self.carried], *stacked)


def make_scan(entries: Entries, graphs: Mapping[str, Any], attributes: Mapping[str, Any], inside: Import) -> Controlled:
    graph = graphs["body"]
    sliced = attributes["num_scan_inputs"]
    carried = len(entries) - sliced
    given = [_constant(entry) for entry in entries]
    shown = [x if x is not None else e.example for x, e in zip(given, entries, strict=True)]
    stacked = len(graph.output) - carried
    along = {key: list(attributes.get(key) or [0] * count) for key, count in (
        ("scan_input_axes", sliced), ("scan_input_directions", sliced), ("scan_output_axes", stacked),
        ("scan_output_directions", stacked))}
    slices = [x.select(axis, 0) for x, axis in zip(shown[carried:], along["scan_input_axes"], strict=True)]
    body = inside(graph, [*shown[:carried], *slices])
    return Controlled(OnnxScan(body, given, carried, along), body.captured)


CONTROL: dict[str, Callable[..., Controlled]] = {"If": make_if, "Loop": make_loop, "Scan": make_scan}
