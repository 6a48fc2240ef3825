"""Recurrent layers, stacked, side by side or alone: each gets a quantized output.

PT2E sees a stack of LSTM or GRU layers as one operator and quantizes only its input and its output. So that each layer
can compute in integers,
- a final hidden state is read as the last step of the layer's output, which it is;
- each layer's output is quantized right after it: in the scale that its readers ask for, where they agree on one,
  else in steps of 1/128, because hidden states lie between -1 and 1;
- given states are quantized before it: the hidden one as the output is, an LSTM's cell in 16 bits. A GRU that carries
  its state from run to run carries the 16 bits of its update.
"""

from __future__ import annotations

from pilotlight.graph import INT8, INT16, Graph, Node, Quant, Value
from pilotlight.ops.quantize import make_dequantize, make_quantize
from pilotlight.ops.recurrent.int8 import CELL, KEPT

LAYERS = ("lstm", "gru")
MOVES = ("reshape", "permute", "slice", "concat", "flip")
BETWEEN = Quant(1.0 / 128.0, 0)


def quantize_layers(graph: Graph) -> Graph:
    """All three rewrites, for layers whose input is quantized."""
    known: set[Value] = set()  # real numbers that were int8 before
    at = 0
    while at < len(graph.nodes):
        node = graph.nodes[at]
        at += 1
        moved = node.op in MOVES and all(v in known for v in node.inputs)
        if moved or (node.op == "dequantize" and node.inputs[0].dtype == INT8):
            known.add(node.output)
        elif node.op in LAYERS and node.inputs[0] in known:
            graph.nodes[at:at] = _last_step(graph, node)
            quant = _agreed(graph, node.outputs[0]) or BETWEEN
            graph.nodes[at:at] = _quantized(graph, node, quant)
            before = _given(graph, node, quant) if node.attrs["initial"] else []
            graph.nodes[at - 1 : at - 1] = before
            at += len(before)
    return graph


def _given(graph: Graph, node: Node, quant: Quant) -> list[Node]:
    """quantize and dequantize between given states and the layer."""
    count, made = len(node.outputs) - 1, []
    hidden = (KEPT, 16) if node.op == "gru" and node.attrs.get("carried") else (quant, 8)
    for k, (scale, bits) in enumerate([hidden, (CELL, 16)][:count], len(node.inputs) - count):
        real = node.inputs[k]
        dtype = INT8 if bits == 8 else INT16
        integers, again = graph.fresh(real.name, dtype, real.shape), graph.fresh(real.name, real.dtype, real.shape)
        made.append(make_quantize(scale, bits).node(graph, [real], [integers], node.place))
        made.append(make_dequantize(scale).node(graph, [integers], [again], node.place))
        node.inputs[k] = again
    return made


def _quantized(graph: Graph, node: Node, quant: Quant) -> list[Node]:
    """quantize and dequantize between a layer's output and its readers."""
    y = node.outputs[0]
    integers, real = graph.fresh(node.op, INT8, y.shape), graph.fresh(node.op, y.dtype, y.shape)
    graph.replace(y, real)
    return [
        make_quantize(quant).node(graph, [y], [integers], node.place),
        make_dequantize(quant).node(graph, [integers], [real], node.place),
    ]


def _agreed(graph: Graph, y: Value) -> Quant | None:
    """The one int8 scale in which all readers of a value, moved or not, take it."""
    users, leaving = graph.users(), graph.leaving()
    found: set[Quant | None] = set()
    waiting = [y]
    while waiting:
        value = waiting.pop()
        found |= {None} if value in leaving else set()
        for reader in users.get(value, []):
            if reader.op in MOVES:
                waiting.append(reader.output)
            elif reader.op == "quantize" and reader.attrs["bits"] == 8:
                found.add(Quant(reader.attrs["scale"], reader.attrs["zero"]))
            else:
                found.add(None)
    return found.pop() if len(found) == 1 else None


def _last_step(graph: Graph, node: Node) -> list[Node]:
    """The final hidden state (N, H) as a slice of the output."""
    y, last = node.outputs[:2]
    if node.attrs.get("carried") or (not graph.users().get(last) and last not in graph.leaving()):
        return []  # nobody reads it, or only the next run does
    time = 1 if node.attrs["batch_first"] else 0
    step = 0 if node.attrs["reverse"] else y.shape[time] - 1
    ranges = tuple((step, step + 1, 1) if i == time else (0, size, 1) for i, size in enumerate(y.shape))
    part = graph.fresh("last", y.dtype, tuple(stop - start for start, stop, _ in ranges))
    flat = graph.fresh("last", y.dtype, last.shape)
    graph.replace(last, flat)
    return [
        Node("slice", [y], [part], {"ranges": ranges}, node.place),
        Node("reshape", [part], [flat], {"shape": last.shape}, node.place),
    ]
