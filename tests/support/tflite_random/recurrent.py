"""Layers with a memory."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.draw import HYBRID_CASES, Draw, both, case, every


@both("SVDF")
@case(HYBRID_CASES, "SVDF")
def _svdf(d: Draw) -> None:
    rows, inputs, rank, units, memory = d.pick(1, 2), d.integer(1, 8), d.integer(1, 2), d.integer(1, 4), d.integer(1, 6)
    filters = rank * units
    if d.kind == "FLOAT32":
        x = d.input((rows, inputs))
        parts = [d.graph.constant(d.numbers(s)) for s in ((filters, inputs), (filters, memory), (units,))]
        if d.hybrid:
            shapes = ((filters, inputs), (filters, memory))
            parts[:2] = [
                d.graph.constant(d.rng.integers(-127, 128, s).astype(np.int8), d.scale(0.002, 0.02)) for s in shapes
            ]
        state = d.graph.tensor((rows, filters * memory), "FLOAT32", variable=True)
    else:
        x = d.input((rows, inputs))
        kind = d.pick("INT16", "INT8")
        wf, wt, ss = d.scale(0.002, 0.02), d.scale(0.0005, 0.002), 0.0
        ss = float(np.float32(d.graph.tensors[x].scale[0] * wf * 40 * (1 if kind == "INT8" else 0.01)))
        parts = [
            d.graph.constant(d.rng.integers(-127, 128, (filters, inputs)).astype(np.int8), wf),
            d.graph.constant(d.rng.integers(-127, 128, (filters, memory)).astype(kind.lower()), wt),
            d.graph.constant(d.rng.integers(-3000, 3000, units).astype(np.int32), np.float32(ss) * np.float32(wt)),
        ]
        state = d.graph.tensor((rows, filters * memory), kind, ss, 0, variable=True)
    wide = d.graph.tensors[state].type == "INT16"
    scale = 1.0 if d.kind == "FLOAT32" else float(np.float32(ss * wt * (400000 if wide else 4000)))
    d.call([x, *parts, state], [d.result((rows, units), **d.affine(scale))], options="SVDFOptions", Rank=rank,
           FusedActivationFunction=0)


def _gate_weights(d: Draw, count: int, shape: tuple[int, ...], scale: float) -> list[int]:
    """The weights of so many gates."""
    if d.kind == "FLOAT32" and not d.hybrid:
        return [d.graph.constant(d.numbers(shape) / np.float32(np.sqrt(shape[1]))) for _ in range(count)]
    made = []
    for _ in range(count):
        data = d.rng.integers(-127, 128, shape).astype(np.int8)
        made.append(d.graph.constant(data, float(np.float32(scale * d.pick(0.5, 1.0, 2.0) / np.sqrt(shape[1])))))
    return made


@every("UNIDIRECTIONAL_SEQUENCE_LSTM")
@case(HYBRID_CASES, "UNIDIRECTIONAL_SEQUENCE_LSTM")
def _lstm(d: Draw) -> None:
    """Numbers such that gates saturate in some models and not in others."""
    batch, steps, width, hidden = d.pick(1, 1, 2, 3), d.integer(1, 6), d.integer(1, 9), d.integer(1, 9)
    time_major = d.chance()
    lead = (steps, batch) if time_major else (batch, steps)
    integers = d.kind != "FLOAT32"
    x = d.input((*lead, width), **(d.affine(d.scale(0.005, 0.1) / (256 if d.kind == "INT16" else 1))))
    x_scale = d.graph.tensors[x].scale[0] if integers else 1.0
    h_affine = d.affine(d.pick(1 / 128, 0.0077, 0.004) / (256 if d.kind == "INT16" else 1))
    steps_of_x = 70.0 * (256 if d.kind == "INT16" else 1) * x_scale
    w_x = _gate_weights(d, 4, (hidden, width), 0.02 * d.pick(0.3, 1.0, 4.0) / max(steps_of_x, 1.0))
    w_h = _gate_weights(d, 4, (hidden, hidden), 0.02 * d.pick(0.3, 1.0))
    if integers:
        kind = np.int64 if d.kind == "INT16" else np.int32
        biases = []
        for k in w_x:
            scale = np.float32(x_scale) * np.float32(d.graph.tensors[k].scale[0])
            most = int(min(1.0 / float(scale), 2.0**30))
            biases.append(d.graph.constant(d.rng.integers(-most, most + 1, hidden).astype(kind), float(scale)))
    else:
        biases = [d.graph.constant(d.numbers((hidden,))) for _ in range(4)]
    cell = {"scale": 2.0 ** d.pick(-11, -11, -12, -10, -13, -15), "zero": 0} if integers else {}
    h = d.graph.tensor((batch, hidden), d.kind, variable=True, **h_affine)
    c = d.graph.tensor((batch, hidden), "INT16" if integers else "FLOAT32", variable=True, **cell)
    y = d.graph.tensor((*lead, hidden), d.kind, **h_affine)
    d.graph.outputs.append(y)
    inputs = [x, *w_x, *w_h, -1, -1, -1, *biases, -1, -1, h, c, -1, -1, -1, -1]
    d.call(inputs, [y], options="UnidirectionalSequenceLSTMOptions", FusedActivationFunction=4,
           CellClip=float(d.pick(0.0, 10.0, 0.7)), ProjClip=0.0, TimeMajor=time_major)
