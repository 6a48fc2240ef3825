"""Float layers whose weights came quantized keep them as integers: `linear`, 1x1 `conv2d` → `wlinear8`, `wlinear4`."""

from __future__ import annotations

import numpy as np

from pilotlight.emit.pack_weights import CHUNK, Grid, input_bits, split_scales
from pilotlight.graph import Graph, Node, Value
from pilotlight.passes.activation import fuse_clamps
from pilotlight.passes.behind import Readers

LAYERS = ("wlinear8", "wlinear4")
POINT = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0), "groups": 1}


def keep_integer_weights(graph: Graph) -> Graph:
    """Rewrite every layer whose integers are exact; scales and shifts behind it go into its own."""
    found = False
    for at, node in enumerate(graph.nodes):
        made = _integers(graph, node)
        if made is not None:
            found = True
            graph.nodes[at] = made
            for fallback in graph.fallbacks:
                fallback.node = made if fallback.node is node else fallback.node
    if found:
        while _fold_one(graph):
            pass
        fuse_clamps(graph)
    return graph


def _integers(graph: Graph, node: Node) -> Node | None:
    """The layer with integer weights, when its weights are integers times scales to the last bit."""
    scale = node.attrs.get("weight_scale")
    if scale is None or not (node.op == "linear" or _is_point(node)):
        return None
    x, weight, bias = node.inputs
    assert weight.data is not None
    real = weight.data.reshape(len(weight.data), -1)
    outputs, inputs = real.shape
    group = node.attrs.get("weight_group", -(-inputs // CHUNK) * CHUNK)
    scales = np.asarray(scale, np.float64).reshape(outputs, -1)
    each = scales if scales.shape[1] == 1 else scales.repeat(group, 1)[:, :inputs]
    q = np.rint(real / np.where(each > 0, each, 1.0))
    lowest, highest = q.min(initial=0), q.max(initial=0)
    if lowest < -128 or highest > 127 or not np.array_equal((q * each).astype(np.float32), real):
        return None
    steps8 = q.astype(np.int8)
    integers = graph.constant(steps8, weight.name)
    attrs = {k: v for k, v in node.attrs.items() if k == "clamp"}
    split = split_scales(scales) if lowest >= -8 and highest <= 7 and Grid.fits(group) else None
    if split is not None:
        steps, unit = (graph.constant(a.astype(t), "scale") for a, t in zip(split, (np.int32, np.float32), strict=True))
        attrs |= {"group": group, "bits": input_bits(steps8, Grid(inputs, group))}
        return Node("wlinear4", [x, integers, steps, unit, bias], node.outputs, attrs, node.place)
    if scales.shape[1] != 1:
        return None
    own = graph.constant(scales[:, 0].astype(np.float32), "scale")
    return Node("wlinear8", [x, integers, own, bias], node.outputs, attrs, node.place)


def _is_point(node: Node) -> bool:
    """Whether a convolution is a linear layer over the channels of every pixel."""
    return node.op == "conv2d" and all(node.attrs[k] == 1 if k == "groups" else tuple(node.attrs[k]) == v
                                       for k, v in POINT.items())


def _fold_one(graph: Graph) -> bool:
    """layer → multiply, add, subtract by a constant per output: into its scale and bias."""
    readers = Readers(graph)
    for node in graph.nodes:
        if node.op not in ("mul", "add", "sub"):
            continue
        for x, constant in (node.inputs, node.inputs[::-1]):
            layer = readers.layer(x, LAYERS) if constant.data is not None else None
            if layer is None or "clamp" in layer.attrs or (node.op == "sub" and constant is node.inputs[0]):
                continue
            if node.output.shape == x.shape and constant.elements in (1, *constant.shape[-1:]):
                _apply(graph, node, layer, constant)
                graph.nodes.remove(node)
                graph.replace(node.output, x)
                return True
    return False


def _apply(graph: Graph, node: Node, layer: Node, constant: Value) -> None:
    *rest, scale, bias = layer.inputs
    assert scale.data is not None and bias.data is not None and constant.data is not None
    number = np.broadcast_to(constant.data.reshape(-1).astype(np.float64), (bias.elements,))
    s, b = scale.data.astype(np.float64), bias.data.astype(np.float64)
    if node.op == "mul":
        s, b = s * number, b * number
    else:
        b = b + number if node.op == "add" else b - number
    layer.inputs = [
        *rest, graph.constant(s.astype(np.float32), scale.name), graph.constant(b.astype(np.float32), bias.name)
    ]
