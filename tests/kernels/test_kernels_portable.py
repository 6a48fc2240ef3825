"""The portable kernels against PyTorch over random shapes, called through one shared library.

Floats are compared with PyTorch in float64, within (8 + 2 sqrt n) 2^-24 of the sum of absolute terms.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from support.c_compilers import compile_c, undefined_symbols
from support.portable_kernels import FOLDER, SANITIZE, VISIBLE, WARNINGS, call, everything, headers, write_typed

EXAMPLES = 8 if SANITIZE else 40
EPS = 2.0**-24
sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)
many = settings(max_examples=EXAMPLES)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def floats(rng: np.random.Generator, *shape: int, shift: float = 0.0) -> np.ndarray:
    return np.ascontiguousarray(rng.normal(shift, 1.0, shape), np.float32)


def double(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(x).double()


def assert_close(
    y: np.ndarray, reference: torch.Tensor, terms: torch.Tensor | float, n: int, extra: float = 0.0
) -> None:
    """`terms` is the sum of the absolute values that make each result, of n summands."""
    bound = (8 + 2 * n**0.5 + extra) * EPS * torch.as_tensor(terms, dtype=torch.float64) + 1e-37
    error = (torch.from_numpy(y).double() - reference).abs()
    assert y.shape == tuple(reference.shape)
    assert bool((error <= bound).all()), f"error {float((error / bound).max()):.3g} times the bound"


# ---- reductions --------------------------------------------------------------------------------------------


@many
@given(sizes, st.integers(1, 3000), st.integers(1, 4), seeds, st.sampled_from([0.0, 3.0]))
def test_sum_and_mean(outer: int, axis: int, inner: int, seed: int, shift: float) -> None:
    x = floats(rng_of(seed), outer, axis, inner, shift=shift)
    y = np.empty((outer, inner), np.float32)
    terms = double(x).abs().sum(1)
    call("pl_reduce_sum_f32", x, y, outer, axis, inner)
    assert_close(y, double(x).sum(1), terms, axis)
    call("pl_reduce_mean_f32", x, y, outer, axis, inner)
    assert_close(y, double(x).mean(1), terms / axis, axis)


def test_a_long_sum_of_equal_terms_stays_exact_enough() -> None:
    x = np.full((1, 1_000_000, 1), 0.1, np.float32)
    y = np.empty((1, 1), np.float32)
    call("pl_reduce_sum_f32", x, y, 1, 1_000_000, 1)
    assert_close(y, double(x).sum(1), double(x).sum(1), 1_000_000)


EXTREMES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "reduce_amax": lambda x: x.amax(1),
    "reduce_amin": lambda x: x.amin(1),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
}


@many
@given(sizes, sizes, sizes, seeds, st.sampled_from(sorted(EXTREMES)), st.sampled_from([0.0, 0.2]))
def test_extremes_with_ties_and_nan(
    outer: int, axis: int, inner: int, seed: int, name: str, nans: float
) -> None:
    rng = rng_of(seed)
    x = rng.integers(-3, 4, (outer, axis, inner)).astype(np.float32)
    x[rng.random(x.shape) < nans] = np.nan
    y = np.empty((outer, inner), np.int64 if name.startswith("arg") else np.float32)
    call(f"pl_{name}_f32", x, y, outer, axis, inner)
    np.testing.assert_array_equal(y, EXTREMES[name](torch.from_numpy(x)).numpy())


@many
@given(sizes, sizes, sizes, seeds)
def test_integer_and_bool_reductions(outer: int, axis: int, inner: int, seed: int) -> None:
    rng = rng_of(seed)
    x = rng.integers(-(2**62), 2**62, (outer, axis, inner))
    t = torch.from_numpy(x)
    for name, reference in (("sum", t.sum(1)), ("amax", t.amax(1)), ("amin", t.amin(1))):
        y = np.empty((outer, inner), np.int64)
        call(f"pl_reduce_{name}_i64", x, y, outer, axis, inner)
        np.testing.assert_array_equal(y, reference.numpy())
    running = np.empty_like(x)
    call("pl_cumsum_i64", x, running, outer, axis, inner)
    np.testing.assert_array_equal(running, t.cumsum(1).numpy())
    flags = (rng.random((outer, axis, inner)) < 0.3).astype(np.uint8)
    for name, holds in (("any", flags.any(1)), ("all", flags.all(1))):
        b = np.empty((outer, inner), np.uint8)
        call(f"pl_reduce_{name}_u8", flags, b, outer, axis, inner)
        np.testing.assert_array_equal(b.astype(bool), holds)


@many
@given(sizes, sizes, sizes, seeds)
def test_product(outer: int, axis: int, inner: int, seed: int) -> None:
    x = floats(rng_of(seed), outer, axis, inner)
    y = np.empty((outer, inner), np.float32)
    call("pl_reduce_prod_f32", x, y, outer, axis, inner)
    assert_close(y, double(x).prod(1), double(x).prod(1).abs(), axis)


@many
@given(sizes, st.integers(1, 500), sizes, seeds)
def test_running_sum_in_place(outer: int, axis: int, inner: int, seed: int) -> None:
    x = floats(rng_of(seed), outer, axis, inner, shift=0.5)
    y = x.copy()
    call("pl_cumsum_f32", y, y, outer, axis, inner)
    assert_close(y, double(x).cumsum(1), double(x).abs().cumsum(1), axis)


# ---- softmax and norms -------------------------------------------------------------------------------------


@many
@given(sizes, st.integers(1, 200), sizes, seeds, st.booleans())
def test_softmax(outer: int, axis: int, inner: int, seed: int, in_place: bool) -> None:
    x = 4 * floats(rng_of(seed), outer, axis, inner)
    reach = float(np.ptp(x))  # rounding x - max moves the exponent by that much
    for name, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        y = x.copy() if in_place else np.empty_like(x)
        call(f"pl_{name}_f32", y if in_place else x, y, outer, axis, inner)
        reference = function(double(x), 1)
        terms = reference.abs() + (reach if name == "log_softmax" else 0.0)
        assert_close(y, reference, terms, axis, extra=reach)


def test_softmax_of_extremes() -> None:
    x = np.array([[[1e30], [-1e30], [0.0]], [[-np.inf], [1.0], [-np.inf]], [[-np.inf]] * 3], np.float32)
    y = np.empty_like(x)
    call("pl_softmax_f32", x, y, 3, 3, 1)
    np.testing.assert_array_equal(y, torch.softmax(torch.from_numpy(x), 1).numpy())


@many
@given(sizes, st.integers(2, 300), seeds, st.booleans(), st.booleans(), st.booleans())
def test_layer_and_rms_norm(rows: int, n: int, seed: int, scale: bool, shift: bool, in_place: bool) -> None:
    rng = rng_of(seed)
    x = floats(rng, rows, n, shift=0.5)
    w, b = (floats(rng, n) if present else None for present in (scale, shift))
    tw, tb = (None if v is None else double(v) for v in (w, b))
    y = x.copy() if in_place else np.empty_like(x)
    call("pl_layer_norm_f32", y if in_place else x, w, b, y, rows, n, 1e-5)
    t = double(x)
    spread = (t.abs() + t.mean(1, keepdim=True).abs()) / (t.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    terms = (spread + 1) * (1 if tw is None else tw.abs()) + (0 if tb is None else tb.abs())
    assert_close(y, F.layer_norm(t, (n,), tw, tb, 1e-5), terms, n)
    y = x.copy() if in_place else np.empty_like(x)
    call("pl_rms_norm_f32", y if in_place else x, w, y, rows, n, 1e-6)
    reference = F.rms_norm(t, (n,), tw, 1e-6)
    assert_close(y, reference, reference.abs(), n)


@many
@given(st.integers(1, 3), st.integers(2, 60), st.integers(1, 4), st.integers(1, 4), seeds, st.booleans())
def test_group_norm(n: int, s: int, groups: int, width: int, seed: int, affine: bool) -> None:
    rng = rng_of(seed)
    c = groups * width
    x = floats(rng, n, s, c, shift=0.5)
    w, b = (floats(rng, c), floats(rng, c)) if affine else (None, None)
    tw, tb = (None if v is None else double(v) for v in (w, b))
    y, stats = x.copy(), np.empty(2 * groups, np.float32)
    call("pl_group_norm_f32", y, w, b, stats, y, n, s, c, groups, 1e-5)
    t = double(x).permute(0, 2, 1)
    reference = F.group_norm(t, groups, tw, tb, 1e-5).permute(0, 2, 1)
    grouped = t.reshape(n, groups, -1)
    deviation = (grouped.var(2, correction=0, keepdim=True) + 1e-5).sqrt()
    spread = (grouped.abs() + grouped.mean(2, keepdim=True).abs()) / deviation
    spread = spread.reshape(n, c, s).permute(0, 2, 1) + 1
    terms = spread * (1 if tw is None else tw.abs()) + (0 if tb is None else tb.abs())
    assert_close(y, reference, terms, s * width, extra=width)


# ---- pooling and resizing ----------------------------------------------------------------------------------


def nhwc(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 3, 1)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, int]:
    kh, kw = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shape = {"n": draw(st.integers(1, 2)), "ih": draw(st.integers(7, 12)), "iw": draw(st.integers(7, 12))}
    shape |= {"c": draw(sizes), "oh": 0, "ow": 0, "kh": kh, "kw": kw}
    shape |= {"sh": draw(st.integers(1, 4)), "sw": draw(st.integers(1, 4))}
    shape |= {"top": draw(st.integers(0, kh // 2)), "left": draw(st.integers(0, kw // 2))}
    return shape | {"dh": 1, "dw": 1}


@many
@given(pools(), st.integers(1, 2), st.integers(1, 2), st.booleans(), seeds, st.sampled_from([0.0, 0.1]))
def test_max_pool(s: dict[str, int], dh: int, dw: int, ceil: bool, seed: int, nans: float) -> None:
    rng = rng_of(seed)
    x = rng.integers(-9, 9, (s["n"], s["ih"], s["iw"], s["c"])).astype(np.float32)
    x[rng.random(x.shape) < nans] = np.nan
    t = torch.from_numpy(x).permute(0, 3, 1, 2)
    window = ((s["kh"], s["kw"]), (s["sh"], s["sw"]), (s["top"], s["left"]), (dh, dw))
    y, at = F.max_pool2d(t, *window, ceil, return_indices=True)
    shape = {**s, "oh": y.shape[2], "ow": y.shape[3], "dh": dh, "dw": dw, "count_padding": 0, "divisor": 0}
    got, where = np.empty(nhwc(y).shape, np.float32), np.empty(nhwc(y).shape, np.int64)
    call("pl_max_pool2d_f32", shape, x, got)
    np.testing.assert_array_equal(got, nhwc(y).numpy())
    call("pl_max_pool2d_index_f32", shape, x, got, where)
    np.testing.assert_array_equal(got, nhwc(y).numpy())
    if not nans:
        np.testing.assert_array_equal(where, nhwc(at).numpy())


@many
@given(pools(), st.booleans(), st.booleans(), st.sampled_from([0, 3]), seeds)
def test_avg_pool(s: dict[str, int], ceil: bool, count_padding: bool, divisor: int, seed: int) -> None:
    x = floats(rng_of(seed), s["n"], s["ih"], s["iw"], s["c"])
    rest = ((s["kh"], s["kw"]), (s["sh"], s["sw"]), (s["top"], s["left"]), ceil, count_padding, divisor or None)
    t = double(x).permute(0, 3, 1, 2)
    reference = nhwc(F.avg_pool2d(t, *rest))
    shape = {**s, "oh": reference.shape[1], "ow": reference.shape[2]}
    got = np.empty(reference.shape, np.float32)
    call("pl_avg_pool2d_f32", {**shape, "count_padding": int(count_padding), "divisor": divisor}, x, got)
    assert_close(got, reference, nhwc(F.avg_pool2d(t.abs(), *rest)), s["kh"] * s["kw"])


@many
@given(st.integers(1, 2), st.integers(1, 12), st.integers(1, 12), sizes, sizes, sizes, seeds)
def test_adaptive_pool(n: int, h: int, w: int, c: int, oh: int, ow: int, seed: int) -> None:
    x = floats(rng_of(seed), n, h, w, c)
    unused = dict.fromkeys(["kh", "kw", "sh", "sw", "top", "left", "dh", "dw", "count_padding", "divisor"], 0)
    shape = {"n": n, "ih": h, "iw": w, "c": c, "oh": oh, "ow": ow, **unused}
    y, t = np.empty((n, oh, ow, c), np.float32), double(x).permute(0, 3, 1, 2)
    call("pl_adaptive_avg_pool2d_f32", shape, x, y)
    terms = nhwc(F.adaptive_avg_pool2d(t.abs(), (oh, ow)))
    assert_close(y, nhwc(F.adaptive_avg_pool2d(t, (oh, ow))), terms, h * w)
    call("pl_adaptive_max_pool2d_f32", shape, x, y)
    np.testing.assert_array_equal(y, nhwc(F.adaptive_max_pool2d(t, (oh, ow))).float().numpy())


@many
@given(
    st.sampled_from(["nearest", "nearest-exact", "bilinear", "bicubic"]), st.booleans(), st.integers(1, 9),
    st.integers(1, 9), sizes, st.integers(1, 20), st.integers(1, 20), seeds,
)
def test_resize(mode: str, align: bool, h: int, w: int, c: int, oh: int, ow: int, seed: int) -> None:
    x = floats(rng_of(seed), 2, h, w, c)
    smooth = mode in ("bilinear", "bicubic")
    align = align and smooth
    scales = [
        float(np.float32(i - 1) / np.float32(o - 1)) if align and o > 1 else 0.0 if align
        else float(np.float32(i) / np.float32(o))
        for i, o in ((h, oh), (w, ow))
    ]
    shape = {"n": 2, "ih": h, "iw": w, "c": c, "oh": oh, "ow": ow, "align_corners": int(align)}
    y = np.empty((2, oh, ow, c), np.float32)
    half = [] if smooth else [0.5 if mode == "nearest-exact" else 0.0]
    kernel = mode if smooth else "nearest"
    call(f"pl_resize_{kernel}_f32", {**shape, "sh": scales[0], "sw": scales[1]}, x, y, *half)
    t = torch.from_numpy(x).permute(0, 3, 1, 2)
    if not smooth:
        np.testing.assert_array_equal(y, nhwc(F.interpolate(t, (oh, ow), mode=mode)).numpy())
        return
    reference = nhwc(F.interpolate(t.double(), (oh, ow), mode=mode, align_corners=align))
    rounded_position = 4.0 * max(h, w)
    assert_close(y, reference, 4 * float(np.abs(x).max()), 16, extra=rounded_position)


# ---- products ----------------------------------------------------------------------------------------------


def packed(w: torch.Tensor, stride: tuple[int, int], dilation: tuple[int, int], groups: int) -> np.ndarray:
    from pilotlight.kernels.portable.conv_transpose import pack

    return pack(np.ascontiguousarray(w.permute(0, 2, 3, 1).numpy()), stride, dilation, groups)


@many
@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6),
    st.tuples(*[st.integers(1, 4)] * 2), st.tuples(*[st.integers(1, 3)] * 4),
    st.tuples(*[st.integers(0, 2)] * 4), seeds,
)
def test_conv_transpose(
    h: int, w: int, groups: int, icg: int, ocg: int, kernel: tuple[int, int], strides: tuple[int, ...],
    extras: tuple[int, ...], seed: int,
) -> None:
    (sh, sw, dh, dw), rng = strides, rng_of(seed)
    pad = [min(p, d * (k - 1) // 2) for p, d, k in zip(extras[:2], (dh, dw), kernel, strict=True)]
    more = [min(e, max(s, d) - 1) for e, s, d in zip(extras[2:], (sh, sw), (dh, dw), strict=True)]
    x, weight = floats(rng, 2, h, w, groups * icg), torch.from_numpy(floats(rng, groups * icg, ocg, *kernel))
    bias = floats(rng, groups * ocg) if seed % 2 else None
    arguments = ((sh, sw), pad, more, groups, (dh, dw))
    t, tb = double(x).permute(0, 3, 1, 2), None if bias is None else double(bias)
    reference = nhwc(F.conv_transpose2d(t, weight.double(), tb, *arguments))
    terms = F.conv_transpose2d(t.abs(), weight.double().abs(), None if tb is None else tb.abs(), *arguments)
    oh, ow = reference.shape[1:3]
    shape = {"n": 2, "ih": h, "iw": w, "ic": groups * icg, "oh": oh, "ow": ow, "oc": groups * ocg}
    shape |= {"kh": kernel[0], "kw": kernel[1], "sh": sh, "sw": sw, "top": pad[0], "left": pad[1]}
    shape |= {"dh": dh, "dw": dw, "groups": groups, "reverse": seed >> 1 & 1}
    y = np.empty(reference.shape, np.float32)
    call("pl_conv_transpose2d_f32", shape, x, packed(weight, (sh, sw), (dh, dw), groups), bias, y)
    assert_close(y, reference, nhwc(terms), icg * kernel[0] * kernel[1] + 1)


@many
@given(st.integers(1, 3), sizes, st.integers(1, 40), sizes, st.booleans(), st.booleans(), seeds)
def test_matmul(batch: int, m: int, k: int, n: int, transposed: bool, shared: bool, seed: int) -> None:
    rng = rng_of(seed)
    a = floats(rng, batch, m, k)
    b = floats(rng, 1 if shared else batch, *((n, k) if transposed else (k, n)))
    ta, tb = double(a), double(b).transpose(1, 2) if transposed else double(b)
    y = np.empty((batch, m, n), np.float32)
    shape = {"outer": 1, "inner": batch, "m": m, "k": k, "n": n, "a_outer": 0, "a_inner": m * k, "a_row": k}
    shape |= {"b_outer": 0, "b_inner": 0 if shared else k * n}
    shape |= {"b_row": 1, "b_col": k} if transposed else {"b_row": n, "b_col": 1}
    call("pl_matmul_f32", shape | {"y_outer": 0, "y_inner": m * n, "y_row": n}, a, b, y)
    assert_close(y, ta @ tb, ta.abs() @ tb.abs(), k)


@many
@given(st.integers(1, 9), sizes, st.integers(1, 40), st.booleans(), seeds)
def test_matmul_in_vectors(m: int, k: int, n: int, transposed: bool, seed: int) -> None:
    rng = rng_of(seed)
    a, b = floats(rng, m, 3 * k), floats(rng, n, 3 * k) if transposed else floats(rng, 3 * k, n)
    y = np.full((m, n), np.nan, np.float32)
    shape = {"outer": 1, "inner": 1, "m": m, "k": 3 * k, "n": n, "a_outer": 0, "a_inner": 0, "a_row": 3 * k}
    shape |= {"b_outer": 0, "b_inner": 0, "b_row": 1 if transposed else n, "b_col": 3 * k if transposed else 1}
    shape |= {"y_outer": 0, "y_inner": 0, "y_row": n}
    call("pl_matmul_wide_f32", shape, a, b, y)
    right = double(b).T if transposed else double(b)
    assert_close(y, double(a) @ right, double(a).abs() @ right.abs(), 3 * k)


@many
@given(
    st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), sizes, st.integers(1, 12), st.integers(1, 9),
    st.integers(1, 9), st.sampled_from(["none", "float", "bool", "causal"]), seeds,
)
def test_attention(
    batch: int, groups: int, share: int, rows: int, keys: int, width: int, depth: int, mask: str, seed: int
) -> None:
    rng = rng_of(seed)
    heads = groups * share
    q = floats(rng, batch, rows, heads, width)  # heads inside rows: the kernel reads through strides
    k, v = floats(rng, batch, groups, keys, width), floats(rng, batch, groups, keys, depth)
    add = keep = None
    strides = {"m_batch": 0, "m_head": 0, "m_row": keys, "m_key": 1}
    if mask == "float":
        add = floats(rng, rows, keys)
    if mask == "bool":
        keep = (rng.random((rows, keys)) < 0.6).astype(np.uint8)
    shape = {"batch": batch, "heads": heads, "kv_heads": groups, "rows": rows, "keys": keys}
    shape |= {"width": width, "depth": depth}
    shape |= {"q_batch": rows * heads * width, "q_head": width, "q_row": heads * width}
    shape |= {"k_batch": groups * keys * width, "k_head": keys * width, "k_row": width}
    shape |= {"v_batch": groups * keys * depth, "v_head": keys * depth, "v_row": depth}
    shape |= {"y_batch": heads * rows * depth, "y_head": rows * depth, "y_row": depth}
    y, scratch = np.empty((batch, heads, rows, depth), np.float32), np.empty(keys, np.float32)
    shape |= {**strides, "causal": int(mask == "causal")}
    call("pl_attention_f32", {**shape, "scale": 0.3}, q, k, v, add, keep, scratch, y)
    given_mask = None if add is None else double(add)
    given_mask = given_mask if keep is None else torch.from_numpy(keep) > 0
    tq = double(q).transpose(1, 2)
    reference = F.scaled_dot_product_attention(
        tq, double(k), double(v), given_mask, is_causal=mask == "causal", scale=0.3, enable_gqa=True
    )
    reach = 0.3 * float(tq.abs().amax() * double(k).abs().amax()) * width + 4.0
    assert_close(y, reference, float(np.abs(v).max()), keys, extra=4 * reach)


# ---- recurrent layers --------------------------------------------------------------------------------------


@many
@given(
    st.sampled_from(["LSTM", "GRU", "RNN", "RELU"]), st.integers(1, 6), st.integers(1, 3), st.integers(1, 7),
    st.integers(1, 6), st.booleans(), st.booleans(), st.booleans(), st.booleans(), seeds,
)
def test_recurrent(
    kind: str, steps: int, batch: int, width: int, hidden: int, bias: bool, reverse: bool, batch_first: bool,
    initial: bool, seed: int,
) -> None:
    from pilotlight import ops
    from pilotlight.kernels.pack_f32 import pack_linear

    torch.manual_seed(seed)
    name = "rnn" if kind == "RELU" else kind.lower()
    options = {"nonlinearity": "relu"} if kind == "RELU" else {}
    layer = getattr(torch.nn, "RNN" if kind == "RELU" else kind)(width, hidden, bias=bias, **options)
    op = ops.get(name)
    w_x, w_h, *biases = (p.detach().numpy() for p in layer.parameters())
    weights = [pack_linear(w) for w in (w_x, w_h)]
    if name == "gru":
        weights += [*biases] if bias else [None, None]
    else:
        weights += [op.bias(np.stack(biases))] if bias else [None]
    x = torch.randn(steps, batch, width)
    states = [(torch.randn if initial else torch.zeros)(1, batch, hidden) for _ in range(op.states)]
    with torch.no_grad():
        ordered = x.flip(0) if reverse else x
        hx = [s.double() for s in states]
        reference, last = layer.double()(ordered.double(), tuple(hx) if name == "lstm" else hx[0])
    reference = reference.flip(0) if reverse else reference
    given_x = np.ascontiguousarray(x.transpose(0, 1) if batch_first else x)
    wide = hidden + 2  # y inside wider rows, as one half of a bidirectional layer is
    y = np.zeros((batch, steps, wide) if batch_first else (steps, batch, wide), np.float32)
    step, row = (1, steps) if batch_first else (batch, 1)
    shape = {"steps": steps, "batch": batch, "input": width, "hidden": hidden, "x_step": step * width}
    shape |= {"x_batch": row * width, "y_step": step * wide, "y_batch": row * wide, "reverse": int(reverse)}
    start = [np.ascontiguousarray(s[0].numpy()) if initial else None for s in states]
    final = [np.empty((batch, hidden), np.float32) if s is None else s for s in start]  # in place where given
    extra = [int(kind == "RELU")] if name == "rnn" else [np.empty(6 * hidden, np.float32)]
    call(f"pl_{name}_f32", shape, given_x, *weights, *start, y, *final, *extra)
    got = torch.from_numpy(y).transpose(0, 1) if batch_first else torch.from_numpy(y)
    assert not got[..., hidden:].any()
    limit = 4e-6 * max(1.0, float(reference.abs().max()))
    assert float((got[..., :hidden] - reference).abs().max()) <= limit
    for value, expected in zip(final, last if name == "lstm" else [last], strict=True):
        scale = max(1.0, float(expected.abs().max()))
        assert float((torch.from_numpy(value) - expected[0]).abs().max()) <= 4e-6 * scale


# ---- moving data -------------------------------------------------------------------------------------------

UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def elements(rng: np.random.Generator, bits: int, *shape: int) -> np.ndarray:
    return rng.integers(0, 2**bits, shape, dtype=UNSIGNED[bits])


@many
@given(sizes, sizes, st.integers(1, 5), sizes, st.sampled_from([8, 16, 32, 64]), seeds)
def test_take_and_put(outer: int, size: int, inner: int, count: int, bits: int, seed: int) -> None:
    rng = rng_of(seed)
    x, v = elements(rng, bits, outer, size, inner), elements(rng, bits, outer, count, inner)
    ids = rng.integers(-size, size, count)
    for kind in (np.int64, np.int32):
        y = np.empty_like(v)
        name = "pl_take_i64" if kind is np.int64 else "pl_take_i32"
        call(name, x, ids.astype(kind), y, outer, size, count, inner * bits // 8)
        np.testing.assert_array_equal(y, x[:, ids])
    y = x.copy()
    call("pl_put_i64", v, ids, y, outer, size, count, inner * bits // 8, inner * bits // 8)
    expected = x.copy()
    for j, i in enumerate(ids):
        expected[:, i] = v[:, j]
    np.testing.assert_array_equal(y, expected)


def test_an_index_out_of_range_stays_inside() -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(1, 3, 2), np.empty((1, 3, 2), np.float32)
    call("pl_take_i64", x, np.array([2**40, -(2**40), 3]), y, 1, 3, 3, 8)
    np.testing.assert_array_equal(y[0], x[0, [2, 0, 2]])


@many
@given(sizes, sizes, st.integers(1, 5), sizes, seeds)
def test_adding_at_an_index(outer: int, size: int, inner: int, count: int, seed: int) -> None:
    rng = rng_of(seed)
    x, v = floats(rng, outer, size, inner), floats(rng, outer, count, inner)
    ids = rng.integers(0, size, count)
    expected = torch.from_numpy(x).index_add(1, torch.from_numpy(ids), torch.from_numpy(v))
    call("pl_put_add_f32", v, ids, x, outer, size, count, inner)
    torch.testing.assert_close(torch.from_numpy(x), expected, rtol=0, atol=1e-5)


@many
@given(sizes, st.integers(1, 40), sizes, st.booleans(), seeds, st.sampled_from([0.0, 0.1]), st.data())
def test_sort_and_topk(
    outer: int, axis: int, inner: int, descending: bool, seed: int, nans: float, data: st.DataObject
) -> None:
    rng = rng_of(seed)
    x = rng.integers(-5, 6, (outer, axis, inner)).astype(np.float32)
    x[rng.random(x.shape) < nans] = np.nan
    y, ids = np.empty_like(x), np.empty(x.shape, np.int64)
    call("pl_sort_f32", x, y, ids, outer, axis, inner, int(descending))
    values, where = torch.sort(torch.from_numpy(x), dim=1, descending=descending, stable=True)
    np.testing.assert_array_equal(y, values.numpy())
    np.testing.assert_array_equal(ids, where.numpy())
    k = data.draw(st.integers(1, axis))
    y, ids = np.empty((outer, k, inner), np.float32), np.empty((outer, k, inner), np.int64)
    call("pl_topk_f32", x, y, ids, outer, axis, inner, k, int(descending))
    np.testing.assert_array_equal(y, values[:, :k].numpy())
    np.testing.assert_array_equal(ids, where[:, :k].numpy())
    np.testing.assert_array_equal(y, torch.topk(torch.from_numpy(x), k, 1, descending)[0].numpy())


# ---- how the headers compile -------------------------------------------------------------------------------

FPU = ["-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
TARGETS = {
    "cortex-m0": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    "cortex-m4f": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", *FPU],
    "rv32": ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
}
once = pytest.mark.skipif(SANITIZE, reason="the first process does this")


def output_of(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout


def undefined(compiler: list[str], sources: dict[str, str], folder: Path, *flags: str) -> dict[str, set[str]]:
    """Compile each source alone; returns what each object needs that it does not define."""
    for name, text in sources.items():
        (folder / f"{name}.c").write_text(text)
    write_typed(folder)
    files = [f"{name}.c" for name in sources]
    common = ["-ffreestanding", "-I", str(FOLDER), "-c"]
    compile_c([*compiler, *WARNINGS, *VISIBLE, *flags, *common, *files], folder)
    return {name: undefined_symbols(folder / f"{name}.o") for name in sources}


def from_libgcc(compiler: list[str], needed: set[str]) -> set[str]:
    """Which of the symbols are helpers of the compiler; what zig has by these names is compiled on demand."""
    if shutil.which(compiler[0]) is None:
        return {name for name in needed if re.fullmatch(r"__(aeabi_(?!mem)\w+|[a-z]+(?:[sdt][if]){1,2}\d?)", name)}
    archive = output_of(*compiler, "-print-libgcc-file-name").strip()
    nm = compiler[0].removesuffix("gcc") + "nm"
    return set(re.findall(r" [TW] (\S+)", output_of(nm, "--defined-only", archive)))


@once
def test_every_header_stands_alone(tmp_path: Path) -> None:
    """No warning, and no call of memcpy, memset or libm: only libgcc's helpers. The next test has the other cores."""
    compiler = TARGETS["cortex-m4f"]
    sources = {name.removesuffix(".h"): f'#include "{name}"\n' for name in headers()}
    found = undefined(compiler, sources, tmp_path, "-O2")
    known = from_libgcc(compiler, set().union(*found.values()))
    for name, needed in found.items():
        missing = needed - known - {"pl_mac_f32"}  # written for each model
        assert not missing, f"{name}.h needs {sorted(missing)}"


@once
@pytest.mark.parametrize("level", ["-O3", "-Os"])
@pytest.mark.parametrize("target", TARGETS)
def test_no_library_call_at_any_level(target: str, level: str, tmp_path: Path) -> None:
    compiler = TARGETS[target]
    guesses = "-Wno-maybe-uninitialized"  # gcc cannot see that a block never has more than 8 filters
    needed = undefined(compiler, {"all": everything()}, tmp_path, level, guesses)["all"]
    assert needed <= from_libgcc(compiler, needed), sorted(needed)


@once
def test_the_same_under_sanitizers() -> None:
    """This file again, in a process whose library is built with ASan and UBSan."""
    environment = os.environ | {
        "PILOTLIGHT_TEST_SANITIZE": "1",
        "LD_PRELOAD": output_of("gcc", "-print-file-name=libasan.so").strip(),
        "ASAN_OPTIONS": "detect_leaks=0,verify_asan_link_order=0",
    }
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", __file__],
        env=environment, capture_output=True, text=True, check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
