"""Clamps go into the convolution or linear layer before them, constant padding into the convolution after it."""

from __future__ import annotations

import math

from pilotlight.graph import Graph, Node, Shape
from pilotlight.passes.edit import Editor

DENSE = ("conv2d", "linear", "wlinear8", "wlinear4")


def fuse_clamps(graph: Graph) -> Graph:
    """relu, relu6 and clamp after a dense layer become its `clamp` attribute."""
    edit = Editor(graph)
    for node in edit:
        if node.op not in ("clamp_min", "clamp_max"):
            continue
        x, bound = node.inputs
        dense = edit.layer(x, DENSE)
        if dense is None or bound.data is None or bound.elements != 1:
            continue
        limit = float(bound.data.reshape(-1)[0])
        lo, hi = dense.attrs.get("clamp", (-math.inf, math.inf))
        choose = max if node.op == "clamp_min" else min
        dense.attrs["clamp"] = (choose(lo, limit), choose(hi, limit))
        edit.remove(node)
        edit.replace(node.output, x)
    return edit.done()


def absorb_padding(graph: Graph) -> Graph:
    """Zeros padded around height and width before a convolution become the convolution's own padding.

    A one-dimensional convolution reads (N, L, C) as (N, 1, L, C): there the padding comes before a reshape.
    """
    edit = Editor(graph)
    for node in edit:
        if node.op not in ("conv2d", "qconv2d", "qconv2d_s16"):
            continue
        pad = edit.producers.get(node.inputs[0])
        row = pad is not None and pad.op == "reshape" and edit.producers.get(pad.inputs[0])
        pad = row or pad
        if pad is None or not _is_spatial(pad, node.attrs.get("zx", 0), node.inputs[0].shape):
            continue
        before, after = (_as_image(pad.attrs[side]) for side in ("before", "after"))
        amounts = zip(node.attrs["pad"], (*before[1:3], *after[1:3]), strict=True)
        node.attrs["pad"] = tuple(a + b for a, b in amounts)
        image = x = pad.inputs[0]
        if row:
            image = graph.fresh("reshape", x.dtype, (x.shape[0], 1, *x.shape[1:]))
            image.quant = x.quant
            edit.insert(node, Node("reshape", [x], [image], {"shape": image.shape}, node.place))
        edit.read(node, [image, *node.inputs[1:]])
    return edit.done()


def _as_image(sizes: tuple[int, ...], height: int = 0) -> tuple[int, ...]:
    """(N, H, W, C) of what may be (N, L, C)."""
    return sizes if len(sizes) == 4 else (sizes[0], height, *sizes[1:])


def _is_spatial(node: Node, zero: int, image: Shape) -> bool:
    """Whether a node pads height and width of an image with what represents zero."""
    if node.op != "pad" or node.attrs["value"] != zero or len(node.output.shape) not in (3, 4):
        return False
    before, after = (_as_image(node.attrs[side]) for side in ("before", "after"))
    untouched = before[0] == after[0] == before[3] == after[3] == 0
    return untouched and min(before + after) >= 0 and _as_image(node.output.shape, 1) == image
