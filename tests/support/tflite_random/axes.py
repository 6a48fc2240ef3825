"""Along axes."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.draw import INT8_CASES, INT16_CASES, UINT8_CASES, Draw, both, case, every


@both("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
def _reduce(d: Draw) -> None:
    shape = d.shape(1, 4)
    count = d.integer(1, len(shape))
    axes = sorted(int(a) for a in d.rng.choice(len(shape), count, replace=False))
    keep = d.chance()
    x = d.input(shape)
    kept = [1 if k in axes else n for k, n in enumerate(shape) if keep or k not in axes]
    if d.name in ("REDUCE_MAX", "REDUCE_MIN"):
        y = d.kept(x, kept)
    else:
        factor = np.sqrt(np.prod([shape[a] for a in axes])) if d.name == "SUM" else 0.6
        y = d.result(kept, **d.affine(None if d.kind == "FLOAT32" else float(np.float32(
            d.graph.tensors[x].scale[0] * factor))))
    given = [a - len(shape) if d.chance(0.2) else a for a in axes]
    d.call([x, d.ints(given)], [y], options="ReducerOptions", KeepDims=keep)


case(INT16_CASES, "MEAN", "SUM")(_reduce)


@case(INT8_CASES, "REDUCE_ALL")
def _all(d: Draw) -> None:
    shape = d.shape(1, 3)
    axis = d.integer(0, len(shape) - 1)
    x = d.graph.input(shape, "BOOL")
    y = d.result([n for k, n in enumerate(shape) if k != axis], "BOOL")
    d.call([x, d.ints([axis])], [y], options="ReducerOptions", KeepDims=False)


@both("ARG_MAX", "ARG_MIN")
def _arg(d: Draw) -> None:
    shape = d.shape(1, 4)
    axis = d.integer(0, len(shape) - 1)
    x = d.input(shape)
    y = d.result([n for k, n in enumerate(shape) if k != axis], "INT32")
    d.call([x, d.ints(axis)], [y], options="ArgMaxOptions" if d.name == "ARG_MAX" else "ArgMinOptions", OutputType=2)


@every("TOPK_V2")
def _topk(d: Draw) -> None:
    """Which TFLM does not have."""
    shape = d.shape(1, 4)
    k = d.integer(1, shape[-1])
    x = d.input(shape)
    d.call([x, d.ints(k)], [d.kept(x, (*shape[:-1], k)), d.result((*shape[:-1], k), "INT32")], options="TopKV2Options")


@every("SOFTMAX")
@case(UINT8_CASES, "SOFTMAX")
def _softmax(d: Draw) -> None:
    shape = d.shape(1, 4, 12)
    beta = d.pick(1.0, 1.0, 0.5, 2.0)
    x = d.input(shape, **d.affine(d.scale(0.00003, 0.001) if d.kind == "INT16" else d.scale(0.01, 0.5)))
    if d.kind == "INT16":
        d.call([x], [d.result(shape, scale=1 / 32768, zero=0)], options="SoftmaxOptions", Beta=beta)
        return
    if d.kind == "UINT8":
        d.call([x], [d.result(shape, scale=1 / 256, zero=0)], options="SoftmaxOptions", Beta=beta)
        return
    kind = d.kind if d.kind == "FLOAT32" else d.pick("INT8", "INT8", "INT16")
    affine = {"INT8": {"scale": 1 / 256, "zero": -128}, "INT16": {"scale": 1 / 65536, "zero": -32768}}.get(kind, {})
    d.call([x], [d.result(shape, kind, **affine)], options="SoftmaxOptions", Beta=beta)


@both("LOG_SOFTMAX")
def _log_softmax(d: Draw) -> None:
    shape = d.shape(1, 4, 12)
    x = d.input(shape, **d.affine(d.scale(0.01, 0.5)))
    d.call([x], [d.result(shape, **d.affine(16 / 256, 127))], options="LogSoftmaxOptions")


@both("L2_NORMALIZATION")
def _l2_normalization(d: Draw) -> None:
    shape = d.shape(1, 4, 9)
    d.call([d.input(shape)], [d.result(shape, **d.affine(1 / 128, 0))], options="L2NormOptions")


@both("CUMSUM")
def _cumsum(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    scale = None if d.kind == "FLOAT32" else d.graph.tensors[x].scale[0] * d.pick(1.0, 2.0)
    d.call([x, d.ints(d.integer(0, len(shape) - 1))], [d.result(shape, **d.affine(scale))], options="CumsumOptions",
           Exclusive=d.chance(0.3), Reverse=d.chance(0.3))
