"""One line for a person: what a port means, what a model is."""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight.graph.graph import Graph, Port


def port_meaning(port: Port) -> str:
    """Type, shape, and how PyTorch's order maps to memory."""
    shape = ", ".join(map(str, port.value.shape))
    text = f"{port.value.dtype.name} ({shape})"
    if port.is_complex:
        text += ", complex numbers: real and imaginary part of each"
    if port.quant is not None:
        text += f", standing for (integer - {port.quant.zero_point}) * {port.quant.scale:.9g}"
    if port.value.dtype.kind == "h":
        text += ", the bits of a 16-bit float each"
    if port.value.dtype.kind == "b":
        text += ", 0 or 1 in a byte each"
    if port.perm is not None:
        original = ", ".join(map(str, port.real_shape))
        text += f", PyTorch's ({original}) with its dimensions in the order {list(port.perm)}"
        if list(port.perm) == [0, 2, 3, 1]:
            text += ": channels last"
    return text


def size_meaning(ports: Sequence[Port], port: Port) -> str:
    """How a port and those with its sizes go together: "" where every size is fixed."""
    number = list(ports).index(port)
    if port.is_size:
        owner, axis = next((p, axis) for p in ports for axis, where in p.sizes if where == number)
        text = f"; how many of dimension {axis} of {owner.name} count"
        return f"{text}, {port.limits[0]} to {port.limits[1]}" if port.limits[1] else text
    sizes = [f"{ports[where].name} of dimension {axis}" for axis, where in port.sizes]
    return f"; the first {' and '.join(sizes)} count" if sizes else ""


def summarize(graphs: Sequence[Graph], source: str) -> str:
    """What the model is, for the first line of its files."""
    origin = f" from {source}" if source else ""
    if len(graphs) > 1:
        return f"a {graphs[0].framework} model{origin} with {len(graphs)} entry points"
    return f"a {graphs[0].framework} model{origin}, {graphs[0].macs:,} multiply-accumulates"
