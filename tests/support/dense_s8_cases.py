"""Random int8 layers, the integer reference in numpy, and the kernels as a host library.

No PyTorch here, so that the same cases run under sanitizers.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pilotlight import fixed
from pilotlight.codegen.step import initializer
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from pilotlight.kernels.text import FOLDERS, kernel_source, typed_kernels
from support.c_compilers import compile_c
from support.families import DSP, PORTABLE, RV32, THUMB1

_TYPED = tempfile.TemporaryDirectory(prefix="pilotlight-kernels-")
for _name in typed_kernels():
    (Path(_TYPED.name) / f"{_name}.h").write_text(kernel_source(_name))
INCLUDE = [f"-I{folder}" for folder in (*FOLDERS, _TYPED.name)]
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic"]
GUARD = 0x5A


def reference(layer: Int8Layer, x: np.ndarray) -> np.ndarray:
    """The layer in int64."""
    s = layer.shape
    below = max(0, (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 - s.ih - s.top)
    right = max(0, (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1 - s.iw - s.left)
    padded = np.pad(
        x.astype(np.int64), ((0, 0), (s.top, below), (s.left, right), (0, 0)), constant_values=layer.zx
    )
    icg, ocg = s.ic // s.groups, s.oc // s.groups
    acc = np.zeros((s.n, s.oh, s.ow, s.oc), np.int64) + layer.bias
    for r in range(s.kh):
        for c in range(s.kw):
            top, left = r * s.dh, c * s.dw
            window = padded[:, top : top + (s.oh - 1) * s.sh + 1 : s.sh, left : left + (s.ow - 1) * s.sw + 1 : s.sw]
            for g in range(s.groups):
                taps = layer.w[g * ocg : (g + 1) * ocg, r, c].astype(np.int64)
                acc[..., g * ocg : (g + 1) * ocg] += window[..., g * icg : (g + 1) * icg] @ taps.T
    if layer.shifts is not None:
        return fixed.tflm_requantize(acc, layer.m, layer.shifts, layer.zy, (layer.lo, layer.hi))
    return fixed.requantize(acc, fixed.Multiplier(layer.m, layer.shift), layer.zy, (layer.lo, layer.hi))


def random_shape(rng: np.random.Generator, kind: int | None = None) -> Conv2dShape:
    """Linear, depthwise, grouped, pointwise or plain; any stride, padding and dilation."""

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    kind = draw(0, 6) if kind is None else kind
    if kind == 0:
        return LinearShape(1, 4 * draw(1, 14) if draw(0, 3) else draw(1, 50), draw(1, 27)).as_conv2d()
    if kind == 1:
        return LinearShape(draw(2, 9), draw(1, 40), draw(1, 30)).as_conv2d()
    if kind == 2:  # depthwise, 3x3
        c, sh, sw, ih, iw = draw(2, 24), draw(1, 2), draw(1, 2), draw(1, 9), draw(1, 12)
        pt, pl, pb, pr = (draw(0, 2) for _ in range(4))
        ih, iw = max(ih, 3 - pt - pb), max(iw, 3 - pl - pr)
        oh, ow = (ih + pt + pb - 3) // sh + 1, (iw + pl + pr - 3) // sw + 1
        return Conv2dShape(1, ih, iw, c, oh, ow, c, 3, 3, sh, sw, pt, pl, groups=c)
    if kind == 3:  # 1x1, strided or not
        sh, sw, ih, iw = draw(1, 2), draw(1, 2), draw(1, 7), draw(1, 9)
        oh, ow = (ih - 1) // sh + 1, (iw - 1) // sw + 1
        return Conv2dShape(draw(1, 2), ih, iw, 4 * draw(1, 10), oh, ow, draw(1, 33), 1, 1, sh, sw)
    groups = draw(2, 20) if kind == 4 else draw(2, 3) if kind == 5 else 1
    ic, oc = (groups, groups) if kind == 4 else (groups * draw(1, 9), groups * draw(1, 13))
    kh, kw, dh, dw = draw(1, 4), draw(1, 4), draw(1, 2), draw(1, 3)
    sh, sw, pt, pb, pl, pr = draw(1, 3), draw(1, 3), draw(0, 5), draw(0, 4), draw(0, 6), draw(0, 4)
    ih = draw(max(1, (kh - 1) * dh + 1 - pt - pb), 9)
    iw = draw(max(1, (kw - 1) * dw + 1 - pl - pr), 13)
    oh = (ih + pt + pb - (kh - 1) * dh - 1) // sh + 1
    ow = (iw + pl + pr - (kw - 1) * dw - 1) // sw + 1
    return Conv2dShape(draw(1, 2), ih, iw, ic, oh, ow, oc, kh, kw, sh, sw, pt, pl, dh, dw, groups)


def random_layer(seed: int, shape: Conv2dShape | None = None, kind: int | None = None) -> tuple[Int8Layer, np.ndarray]:
    """A layer and an input: small values, extreme ones, outputs that saturate, zero points at their ends."""
    rng = np.random.default_rng(seed)
    s = random_shape(rng, kind) if shape is None else shape
    taps = s.kh * s.kw * s.ic // s.groups
    extreme = seed % 4 == 1
    w_shape, x_shape = (s.oc, s.kh, s.kw, s.ic // s.groups), (s.n, s.ih, s.iw, s.ic)
    if extreme:
        w = rng.choice([-127, 127], w_shape).astype(np.int8)
        x = rng.choice([-128, 127], x_shape).astype(np.int8)
        if seed % 8 == 1:
            w, x = np.abs(w), np.full(x_shape, -128, np.int8)
    else:
        w = rng.integers(-127, 128, w_shape, np.int8)
        x = rng.integers(-128, 128, x_shape, np.int8)
    zx = (-128, 127, 0, int(rng.integers(-128, 128)))[seed // 4 % 4]
    zy = (-128, 127, 0, int(rng.integers(-128, 128)))[seed // 3 % 4]
    bias = rng.integers(-(1 << 14), 1 << 14, s.oc) - zx * w.reshape(s.oc, -1).astype(np.int64).sum(axis=1)
    if seed % 13 == 5:
        bias[rng.integers(s.oc)] = (1 << 27) * int(rng.choice([-1, 1]))
    spread = 2.0 ** rng.uniform(-2, 2) * 64 / (np.sqrt(taps) * 73 * 73)
    scale = spread * rng.uniform(0.5, 2.0, s.oc) * (60.0 if seed % 11 == 7 and taps < 9 else 1.0)
    m = fixed.multiplier(scale)
    lo, hi = ((-128, 127), (zy, 127), (-128, 127), (-100, 90), (max(zy, -20), 127))[seed % 5]
    layer = Int8Layer(s, w, bias.astype(np.int32), m.value, zx, zy, m.shift, min(lo, hi), hi)
    while np.any(layer.largest << layer.shift >= 2**31):
        layer = replace(layer, bias=layer.bias // 2)
    return layer, x


def source(calls: Iterable[tuple[str, Candidate]], extra: str = "", reverse: bool = False) -> str:
    """Functions `NAME(x, constants..., y, scratch)` around the drivers of kernels."""
    kernels = dict(calls)
    headers = sorted({h for k in kernels.values() for h in k.headers})
    text = "".join(f'#include "{h}.h"\n' for h in headers) + extra
    for name, k in kernels.items():
        constants = [f"const {t} *c{i}" for i, t in enumerate(k.ctypes)]
        arguments = ", ".join(["const int8_t *x", *constants, "int8_t *y", "void *scratch"])
        passed = ["&table", "x", *(f"c{i}" for i in range(len(constants))), "y", *(["scratch"] if k.scratch else [])]
        unused = "" if k.scratch else "    (void)scratch;\n"
        text += (
            f"void {name}({arguments});\nvoid {name}({arguments})\n{{\n"
            f"    static const {k.ctype} table = {initializer(k.table(reverse))};\n{unused}"
            f"    {k.driver}({', '.join(passed)});\n}}\n"
        )
    return text


def build(folder: Path, text: str, *flags: str) -> Path:
    (folder / "dense_s8.c").write_text(text)
    library = folder / "dense_s8.so"
    command = ["gcc", *WARNINGS, "-O1", "-fPIC", "-shared", *INCLUDE, *flags]
    compile_c([*command, str(folder / "dense_s8.c"), "-o", str(library)], folder)
    return library


def run(
    library: ctypes.CDLL, name: str, kernel: Candidate, layer: Int8Layer, x: np.ndarray, distance: int | None = None
) -> np.ndarray:
    """What the driver computes; with a distance, the output starts that many bytes after the input."""
    s = layer.shape
    size = s.n * s.oh * s.ow * s.oc
    before = 64 + (-(min(distance, 0)) + 15 & ~15 if distance is not None else 0)
    after = before + (distance if distance is not None else (x.nbytes + 79) & ~15)
    arena = np.full(max(before + x.nbytes, after + size) + 64, GUARD, np.uint8)
    want = arena.copy()
    arena[before : before + x.nbytes] = x.view(np.uint8).ravel()
    want[before : before + x.nbytes] = x.view(np.uint8).ravel()
    scratch = np.full(kernel.scratch + 32, GUARD, np.uint8)
    aligned = (-scratch.ctypes.data) % 8 + 8
    constants = [np.ascontiguousarray(c) for c in kernel.constants]
    getattr(library, name)(
        *(ctypes.c_void_p(p) for p in (arena.ctypes.data + before, *(c.ctypes.data for c in constants),
                                       arena.ctypes.data + after, scratch.ctypes.data + aligned))
    )  # fmt: skip
    y = arena[after : after + size].view(np.int8).reshape(s.n, s.oh, s.ow, s.oc).copy()
    assert np.all(scratch[:aligned] == GUARD) and np.all(scratch[aligned + kernel.scratch :] == GUARD)
    outside = np.ones(len(arena), bool)
    outside[after : after + size] = False
    assert np.array_equal(arena[outside], want[outside]), "a byte outside the output changed"
    return y


def every_kind(cases: int) -> list[tuple[Int8Layer, np.ndarray]]:
    """At least `cases` for each kernel of each family: single rows, 3x3 depthwise and other depthwise layers, and
    together as many of four kinds of convolution, half of them at least for kernels of 1x1 layers."""
    counts = {0: 4 * cases // 3, 2: 6 * cases // 5, 4: 6 * cases // 5} | dict.fromkeys((1, 3), cases // 2)
    counts |= dict.fromkeys((5, 6), cases // 4)
    return [random_layer(seed, kind=kind) for kind, count in counts.items() for seed in range(count)]


def cases(count: int, first: int = 0) -> list[tuple[Int8Layer, np.ndarray]]:
    return [random_layer(seed) for seed in range(first, first + count)]


if __name__ == "__main__":
    lib = ctypes.CDLL(sys.argv[1])
    family = {"portable": PORTABLE, "dsp": DSP, "rv32": RV32, "thumb1": THUMB1}[sys.argv[2]]
    for case in range(int(sys.argv[3])):
        a_layer, data = random_layer(case)
        a_kernel = family.plan(a_layer)
        for apart in {None, a_kernel.distance}:
            run(lib, f"case_{case}", a_kernel, a_layer, data, apart)
