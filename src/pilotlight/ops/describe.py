"""One line for a person: what a step does."""

from __future__ import annotations

import math

from pilotlight.graph import INT8, INT16, Node, Shape
from pilotlight.ops.base import get


def _shape(shape: Shape) -> str:
    """A shape without its leading ones."""
    sizes = list(shape)
    while len(sizes) > 1 and sizes[0] == 1:
        sizes.pop(0)
    return "(" + ", ".join(map(str, sizes)) + ")"


def _clamp(node: Node) -> str:
    lo, hi = node.attrs.get("clamp", (-math.inf, math.inf))
    if (lo, hi) == (-math.inf, math.inf):
        return ""
    if lo == 0:
        return " + relu" if hi == math.inf else f" + relu{hi:g}"
    return f" + clamp {lo:g}..{hi:g}"


def describe_group(node: Node) -> str:
    """The operator in a word or two, with depthwise convolutions told apart from dense ones."""
    return get(node.op).group(node)


def describe_op(node: Node) -> str:
    """Such as `depthwise conv2d 3x3 stride 2 + relu6`, whatever it computes with."""
    return get(node.op).describe(node) + _clamp(node)


def describe_type(node: Node) -> str:
    """What it computes with: such as `int8`, or `int8 -> float32` where it reads one type and writes another."""
    read = next((v.dtype.name for v in node.inputs if not v.is_constant), None)
    written = node.outputs[0].dtype.name if node.outputs else None
    return " -> ".join(dict.fromkeys(name for name in (read, written) if name))


def describe_shapes(node: Node) -> str:
    """Such as `(32, 32, 3) -> (32, 32, 16)`: what comes in and what goes out, without constants."""
    inputs = ", ".join(_shape(v.shape) for v in node.inputs if not v.is_constant) or "constants"
    return f"{inputs} -> {', '.join(_shape(v.shape) for v in node.outputs)}"


def describe_kind(node: Node) -> str:
    """Such as `depthwise conv2d, int8`: the operator in short, and the integers of a quantized model."""
    return ", ".join(filter(None, (describe_group(node), _integers(node))))


def _integers(node: Node) -> str:
    """The type of a step of a quantized model; empty for other models."""
    quantized = any(v.dtype in (INT8, INT16) for v in (*node.inputs, *node.outputs) if not v.is_constant)
    return describe_type(node) if quantized else ""


def describe_node(node: Node, *, place: bool = True) -> str:
    """Such as `conv2d 3x3 + relu, int8, (32, 32, 3) -> (32, 32, 16); features.0.conv, net.py:12`."""
    text = ", ".join(filter(None, (describe_op(node), _integers(node), describe_shapes(node))))
    origin = str(node.place) if node.place.module or node.place.source else ""
    return f"{text}; {origin}" if place and origin else text
