"""Which node is which call of CMSIS-NN, with which numbers: the same integers as the node's own, or a refusal.

Biases of the graph hold the input's zero point; CMSIS-NN adds it to the input, so it is taken out of them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pilotlight.backends.base import Refused
from pilotlight.backends.cmsis_nn import scratch
from pilotlight.backends.cmsis_nn.scratch import Core, Window, padded_columns
from pilotlight.codegen.step import Fields
from pilotlight.graph import INT8, Node, Quant, Value
from pilotlight.ops.pointwise.tflm_binary import TflmAdd, linear_sum, tflm_add_attrs
from pilotlight.ops.softmax.tflm import exponentials, tflm_exponent

LIMIT = 2**31
_SMALL = 2**16  # CMSIS-NN counts rows, columns and channels with 16 bits
_ROUNDED_ONCE = ("qadd", "qmul", "qavg_pool2d", "qmean", "qsoftmax")
_ONCE = "it rounds once; CMSIS-NN rounds twice, as TFLM does (quantize with --numerics tflm)"


@dataclass(frozen=True)
class Call:
    """`function(table, inputs..., constants..., output[, scratch])` of our file, which calls `calls` of CMSIS-NN."""

    function: str
    calls: str
    table: tuple[str, Fields]
    constants: tuple[np.ndarray, ...] = ()
    scratch: int | None = None  # bytes; None: it takes no such argument
    overlaps: dict[tuple[int, int], int] = field(default_factory=dict)


Layer = Callable[[Node, Core], Call]
LAYERS: dict[str, Layer] = {}


def layer(*names: str) -> Callable[[Layer], Layer]:
    def wrap(function: Layer) -> Layer:
        LAYERS.update(dict.fromkeys(names, function))
        return function

    return wrap


def call_of(node: Node, core: Core) -> Call:
    """The call of a node; raises `Refused` where CMSIS-NN has none that gives the same integers."""
    others = sorted({v.dtype.name for v in (*node.inputs[:1], *node.outputs) if v.dtype != INT8})
    if others:
        raise Refused(f"it works on {' and '.join(others)}, not on int8")
    if node.op in _ROUNDED_ONCE:
        raise Refused(_ONCE)
    if node.op not in LAYERS:
        raise Refused("CMSIS-NN is not asked for this operator")
    if not all(0 < n < _SMALL for v in (node.inputs[0], *node.outputs) for n in v.shape):
        raise Refused("a dimension of it is 0 or beyond 65535")
    return LAYERS[node.op](node, core)


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    """Rows and columns, or what is above and at the left."""
    return int(numbers[0]), int(numbers[1])


def _tile(pair: Sequence[int]) -> Fields:
    return {"w": pair[1], "h": pair[0]}


def _dims(n: int, h: int, w: int, c: int) -> Fields:
    return {"n": n, "h": h, "w": w, "c": c}


def _image(value: Value) -> Fields:
    n, h, w, c = value.shape
    return _dims(n, h, w, c)


def _limits(attrs: dict[str, Any]) -> Fields:
    return {"min": attrs["lo"], "max": attrs["hi"]}


def _dense(node: Node) -> tuple[np.ndarray, ...]:
    """Filters, biases without the zero point, multipliers and shifts of a dense layer."""
    if len(node.inputs) < 5:
        raise Refused(_ONCE)
    w, folded, m, shifts = (v.data for v in node.inputs[1:])
    if w is None or folded is None or m is None or shifts is None:
        raise Refused("its weights are not constants")
    taps = w.astype(np.int64).reshape(len(w), -1)
    bias = folded.astype(np.int64) + node.attrs["zx"] * taps.sum(axis=1)
    if np.max(np.abs(taps).sum(axis=1) * 255 + np.abs(bias)) >= LIMIT:
        raise Refused("its sums without the zero point need more than 32 bits")
    return w, bias.astype(np.int32), m, shifts


@layer("qconv2d")
def conv2d(node: Node, core: Core) -> Call:
    w, bias, m, shifts = _dense(node)
    a, x, y = node.attrs, node.inputs[0], node.output
    filters, kh, kw, depth = w.shape
    kernel, stride, dilation, pad = (_pair(a[name]) for name in ("kernel", "stride", "dilation", "pad"))
    if kh * kw * x.shape[3] >= _SMALL:
        raise Refused("a filter has more than 65535 elements")
    window = Window(
        batch=x.shape[0], size=_pair(x.shape[1:3]), channels=x.shape[3], out=_pair(y.shape[1:3]), filters=filters,
        depth=depth, kernel=kernel, stride=stride, pad=pad, dilation=dilation)
    params: Fields = {
        "input_offset": -a["zx"], "output_offset": a["zy"],
        **({"ch_mult": filters // x.shape[3]} if a["groups"] > 1 and depth == 1 else {}),
        "stride": _tile(stride), "padding": _tile(pad), "dilation": _tile(dilation), "activation": _limits(a),
    }
    each = _dims(1, 1, 1, filters)
    if "ch_mult" in params:
        _check_depthwise(window, core)
        size = scratch.depthwise(core, window)
        table: Fields = {"params": params, "x": _image(x), "filter": _dims(1, kh, kw, filters), "bias": each,
                         "y": _image(y), "scratch": size}
        by_pixel = np.ascontiguousarray(w[..., 0].transpose(1, 2, 0))
        return Call("pl_cmsis_nn_depthwise", "arm_depthwise_conv_wrapper_s8", ("pl_cmsis_nn_depthwise_t", table),
                    (by_pixel, bias, m, shifts), size)
    _check_conv(window, core)
    size = scratch.conv(core, window)
    table = {"params": params, "x": _image(x), "filter": _dims(filters, kh, kw, depth), "bias": each, "y": _image(y),
             "scratch": size}
    return Call("pl_cmsis_nn_conv", "arm_convolve_wrapper_s8", ("pl_cmsis_nn_conv_t", table), (w, bias, m, shifts),
                size)


def _check_conv(w: Window, core: Core) -> None:
    """CMSIS-NN's faster kernels rely on what it does not check."""
    last = [(out - 1) * stride for out, stride in zip(w.out, w.stride, strict=True)]
    if w.pointwise and any(at >= size for at, size in zip(last, w.size, strict=True)):
        raise Refused("CMSIS-NN's kernel of 1 x 1 has no padding below or at the right")
    if w.row and not w.pointwise and core == Core.HELIUM and not _rows_are_right(w):
        raise Refused("CMSIS-NN's kernel of 1 x N for Helium would read other pixels, for this padding")


def _check_depthwise(w: Window, core: Core) -> None:
    """One kernel writes beyond its scratch for windows outside of the image, and that of 3 x 3 reads the column in the
    middle without asking whether it is there."""
    last = [(out - 1) * stride - pad for out, stride, pad in zip(w.out, w.stride, w.pad, strict=True)]
    if any(p >= k or at >= n for p, k, at, n in zip(w.pad, w.kernel, last, w.size, strict=True)):
        raise Refused("one of its windows has nothing but padding")
    if core != Core.HELIUM and w.kernel == (3, 3) and last[1] + 1 >= w.size[1]:
        raise Refused("CMSIS-NN's kernel of 3 x 3 has one column of padding at the right")


def _rows_are_right(w: Window) -> bool:
    """Whether the kernel of 1 x N reads the pixels of each window: its windows at the left and right read copies of
    the first and last columns with padding beside them."""
    (out, kernel, stride, pad), columns = (w.out[1], w.kernel[1], w.stride[1], w.pad[1]), w.size[1]
    odd = w.missing % 2
    if w.out[0] != 1 or w.missing < 0 or 2 * pad + odd != w.missing:
        return False
    left, right = padded_columns(w)
    if left + right > out:
        return True  # it takes the general kernel
    first = stride * (out - right) - pad  # column of the image
    inside = kernel <= columns and (left == 0 or (left - 1) * stride - pad + kernel <= columns)
    middle = range(left, out - right)
    inside = inside and all(0 <= i * stride - pad <= columns - kernel for i in (*middle[:1], *middle[-1:]))
    held = right if odd else pad  # columns of padding after those of the image
    ends = first + kernel - 1 == columns if right else first + kernel - 1 <= columns
    return inside and first >= 0 and ends and (right == 0 or (right - 1) * stride + 1 <= held)


@layer("qlinear")
def linear(node: Node, core: Core) -> Call:
    w, bias, m, shifts = _dense(node)
    a, (rows, size), outputs = node.attrs, node.inputs[0].shape, len(w)
    folded = node.inputs[2].data
    assert folded is not None
    alike = bool(np.all(m == m[0]) and np.all(shifts == shifts[0]))
    table: Fields = {
        "params": {"input_offset": -a["zx"], "filter_offset": 0, "output_offset": a["zy"], "activation": _limits(a)},
        "x": _dims(rows, 1, 1, size), "filter": _dims(size, 1, 1, outputs), "bias": _dims(1, 1, 1, outputs),
        "y": _dims(rows, 1, 1, outputs), "per_channel": int(not alike),
    }
    sums = folded if core == Core.HELIUM else folded[:1]  # other kernels do not read them
    if alike:
        m, shifts = m[:1], shifts[:1]
    return Call("pl_cmsis_nn_linear", "arm_fully_connected_wrapper_s8", ("pl_cmsis_nn_linear_t", table),
                (w, bias, m, shifts, sums))


@layer("qmax_pool2d", "tflm_avg_pool2d")
def pool(node: Node, core: Core) -> Call:
    a, x, y = node.attrs, node.inputs[0], node.output
    if tuple(a["dilation"]) != (1, 1):
        raise Refused("CMSIS-NN's pooling has no dilation")
    for out, size, kernel, stride, pad in zip(
            y.shape[1:3], x.shape[1:3], a["kernel"], a["stride"], a["pad"], strict=True):
        if pad >= kernel or (out - 1) * stride - pad >= size:
            raise Refused("one of its windows has nothing but padding")
    average = node.op == "tflm_avg_pool2d"
    size = scratch.avg_pool(core, x.shape[3]) if average else 0
    table: Fields = {
        "params": {"stride": _tile(a["stride"]), "padding": _tile(a["pad"][:2]), "activation": _limits(a)},
        "x": _image(x), "filter": _dims(1, a["kernel"][0], a["kernel"][1], 1), "y": _image(y), "scratch": size,
    }
    ours, theirs = ("avg", "arm_avgpool_s8") if average else ("max", "arm_max_pool_s8")
    return Call(f"pl_cmsis_nn_{ours}_pool", theirs, ("pl_cmsis_nn_pool_t", table), (), size)


@layer("tflm_add", "tflm_sum", "tflm_mul")
def binary(node: Node, core: Core) -> Call:
    x0, x1 = node.inputs
    if x0.shape != x1.shape:
        raise Refused("CMSIS-NN's operands have one shape")
    if x0 is x1:
        raise Refused("its operands are one tensor")
    if x0.dtype != INT8 or x1.dtype != INT8:
        raise Refused("its operands are not both int8")
    a = node.attrs if node.op != "tflm_sum" else _sum_attrs(node)
    if a["sign"] < 0:
        raise Refused("CMSIS-NN has no difference")
    names = ("x0", "x1") if not x0.is_constant else ("x1", "x0")  # inputs come before constants
    operands = {"x0": a[names[0]], "x1": a[names[1]], "y": a["y"]}
    scales: dict[str, Fields] = {
        name: {"offset": zero if name == "y" else -zero, "multiplier": q, "shift": shift}
        for name, (zero, q, shift) in operands.items()
    }
    table: Fields = {**scales, "left": a["left"], "lo": a["lo"], "hi": a["hi"], "count": node.output.elements}
    kind = "mul" if node.op == "tflm_mul" else "add"
    constants = tuple(v.data for v in (x0, x1) if v.data is not None)
    overlaps = {(k, 0): 0 for k in range(2 - len(constants))}
    return Call(f"pl_cmsis_nn_{kind}", f"arm_elementwise_{kind}_s8", ("pl_cmsis_nn_binary_t", table), constants,
                None, overlaps)


def _quant(value: Value) -> Quant:
    if value.quant is None:
        raise Refused("the scale of one of its tensors is not known any more")
    return value.quant


def _sum_attrs(node: Node) -> dict[str, Any]:
    """TFLM's numbers of a sum that the graph has in a shorter form, if they give the same for every pair."""
    x0, x1, y = (_quant(v) for v in (*node.inputs, node.output))
    sign = -1 if node.attrs["b"] < 0 else 1
    limits = node.attrs["lo"], node.attrs["hi"]
    attrs, _ = tflm_add_attrs(x0, x1, y, limits, sign=sign)
    codes = np.arange(-128, 128)
    pair = codes[:, None], codes[None, :]
    if not np.array_equal(TflmAdd().computed(attrs, *pair), linear_sum(node.attrs, *pair)):
        raise Refused("its scales are not those of its tensors")
    return attrs


@layer("tflm_softmax")
def softmax(node: Node, core: Core) -> Call:
    x, table = node.inputs
    if node.attrs["axis"] % len(x.shape) != len(x.shape) - 1:
        raise Refused("CMSIS-NN's softmax is along the last dimension")
    q, left, radius = tflm_exponent(_quant(x), 1.0)
    if table.data is None or not np.array_equal(table.data.reshape(-1), exponentials(q, left, radius)):
        raise Refused("its beta is not 1")
    if left < 0:
        raise Refused("its scale is below 2^-26")
    size = x.shape[-1]
    if size >= 4096:
        raise Refused("its sums need more than 32 bits")
    numbers: Fields = {
        "rows": math.prod(x.shape[:-1]), "size": size, "multiplier": q, "shift": left, "least": -radius}
    return Call("pl_cmsis_nn_softmax", "arm_softmax_s8", ("pl_cmsis_nn_softmax_t", numbers), (), None, {(0, 0): 0})
