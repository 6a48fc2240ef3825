"""UNIDIRECTIONAL_SEQUENCE_LSTM as TFLM has it: the plain layer, whose two states last from call to call."""

from __future__ import annotations

import math

import numpy as np

from pilotlight.capture.tflite.operators.dense import is_hybrid, weights_of
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import Site
from pilotlight.graph import FLOAT32, Graph, Port, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.recurrent.tflm import LstmScales, make_tflm_lstm
from pilotlight.ops.views import slice_axis

INPUTS = 24
H, C = 18, 19  # the states among the inputs
TANH = 4
_VARIANTS = ((9, 12, "peephole weights"), (16, 18, "a projection"), (20, 24, "layer normalization"))
_MOST_SHIFT = 12  # to the left, of a cell before tanh: products have 32 bits


def _checked(site: Site) -> tuple[int, int]:
    """The batch and the number of units, of a layer that TFLM runs."""
    for first, last, what in _VARIANTS:
        if any(site.has(k) for k in range(first, last)):
            raise site.refuse(f"{what}, which TFLM does not run")
    if not all(site.has(k) for k in (1, 5, 12)):
        raise site.refuse("an input gate that is coupled to the forget gate (CIFG), which TFLM does not run")
    if site.options.FusedActivationFunction != TANH:
        raise site.refuse("an activation other than TANH, which TFLM does not run")
    if site.options.ProjClip:
        raise site.refuse("a clipped projection, which TFLM does not run")
    for k in (H, C):
        if not site.tensor(k).variable:
            raise site.refuse(f"the state {site.tensor(k)} is no variable")
    x, (hidden, width) = site.x().shape, site.x(2).shape
    if len(x) != 3 or x[2] != width or not hidden:
        raise site.refuse(f"{site.tensor()} with the weights {site.tensor(2)}")
    batch = x[1] if site.options.TimeMajor else x[0]
    shapes = dict.fromkeys(range(1, 5), (hidden, width)) | dict.fromkeys(range(5, 9), (hidden, hidden))
    for k, shape in (shapes | dict.fromkeys(range(12, 16), (hidden,))).items():
        if site.x(k).shape != shape:
            raise site.refuse(f"{site.tensor(k)}; expected {list(shape)}")
    if any(site.x(k).elements != batch * hidden for k in (H, C)):
        raise site.refuse(f"the states {site.tensor(H)} and {site.tensor(C)}; expected {[batch, hidden]}")
    if 0 in x:
        raise site.refuse(f"{site.tensor()}, which is empty")
    return batch, hidden


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", options="UnidirectionalSequenceLSTMOptions")
def unidirectional_sequence_lstm(site: Site) -> Value:
    """Inputs: x, four weights of x and four of h (gates i, f, g, o), four biases, h and c."""
    shape = _checked(site)
    keys = [f"tensor {site.tensor(k).index}" for k in (H, C)]
    h, c = (site.b.reshape(site.variables.now[key], shape) for key in keys)
    kind = site.tensor().type
    kinds = {site.tensor(H).type, site.result.type}
    weights = {site.tensor(k).type for k in range(1, 9)}
    real = weights == {kind} or all(is_hybrid(site, k) for k in range(1, 9))
    if kind == "FLOAT32" and real and kinds | {site.tensor(C).type} == {kind}:
        y, h, c = _float(site, h, c)
    elif kind in ("INT8", "INT16") and kinds == {kind} and weights == {"INT8"} and site.tensor(C).type == "INT16":
        y, h, c = _integers(site, h, c)
    else:
        raise site.refuse(
            f"{site.tensor()} with {site.tensor(1)} and the states {site.tensor(H)} and {site.tensor(C)}; expected "
            "float32, or int8 or int16 with int8 weights and a cell of int16"
        )
    for key, k, value in zip(keys, (H, C), (h, c), strict=True):
        site.variables.now[key] = site.b.reshape(value, site.tensor(k).shape)
    return y


def _integers(site: Site, h: Value, c: Value) -> list[Value]:
    bits = 16 if site.tensor().type == "INT16" else 8
    expected = "INT64" if bits == 16 else "INT32"
    if any(site.tensor(k).type != expected for k in range(12, 16)):
        raise site.refuse(f"the bias is {site.tensor(12)}; expected {expected.lower()}")
    qx, qh, qc, qy = (site.quant(t) for t in (site.tensor(), site.tensor(H), site.tensor(C), site.result))
    weights = [site.quant(site.tensor(k)) for k in range(1, 9)]
    if any(q.zero_point for q in (qc, *weights)) or (bits == 16 and (qx.zero_point or qh.zero_point)):
        raise site.refuse("a zero point of the cell, the weights or a 16-bit tensor; expected 0")
    if qh != qy:
        raise site.refuse(f"{site.tensor(H)} and {site.result} have several scales")
    power = math.floor(math.log2(qc.scale) + 0.5)
    if power + 12 > _MOST_SHIFT or power < -30:
        raise site.refuse(f"the cell's scale {qc.scale:g}")
    scales = LstmScales(
        qx, qh, qc.scale, tuple(q.scale for q in weights[:4]), tuple(q.scale for q in weights[4:])
    )
    w_x, w_h, bias = (
        np.stack([site.constant(k, "a weight") for k in range(first, first + 4)]) for first in (1, 5, 12)
    )
    spec = make_tflm_lstm(
        scales, w_x, w_h, bias, float(np.float32(site.options.CellClip)), power, bits=bits,
        batch_first=not site.options.TimeMajor,
    )
    return spec.build(site.b, site.x(), h, c)


def _float(site: Site, h: Value, c: Value) -> list[Value]:
    """A loop over the steps, because a cell may be clipped."""
    b, x, time_major = site.b, site.x(), site.options.TimeMajor
    w_x, w_h, bias = (
        np.concatenate([weights_of(site, k, "a weight") for k in range(first, first + 4)]) for first in (1, 5, 12)
    )
    steps = x if time_major else b.permute(x, (1, 0, 2))
    body = _step(steps.shape[1:], w_x, w_h, bias, float(np.float32(site.options.CellClip)))
    h, c, y = b.nodes("scan", [h, c, steps], body=body, carried=2, sliced=1, length=steps.shape[0])
    return [y if time_major else b.permute(y, (1, 0, 2)), h, c]


def _step(shape: tuple[int, ...], w_x: np.ndarray, w_h: np.ndarray, bias: np.ndarray, clip: float) -> Graph:
    """One step: h, c and a row of x in; h, c and h out."""
    graph = Graph("body")
    b = Builder(graph)
    hidden = w_h.shape[1]
    given = []
    for name, size in (("h", hidden), ("c", hidden), ("x", shape[1])):
        value = graph.fresh(name, FLOAT32, (shape[0], size))
        graph.inputs.append(Port(name, value, value.shape))
        given.append(value)
    h, c, x = given
    zero = b.constant(np.zeros(4 * hidden, np.float32), hint="zero_bias")
    from_x = b.node("linear", [x, b.constant(w_x, hint="w_x"), b.constant(bias, hint="bias")])
    from_h = b.node("linear", [h, b.constant(w_h, hint="w_h"), zero])
    gates = apply(b, "add", from_x, from_h)
    i, f, g, o = (
        apply(b, "tanh" if k == 2 else "sigmoid", slice_axis(b, gates, 1, k * hidden, (k + 1) * hidden))
        for k in range(4)
    )
    cell = apply(b, "add", apply(b, "mul", f, c), apply(b, "mul", i, g))
    if clip > 0:
        cell = apply(b, "clamp_max", apply(b, "clamp_min", cell, -clip), clip)
    out = apply(b, "mul", o, apply(b, "tanh", cell))
    for name, value in (("h", out), ("c", cell), ("y", out)):
        graph.outputs.append(Port(name, value, value.shape))
    return graph
