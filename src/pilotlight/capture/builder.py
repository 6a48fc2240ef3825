"""Adds nodes to a graph: shapes inferred, no-ops left out, every node with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph import FLOAT32, DType, Graph, Node, Place, Value
from pilotlight.graph.dtypes import from_torch


class Builder:
    """What lowerings write with."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.place = Place()
        self.channel_scales: dict[Value, tuple[np.ndarray, int]] = {}  # of quantized weights: scales and their axis
        self.results: list[tuple[DType, tuple[int, ...]]] = []  # what PyTorch says the current ATen node gives

    def nodes(self, op: str, inputs: Sequence[Value], hint: str | None = None, **attrs: Any) -> list[Value]:
        """Append a node and return its outputs."""
        from pilotlight import ops

        node = Node(op, list(inputs), [], attrs, self.place)
        for dtype, shape in ops.get(op).infer(node):
            node.outputs.append(self.graph.fresh(hint or op, dtype, shape))
        self.graph.nodes.append(node)
        return node.outputs

    def node(self, op: str, inputs: Sequence[Value], hint: str | None = None, **attrs: Any) -> Value:
        """Append a node that has one output."""
        (value,) = self.nodes(op, inputs, hint, **attrs)
        return value

    def constant(self, data: Any, dtype: DType | None = None, hint: str = "const") -> Value:
        if isinstance(data, torch.Tensor):
            from_torch(data.dtype, "a constant")
            data = data.detach().cpu().numpy()
        return self.graph.constant(np.asarray(data, dtype=dtype.numpy if dtype else None), hint)

    def scalar(self, number: float | int | bool, dtype: DType = FLOAT32) -> Value:
        return self.constant(np.asarray(number).astype(dtype.numpy), hint="scalar")

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
            return self.constant(x.data.astype(dtype.numpy), hint="scalar")
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

    def known(self, x: Value) -> np.ndarray | None:
        """What a value is, if it is a constant or computed from constants alone, such as a normalized weight."""
        from pilotlight import ops

        if x.data is not None:
            return x.data
        node = next((n for n in reversed(self.graph.nodes) if x in n.outputs), None)
        args = [] if node is None else [self.known(v) for v in node.inputs]
        if node is None or not args or any(a is None for a in args):
            return None
        results = ops.get(node.op).reference(node, [torch.from_numpy(a) for a in args if a is not None])
        result = results[node.outputs.index(x)] if isinstance(results, tuple) else results
        return result.detach().contiguous().numpy().reshape(x.shape)

    def need_constant(self, x: Value, what: str) -> np.ndarray:
        data = self.known(x)
        if data is None:
            raise PilotlightError(f"{what} depends on the model's inputs; expected a constant", kind="unsupported")
        return data

    def refuse(self, what: str, hint: str | None = None) -> PilotlightError:
        return PilotlightError(what, where=str(self.place), hint=hint, kind="unsupported")
