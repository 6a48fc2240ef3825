"""One line for a person: what a port means, what a model is."""

from __future__ import annotations

from pilotlight.graph.graph import Graph, Port


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
