"""Where a quantized model loses: every layer's integers against the float model's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from pilotlight.graph import Graph, Node, Value
from pilotlight.graph.evaluate import trace
from pilotlight.ops.describe import describe_op
from pilotlight.ops.forms import REPLACES
from pilotlight.passes.pipeline import passes

WORST, WORST_SAMPLES = 5, 4
SHRINKING = "drop constant channels"  # changes shapes, so that layers could not be compared


@dataclass(frozen=True)
class LayerSnr:
    """One layer: its signal over the noise that quantization adds up to there, in decibels."""

    op: str  # in words
    module: str
    source: str
    snr_db: float


def layer_snr(real: Graph, quantized: Graph, samples: list[list[torch.Tensor]]) -> list[LayerSnr]:
    """Layers that both graphs have, worst first."""
    graphs = [_lowered(real), _lowered(quantized)]
    pairs = _pairs(*graphs)
    signal, noise = [0.0] * len(pairs), [0.0] * len(pairs)
    for sample in samples:
        floats, integers = trace(graphs[0], sample)[0], trace(graphs[1], sample)[0]
        for k, (f, q, _) in enumerate(pairs):
            x, y = floats[f].double(), integers[q].double()
            if q.quant is not None:
                y = (y - q.quant.zero_point) * q.quant.scale
            signal[k] += float((x**2).sum())
            noise[k] += float(((x - y) ** 2).sum())
    rows = []
    for (_, _, node), s, n in zip(pairs, signal, noise, strict=True):
        decibels = math.inf if n == 0 else -math.inf if s == 0 else 10 * math.log10(s / n)
        rows.append(LayerSnr(describe_op(node), node.place.module, node.place.source, decibels))
    return sorted(rows, key=lambda row: row.snr_db)


def worst_layers(real: Graph, quantized: Graph, samples: list[list[torch.Tensor]]) -> list[LayerSnr]:
    """The few layers that lose most, over a few samples."""
    rows = layer_snr(real, quantized, samples[:WORST_SAMPLES])
    return [row for row in rows if math.isfinite(row.snr_db)][:WORST]


def _lowered(graph: Graph) -> Graph:
    graph = graph.clone()
    for name, step in passes():
        if name != SHRINKING and not name.startswith("fuse pointwise"):
            graph = step(graph)
    return graph


def _after_clamps(value: Value, users: dict[Value, list[Node]]) -> Value:
    """A clamp is part of the integer operator before it."""
    readers = users.get(value, [])
    while len(readers) == 1 and readers[0].op in ("clamp_min", "clamp_max"):
        value = readers[0].output
        readers = users.get(value, [])
    return value


def _pairs(real: Graph, quantized: Graph) -> list[tuple[Value, Value, Node]]:
    """Results of an operator and of the one that took its place, the first with the first, and so on."""
    users = real.users()
    waiting: dict[tuple[str, str, str], list[Value]] = {}
    for node in real.nodes:
        key = (node.op, node.place.module, node.place.source)
        waiting.setdefault(key, []).append(_after_clamps(node.outputs[0], users))
    pairs = []
    for node in quantized.nodes:
        name = node.attrs.get(REPLACES)
        found = waiting.get((name, node.place.module, node.place.source)) if name else None
        if found and found[0].shape == node.outputs[0].shape:
            pairs.append((found.pop(0), node.outputs[0], node))
    return pairs
