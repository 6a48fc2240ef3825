"""A model over time becomes a step with state: `pilotlight.stream(graph, axis=-1, hop=320)`.

The graph that is streamed takes a recording, or a window of one. The new graph takes the next `hop` samples and gives
what they complete; frames of earlier steps that layers still need are states. A quantized graph keeps its scales: the
stream has the same integers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from pilotlight import ops
from pilotlight.callable_module import CallableModule
from pilotlight.capture.exported import capture_exported
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node, Port, Program, verify
from pilotlight.graph.streaming import FRAMES, LATEST, WINDOW, StreamedOutput, Streaming
from pilotlight.passes.clean import fold_constants, remove_dead
from pilotlight.stream import layers as _layers
from pilotlight.stream import signals as _signals
from pilotlight.stream.builder import Needs, StepBuilder, common_multiple
from pilotlight.stream.flow import (
    FixesWindowError,
    Flow,
    Kind,
    Latest,
    Missing,
    UnevenHopError,
    UnstreamableError,
    Window,
    refused,
)
from pilotlight.stream.integers import move_integers
from pilotlight.stream.lengths import check_lengths
from pilotlight.stream.reference import StepReference
from pilotlight.stream.rules import rule_of

assert _layers and _signals  # their rules are registered
EXACT_HINT = "stream it with `exact`: the model's own window slides along and is computed again in each step"


def stream(graph: Graph | Program, axis: int = -1, hop: int = 0, *, exact: bool = False,
           rate: float | None = None, buffer: int | None = None) -> Graph:
    """The step of a model whose inputs have time on dimension `axis`: it takes `hop` new samples.

    With `exact`, what padding in time, pooling and recurrent layers make of the model's own window is computed for
    each window anew. `rate` is in samples a second, for latencies in milliseconds: that of the model's mel filters
    unless given. `buffer` is how many samples may wait in C before they are taken: two hops unless given.
    """
    if isinstance(graph, Program):
        raise PilotlightError(
            f"{graph.name} has the entry points {', '.join(graph.entries)}; a model with one is streamed",
            hint="capture the module that runs over time alone", kind="unsupported",
        )
    axes, window = _time(graph, axis, hop)
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise PilotlightError(f"a rate of {rate} samples a second is not positive", kind="usage")
    if buffer is not None and buffer < hop:
        raise PilotlightError(
            f"a buffer of {buffer} samples is shorter than the hop {hop}", hint=f"use at least {hop}", kind="usage")

    def made_of(model: Graph) -> Graph:
        made = _settled(model, axes, hop, exact)
        return _finished(model, made, axis, hop, window, _agreed(made, model, rate), buffer or 2 * hop)

    step = made_of(graph)
    check_lengths(graph, step, lambda: made_of(capture_exported(graph.torch_program, graph.name)))
    return step


def _time(graph: Graph, axis: int, hop: int) -> tuple[list[int], int]:
    """The axis of time in each input, and how many samples the example has there."""
    if graph.streaming is not None:
        raise PilotlightError(f"{graph.name} is a stream already", kind="usage")
    if graph.states:
        raise PilotlightError(
            f"{graph.name} keeps state from call to call ({graph.states[0].name}): it is a step already",
            hint="call it with new samples each time, or capture a model over a whole recording", kind="unsupported",
        )
    if not graph.inputs or any(port.is_size or port.sizes for port in graph.inputs):
        raise PilotlightError(
            f"{graph.name} has {'no inputs' if not graph.inputs else 'a length that is given at run time'}; expected "
            "inputs of fixed sizes", hint="capture it with a recording of some length", kind="unsupported",
        )
    axes = []
    for port in graph.inputs:
        rank = len(port.shape)
        if not -rank <= axis < rank:
            raise PilotlightError(
                f"input {port.name} is {list(port.shape)}: it has no dimension {axis} for time",
                hint="give the dimension of time: axis=1, or --stream hop=320,axis=1", kind="usage",
            )
        axes.append(axis % rank)
    lengths = {port.shape[at] for port, at in zip(graph.inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise PilotlightError(
            f"the inputs have {', '.join(map(str, sorted(lengths)))} samples on dimension {axis}; expected one number",
            hint="all inputs of a streaming model are over the same time", kind="unsupported",
        )
    (length,) = lengths
    if not isinstance(hop, int) or isinstance(hop, bool) or hop < 1:
        raise PilotlightError(f"hop {hop!r} is not a number of samples", hint="such as hop=320", kind="usage")
    if hop > length:
        raise PilotlightError(
            f"hop {hop} is longer than the {length} samples that the model was captured with",
            hint=f"use a hop of at most {length}, or capture the model with a longer example", kind="usage",
        )
    return axes, length


def _settled(graph: Graph, axes: Sequence[int], hop: int, exact: bool) -> StepBuilder:
    """The step, once all frames that layers ask for are known before it is made."""
    needs = Needs()
    for _ in range(8):
        made = _attempt(graph, axes, hop, exact, needs)
        if made.asked.history == needs.history and made.asked.fills == needs.fills and \
                made.asked.start() == needs.start():
            return made
        needs = made.asked
    raise PilotlightError("the rings of the stream do not settle", kind="internal")


def _agreed(s: StepBuilder, graph: Graph, rate: float | None) -> float | None:
    """Samples a second: what is said, or what the mel filters were made for if they take the samples as they come."""
    kinds = [s.kinds.get(node.inputs[0]) for node in s.nodes if node.op == "spectrum" and len(node.inputs) > 2]
    if graph.rate is None or not any(isinstance(kind, Flow) and kind.rate == 1 for kind in kinds):
        return rate
    if rate is not None and rate != graph.rate:
        raise PilotlightError(
            f"the mel filters of {graph.name} were made for {graph.rate:,} samples a second, not {rate:,g}",
            hint=f"use a rate of {graph.rate}, or make them with sample_rate={rate:g}", kind="usage",
        )
    return graph.rate


def _attempt(graph: Graph, axes: Sequence[int], hop: int, exact: bool, needs: Needs) -> StepBuilder:
    """The step, with what was asked for in an earlier attempt; an uneven hop is an error that says which are even."""
    try:
        return _built(graph, axes, hop, exact, needs)
    except UnevenHopError:
        larger = hop
        for _ in range(64):
            try:
                made = _built(graph, axes, larger, exact, Needs())
            except UnevenHopError as uneven:
                larger *= uneven.stride
                continue
            stride = common_multiple(made.asked.rates)
            near = [n for n in (hop // stride * stride, -(-hop // stride) * stride) if n]
            raise PilotlightError(
                f"hop {hop} is not a multiple of the stride {stride} of {graph.name}",
                hint=f"use {' or '.join(map(str, near))}", kind="usage",
            ) from None
        raise


def _built(graph: Graph, axes: Sequence[int], hop: int, exact: bool, needs: Needs) -> StepBuilder:
    step = remove_dead(move_integers(fold_constants(graph.clone())))
    s = StepBuilder(step, needs, exact)
    for port, axis in zip(step.inputs, axes, strict=True):
        old = port.value
        shape = (*old.shape[:axis], hop, *old.shape[axis + 1 :])
        port.value, port.shape = step.fresh(old.name, old.dtype, shape), shape
        s.give(old, Flow(axis, hop, Fraction(1)), port.value)
    for node in s.nodes:
        _place(s, node)
    for port in step.outputs:
        _give_output(s, port)
    return s


def _place(s: StepBuilder, node: Node) -> None:
    kinds = [s.kinds.get(v) for v in node.inputs]
    missing = next((k for k in kinds if isinstance(k, Missing)), None)
    if missing is not None:
        raise refused(node, f"{node.op} cannot stream: {missing.reason}", EXACT_HINT)
    streams, windows, newest = (any(isinstance(k, kind) for k in kinds) for kind in (Flow, Window, Latest))
    if newest and (streams or windows):
        raise refused(node, f"{node.op} cannot stream: it combines the newest frame with others", EXACT_HINT)
    if windows and not (streams and node.op == "concat"):  # which may be padding
        s.over_window(node)
        return
    if not streams:
        latest = [k for k in kinds if isinstance(k, Latest)]
        if len({k.late for k in latest}) > 1:
            raise refused(node, f"{node.op} cannot stream: its operands are delayed differently", EXACT_HINT)
        kind = Latest(max(k.warm for k in latest), latest[0].late, latest[0].padded) if latest else None
        for value, made in zip(node.outputs, s.emit(node, [s.fixed(v) for v in node.inputs]), strict=True):
            s.answer(value, kind, made)
        return
    rule = rule_of(node)
    try:
        if rule is None:
            raise UnstreamableError("nothing is known about how it computes time frame by frame")
        rule(s, node)
    except FixesWindowError:
        s.over_window(node)
    except UnstreamableError as reason:
        if not s.exact:
            raise refused(node, f"{node.op} cannot stream: {reason}", EXACT_HINT) from None
        s.over_window(node)


def _give_output(s: StepBuilder, port: Port) -> None:
    kind = s.kinds.get(port.value)
    if isinstance(kind, Missing):
        raise PilotlightError(f"output {port.name} cannot stream: {kind.reason}", hint=EXACT_HINT,
                              kind="not-streamable")
    if isinstance(kind, Flow):
        kind = replace(kind, offset=min(kind.offset, 0), head=0.0)  # padding before the first frame comes out too
        value = s.frames(port.value, kind.offset, kind.stop)
    else:
        value = s.whole(port.value)
    s.kinds[value] = kind
    port.value, port.shape = value, value.shape[: len(port.shape)]  # a complex one has a last dimension of pairs


def _finished(
    graph: Graph, s: StepBuilder, axis: int, hop: int, window: int, rate: float | None, buffer: int
) -> Graph:
    step = remove_dead(s.graph)
    step.name = graph.name
    outputs = tuple(_described(s, port) for port in step.outputs)
    kinds = [s.kinds.get(port.value) for port in step.outputs]
    padded = dict.fromkeys(layer for k in kinds if isinstance(k, Window) for layer in k.padded)
    step.streaming = Streaming(
        hop, axis, window, outputs, s.needs.start(), s.exact, tuple(padded), common_multiple(s.asked.rates),
        sum(state.value.bytes for state in step.states), _macs(step.nodes), _macs(graph.nodes), buffer, rate,
        _features(s, step), model=graph,
    )
    step.macs = step.streaming.macs
    if graph.reference is not None:
        step.reference = StepReference(graph.reference, step.streaming)
    verify(step, after="streaming")
    return step


def _described(s: StepBuilder, port: Port) -> StreamedOutput:
    kind: Kind = s.kinds.get(port.value)
    if isinstance(kind, Flow):
        latency = math.ceil(-kind.offset * kind.rate) if kind.offset < 0 else 0
        unlike = max(kind.offset - kind.extra + kind.tail, 0)
        return StreamedOutput(
            port.name, FRAMES, kind.axis, kind.frames, kind.offset, kind.warm, float(kind.rate), latency, unlike)
    if isinstance(kind, Latest):
        return StreamedOutput(port.name, LATEST, warm=kind.warm, latency=kind.late)
    return StreamedOutput(port.name, WINDOW, warm=s.window_warm)


def _features(s: StepBuilder, step: Graph) -> tuple[str, int] | None:
    """The first value that says several things about each frame of samples."""
    kept = {value for node in step.nodes for value in node.outputs}
    for node in s.nodes:
        flow = s.kinds.get(node.outputs[0])
        if not isinstance(flow, Flow) or flow.rate < 2 or ops.get(node.op).moves or node.outputs[0].dtype.kind != "f":
            continue
        made = s.current(node.outputs[0])
        if made in kept and made.elements >= 4 * flow.frames:
            return made.name, flow.axis
    return None


def _macs(nodes: Sequence[Node]) -> int:
    return sum(ops.get(node.op).macs(node) for node in nodes)


sys.modules[__name__].__class__ = CallableModule
