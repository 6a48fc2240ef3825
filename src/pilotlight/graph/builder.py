"""Adds nodes to a graph: shapes inferred, no-ops left out, every node with its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph import operators
from pilotlight.graph.dtypes import FLOAT32, DType, convert, from_torch, to_numpy, to_torch
from pilotlight.graph.graph import Graph, Node, Place, Value

LARGEST = 2**31 - 1  # bytes: what a signed 32-bit offset reaches


def check_size(dtype: DType, shape: Sequence[int], what: str) -> None:
    """Offsets and loop counters of generated code have 32 bits: a larger tensor is an error, not a wrong result."""
    size = math.prod(shape) * dtype.size
    if size > LARGEST:
        raise PilotlightError(
            f"{what} gives {dtype}{list(shape)}, {size:,} bytes; a tensor may have {LARGEST:,}",
            hint="use smaller dimensions",
            kind="too-large",
        )


class Builder:
    """What lowerings write with."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.place = Place()
        self._makers: dict[Value, Node] = {}
        self._known: dict[Value, np.ndarray | None] = {}
        self.channel_scales: dict[Value, tuple[np.ndarray, int]] = {}  # of quantized weights: scales and their axis
        self.subgraph: Callable[..., Graph] = _no_subgraph  # `subgraph(fx module, operands, name, carried)`
        self.count: Value | None = None  # of the current node: how many rows its result has in a run
        # whether each tensor of the current ATen node is the contiguous beginning of its memory in PyTorch
        self.dense: Callable[[], bool] = lambda: True
        self.results: list[tuple[DType, tuple[int, ...]]] = []  # what PyTorch says the current ATen node gives

    def expect(self, results: Iterable[tuple[DType, tuple[int, ...]]]) -> None:
        """Begin an ATen node, with the results that PyTorch says it gives."""
        self.results = list(results)
        self.count = None

    def nodes(self, op: str, inputs: Sequence[Value], hint: str | None = None, **attrs: Any) -> list[Value]:
        """Append a node and return its outputs."""
        node = Node(op, list(inputs), [], attrs, self.place)
        results = operators.get(op).infer(node)
        for dtype, shape in results:
            check_size(dtype, shape, op)
        if not any(math.prod(shape) for _, shape in results):  # nothing to compute
            return [self.constant(torch.empty(shape, dtype=dtype.torch)) for dtype, shape in results]
        for dtype, shape in results:
            node.outputs.append(self.graph.fresh(hint or op, dtype, shape))
        self.graph.nodes.append(node)
        self._makers.update(dict.fromkeys(node.outputs, node))
        return node.outputs

    def node(self, op: str, inputs: Sequence[Value], hint: str | None = None, **attrs: Any) -> Value:
        """Append a node that has one output."""
        (value,) = self.nodes(op, inputs, hint, **attrs)
        return value

    def constant(self, data: Any, dtype: DType | None = None, hint: str = "const") -> Value:
        if isinstance(data, torch.Tensor):
            from_torch(data.dtype, "a constant")
            data = to_numpy(data)
        return self.graph.constant(convert(np.asarray(data), dtype) if dtype else np.asarray(data), hint)

    def scalar(self, number: float | int | bool, dtype: DType = FLOAT32) -> Value:
        return self.constant(convert(np.asarray(number), dtype), hint="scalar")

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(int(s) for s in shape)
        if -1 in shape:
            known = int(np.prod([s for s in shape if s != -1], dtype=np.int64))
            shape = tuple(x.elements // known if s == -1 else s for s in shape)
        return x if shape == x.shape else self.node("reshape", [x], shape=shape)

    def permute(self, x: Value, perm: Sequence[int]) -> Value:
        perm = tuple(p % len(perm) for p in perm) if perm else ()
        return x if perm == tuple(range(len(perm))) else self.node("permute", [x], perm=perm)

    def cast(self, x: Value, dtype: DType) -> Value:
        if x.dtype == dtype:
            return x
        if x.data is not None and x.elements == 1:
            return self.constant(convert(x.data, dtype), hint="scalar")
        return self.node("cast", [x], dtype=dtype)

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        if x.shape == shape:
            return x
        x = self.reshape(x, (1,) * (len(shape) - len(x.shape)) + x.shape)
        return x if x.shape == shape else self.node("expand", [x], shape=shape)

    def channels_last(self, x: Value) -> Value:
        """(N, C, spatial...) as (N, spatial..., C)."""
        rank = len(x.shape)
        return self.permute(x, (0, *range(2, rank), 1))

    def channels_first(self, x: Value) -> Value:
        """(N, spatial..., C) as (N, C, spatial...)."""
        rank = len(x.shape)
        return self.permute(x, (0, rank - 1, *range(1, rank - 1)))

    def maker(self, x: Value) -> Node | None:
        """The node whose result a value is."""
        return self._makers.get(x)

    def known(self, x: Value) -> np.ndarray | None:
        """What a value is, if it is a constant or computed from constants alone, such as a normalized weight."""
        waiting = [x]
        while waiting:  # each value once, however many paths lead to it
            value = waiting[-1]
            node = self._makers.get(value)
            inputs = [] if node is None else [v for v in node.inputs if v.data is None]
            missing = [v for v in inputs if v not in self._known]
            if value not in self._known and missing and all(self._known.get(v, ()) is not None for v in inputs):
                waiting.append(missing[0])
                continue
            if value not in self._known:
                self._known[value] = value.data if value.data is not None else self._evaluated(value, node)
            waiting.pop()
        return self._known[x]

    def _evaluated(self, x: Value, node: Node | None) -> np.ndarray | None:
        args = [] if node is None else [v.data if v.data is not None else self._known.get(v) for v in node.inputs]
        if node is None or not args or any(a is None for a in args):
            return None
        results = operators.get(node.op).reference(node, [to_torch(a) for a in args if a is not None])
        result = results[node.outputs.index(x)] if isinstance(results, tuple) else results
        return to_numpy(result).reshape(x.shape)

    def need_constant(self, x: Value, what: str) -> np.ndarray:
        data = self.known(x)
        if data is None:
            raise PilotlightError(f"{what} depends on the model's inputs; expected a constant", kind="unsupported")
        return data

    def refuse(self, what: str, hint: str | None = None) -> PilotlightError:
        return PilotlightError(what, where=str(self.place), hint=hint, kind="unsupported")


def _no_subgraph(*_: Any, **__: Any) -> Graph:
    raise PilotlightError("this front end has no subgraphs", kind="unsupported")
