"""Float layers whose weights came quantized keep them as integers.

`linear` and 1x1 `conv2d` → `wlinear8`, `wlinear4`; `take` out of a constant → `wtake8`, `wtake4`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pilotlight import ops
from pilotlight.graph import FLOAT32, INT64, Graph, Node, Value
from pilotlight.kernels.pack_weights import CHUNK, Grid, input_bits, split_scales
from pilotlight.ops.forms import REPLACES
from pilotlight.passes.activation import fuse_clamps
from pilotlight.passes.clean import remove_dead
from pilotlight.passes.edit import Editor
from pilotlight.passes.integer import Fallback

LAYERS = ("wlinear8", "wlinear4")
REASON = "float_reason"  # attribute of a layer whose weights were not quantized
POINT = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0), "groups": 1}


def keep_integer_weights(graph: Graph) -> Graph:
    """Rewrite every layer whose integers are exact; scales and shifts after it go into its own."""
    found: dict[Node, Node] = {}
    producers = graph.producers()
    for at, node in enumerate(graph.nodes):
        made = _rewritten(graph, node) or _from_cast(graph, node, producers)
        if made is not None:
            found[node] = graph.nodes[at] = made
    for fallback in graph.fallbacks:
        fallback.node = found.get(fallback.node, fallback.node)
    if found:
        graph = remove_dead(fuse_clamps(_fold_scales(graph)))
    if graph.quantization is not None and graph.quantization.weights_only:
        graph.fallbacks = [
            Fallback(node, node.attrs.pop(REASON, f"{node.op} has no form with integer weights"))
            for node in graph.nodes if _has_float_weights(node)
        ]
    return graph


def _has_float_weights(node: Node) -> bool:
    heavy = node.op == "take" or ops.get(node.op).macs(node) > 0
    return heavy and any(v.is_constant and v.dtype == FLOAT32 and len(v.shape) > 1 for v in node.inputs)


def _rewritten(graph: Graph, node: Node) -> Node | None:
    """The layer with integer weights, when its weights are integers times scales to the last bit."""
    scale = node.attrs.get("weight_scale")
    layer, table = node.op == "linear" or _is_point(node), node.op == "take"
    if scale is None or not (layer or (table and node.attrs["axis"] == 0 and node.inputs[1].dtype == INT64)):
        return None
    weight, group = node.inputs[0 if table else 1], node.attrs.get("weight_group")
    kept = _integers(graph, weight, np.asarray(scale, np.float64), group)
    if kept is None:
        return None
    bits, constants, attrs = kept
    if table:
        rows, columns = node.inputs[0].shape
        attrs |= {"rows": rows, "columns": columns, REPLACES: node.op}
        return Node(f"wtake{bits}", [node.inputs[1], *constants], node.outputs, attrs, node.place)
    attrs |= {k: v for k, v in node.attrs.items() if k == "clamp"} | {REPLACES: node.op}
    return Node(f"wlinear{bits}", [node.inputs[0], *constants, node.inputs[2]], node.outputs, attrs, node.place)


def _from_cast(graph: Graph, node: Node, producers: dict[Value, Node]) -> Node | None:
    """x times int8 weights (I, O) that are cast at run time, as torchao exports them; their scales follow."""
    cast = producers.get(node.inputs[1]) if node.op == "matmul" else None
    table = cast.inputs[0].data if cast is not None and cast.op == "cast" else None
    x = node.inputs[0]
    if table is None or table.dtype != np.int8 or table.ndim != 2 or node.output.shape[:-1] != x.shape[:-1]:
        return None
    ones, zeros = np.ones(table.shape[1], np.float32), np.zeros(table.shape[1], np.float32)
    constants = [graph.constant(a, hint) for a, hint in ((table.T, "weight"), (ones, "scale"), (zeros, "bias"))]
    return Node("wlinear8", [x, *constants], node.outputs, {REPLACES: node.op}, node.place)


def _integers(
    graph: Graph, weight: Value, scale: np.ndarray, given: int | None
) -> tuple[int, list[Value], dict[str, Any]] | None:
    """The width, the constants and the attributes of a layer with these weights."""
    assert weight.data is not None
    real = weight.data.reshape(len(weight.data), -1)
    outputs, inputs = real.shape
    group = given or -(-inputs // CHUNK) * CHUNK
    scales = scale.reshape(outputs, -1)
    each = scales if scales.shape[1] == 1 else scales.repeat(group, 1)[:, :inputs]
    q = np.rint(real / np.where(each > 0, each, 1.0))
    lowest, highest = q.min(initial=0), q.max(initial=0)
    if lowest < -128 or highest > 127 or not np.array_equal((q * each).astype(np.float32), real):
        return None
    integers = q.astype(np.int8)
    split = split_scales(scales) if lowest >= -8 and highest <= 7 and Grid.fits(group) else None
    if split is not None:
        parts: list[np.ndarray] = [integers, split[0].astype(np.int32), split[1].astype(np.float32)]
        attrs = {"group": group, "bits": input_bits(integers, Grid(inputs, group))}
        return 4, [graph.constant(part, weight.name) for part in parts], attrs
    if scales.shape[1] != 1:
        return None
    own = graph.constant(scales[:, 0].astype(np.float32), weight.name)
    return 8, [graph.constant(integers, weight.name), own], {}


def _is_point(node: Node) -> bool:
    """Whether a convolution is a linear layer over the channels of every pixel."""
    return node.op == "conv2d" and all(node.attrs[k] == 1 if k == "groups" else tuple(node.attrs[k]) == v
                                       for k, v in POINT.items())


def _fold_scales(graph: Graph) -> Graph:
    """layer → multiply, add, subtract by a constant per output: into its scale and bias."""
    edit = Editor(graph)
    for node in edit:
        if node.op not in ("mul", "add", "sub"):
            continue
        for x, constant in (node.inputs, node.inputs[::-1]):
            layer = edit.layer(x, LAYERS) if constant.data is not None else None
            if layer is None or "clamp" in layer.attrs or (node.op == "sub" and constant is node.inputs[0]):
                continue
            if node.output.shape == x.shape and constant.elements in (1, *constant.shape[-1:]):
                edit.read(layer, _folded(graph, node, layer, constant))
                edit.remove(node)
                edit.replace(node.output, x)
                break
    return edit.done()


def _folded(graph: Graph, node: Node, layer: Node, constant: Value) -> list[Value]:
    """The inputs of a layer that also computes the node after it."""
    *rest, scale, bias = layer.inputs
    assert scale.data is not None and bias.data is not None and constant.data is not None
    number = np.broadcast_to(constant.data.reshape(-1).astype(np.float64), (bias.elements,))
    s, b = scale.data.astype(np.float64), bias.data.astype(np.float64)
    if node.op == "mul":
        s, b = s * number, b * number
    else:
        b = b + number if node.op == "add" else b - number
    return [*rest, graph.constant(s.astype(np.float32), scale.name), graph.constant(b.astype(np.float32), bias.name)]
