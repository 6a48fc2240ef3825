"""One line for a person: what a step does, what a port means."""

from __future__ import annotations

import math

from pilotlight.graph import Graph, Node, Port, Shape


def _shape(shape: Shape) -> str:
    """A shape without its leading ones."""
    sizes = list(shape)
    while len(sizes) > 1 and sizes[0] == 1:
        sizes.pop(0)
    return "(" + ", ".join(map(str, sizes)) + ")"


def _is_depthwise(node: Node) -> bool:
    groups = node.attrs["groups"]
    return bool(groups == node.attrs["channels"] == node.inputs[0].shape[3] and groups > 1)


def _details(node: Node) -> str:
    a = node.attrs
    if node.op in ("conv2d", "conv_transpose2d"):
        words = ["depthwise " if _is_depthwise(node) else ""]
        words.append(f"{node.op} {'x'.join(map(str, a['kernel']))}")
        if max(a["stride"]) > 1:
            words.append(f" stride {'x'.join(map(str, dict.fromkeys(a['stride'])))}")
        if max(a["dilation"]) > 1:
            words.append(f" dilation {'x'.join(map(str, dict.fromkeys(a['dilation'])))}")
        return "".join(words)
    if node.op == "patches":
        names = [inner.op for inner in a["stage"].nodes]
        return f"{names[0]} to {names[-1]}, {len(names)} layers in patches of {a['rows']}x{a['columns']}"
    if node.op == "fused":
        return " + ".join(item.op for item in a["body"])
    return node.op


def _clamp(node: Node) -> str:
    lo, hi = node.attrs.get("clamp", (-math.inf, math.inf))
    if (lo, hi) == (-math.inf, math.inf):
        return ""
    if lo == 0:
        return " + relu" if hi == math.inf else f" + relu{hi:g}"
    return f" + clamp {lo:g}..{hi:g}"


def describe_kind(node: Node) -> str:
    """The operator, with depthwise convolutions told apart from dense ones."""
    if node.op != "conv2d":
        return node.op
    return "depthwise conv2d" if _is_depthwise(node) else node.op


def describe_op(node: Node) -> str:
    """Such as `depthwise conv2d 3x3 stride 2 + relu6`."""
    return _details(node) + _clamp(node)


def describe_shapes(node: Node) -> str:
    """Such as `(32, 32, 3) -> (32, 32, 16)`: what comes in and what goes out, constants apart."""
    inputs = ", ".join(_shape(v.shape) for v in node.inputs if not v.is_constant) or "constants"
    return f"{inputs} -> {', '.join(_shape(v.shape) for v in node.outputs)}"


def describe_node(node: Node, *, place: bool = True) -> str:
    """Such as `conv2d 3x3 + relu, (32, 32, 3) -> (32, 32, 16); features.0.conv, net.py:12`."""
    text = f"{describe_op(node)}, {describe_shapes(node)}"
    origin = str(node.place) if node.place.module or node.place.source else ""
    return f"{text}; {origin}" if place and origin else text


def port_meaning(port: Port) -> str:
    """Type, shape, and how PyTorch's order maps to memory."""
    shape = ", ".join(map(str, port.value.shape))
    text = f"{port.value.dtype.name} ({shape})"
    if port.quant is not None:
        text += f", standing for (integer - {port.quant.zero_point}) * {port.quant.scale:.9g}"
    if port.value.dtype.kind == "h":
        text += ", the bits of a 16-bit float each"
    if port.value.dtype.kind == "b":
        text += ", 0 or 1 in a byte each"
    if port.perm is not None:
        original = ", ".join(map(str, port.shape))
        text += f", PyTorch's ({original}) with its dimensions in the order {list(port.perm)}"
        if list(port.perm) == [0, 2, 3, 1]:
            text += ": channels last"
    return text


def summarize(graph: Graph, source: str) -> str:
    """What the model is, for the first line of its files."""
    origin = f" from {source}" if source else ""
    return f"a PyTorch model{origin}, {graph.macs:,} multiply-accumulates"
