"""Clamps go into the convolution or linear layer in front of them, constant padding into the convolution behind."""

from __future__ import annotations

import math

from pilotlight.graph import Graph, Node
from pilotlight.passes.behind import Readers

DENSE = ("conv2d", "linear")


def fuse_clamps(graph: Graph) -> Graph:
    """relu, relu6 and clamp after a dense layer become its `clamp` attribute."""
    readers = Readers(graph)
    for node in list(graph.nodes):
        if node.op not in ("clamp_min", "clamp_max"):
            continue
        x, bound = node.inputs
        dense = readers.layer(x, DENSE)
        if dense is None or bound.data is None or bound.elements != 1:
            continue
        limit = float(bound.data.reshape(-1)[0])
        lo, hi = dense.attrs.get("clamp", (-math.inf, math.inf))
        choose = max if node.op == "clamp_min" else min
        dense.attrs["clamp"] = (choose(lo, limit), choose(hi, limit))
        graph.nodes.remove(node)
        graph.replace(node.output, x)
        readers = Readers(graph)
    return graph


def absorb_padding(graph: Graph) -> Graph:
    """Zeros padded around height and width in front of a convolution are the convolution's own padding."""
    producers = graph.producers()
    for node in graph.nodes:
        pad = producers.get(node.inputs[0]) if node.op in ("conv2d", "qconv2d") else None
        if pad is not None and _is_spatial(pad, node.attrs.get("zx", 0)):
            (_, top, left, _), (_, bottom, right, _) = pad.attrs["before"], pad.attrs["after"]
            amounts = zip(node.attrs["pad"], (top, left, bottom, right), strict=True)
            node.attrs["pad"] = tuple(a + b for a, b in amounts)
            node.inputs[0] = pad.inputs[0]
    return graph


def _is_spatial(node: Node, zero: int) -> bool:
    """Whether a node pads height and width with what stands for zero."""
    if node.op != "pad" or node.attrs["value"] != zero or len(node.attrs["before"]) != 4:
        return False
    amounts = list(zip(node.attrs["before"], node.attrs["after"], strict=True))
    return amounts[0] == amounts[3] == (0, 0) and all(a >= 0 for pair in amounts for a in pair)
