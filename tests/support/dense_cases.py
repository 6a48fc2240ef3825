"""The dense kernels as a host library, called with shapes known at run time.

No PyTorch here, so that the same cases run under sanitizers.
"""

from __future__ import annotations

import ctypes
import math
import sys
from pathlib import Path

import numpy as np

from pilotlight.kernels.fpu import dispatch
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape, Shape, activation, fields, pack, pack_bias
from pilotlight.kernels.text import PORTABLE
from support.c_compilers import compile_c

ALL_BLOCKS = {f"{kind}_f32_{p}x{f}" for kind in ("mac", "dw") for p in (2, 1) for f in (8, 4, 2, 1)}
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic"]
LIMITS = [(-math.inf, math.inf), (0.0, math.inf), (0.0, 1.5), (-0.5, 0.25)]


class _Conv2d(ctypes.Structure):
    _fields_ = [(f"i{i}", ctypes.c_int32) for i in range(21)] + [
        ("lo", ctypes.c_float),
        ("hi", ctypes.c_float),
    ]


class _Linear(ctypes.Structure):
    _fields_ = [(f"i{i}", ctypes.c_int32) for i in range(5)] + [
        ("lo", ctypes.c_float),
        ("hi", ctypes.c_float),
    ]


def source(prefix: str = "test") -> str:
    """All drivers as exported functions."""
    text = "".join(f'#include "{name}_f32.h"\n' for name in ("conv2d", "linear"))
    text += dispatch(ALL_BLOCKS, prefix)
    for name in ("conv2d", "linear"):
        arguments = f"const pl_{name}_t *s, const float *x, const float *w, const float *b, float *y"
        call = f"{{\n    pl_{name}_f32(s, x, w, b, y);\n}}\n"
        text += f"void {name}({arguments});\nvoid {name}({arguments})\n{call}"
    return text


def build(folder: Path, *flags: str) -> Path:
    """The drivers as a shared library for the host."""
    (folder / "dense.c").write_text(source())
    library = folder / "dense.so"
    command = ["gcc", *WARNINGS, "-O1", "-fPIC", "-shared", f"-I{PORTABLE}", *flags]
    compile_c([*command, str(folder / "dense.c"), "-o", str(library)], folder)
    return library


def input_shape(shape: Shape) -> tuple[int, ...]:
    return (shape.n, shape.i) if isinstance(shape, LinearShape) else (shape.n, shape.ih, shape.iw, shape.ic)


def output_shape(shape: Shape) -> tuple[int, ...]:
    return (shape.n, shape.o) if isinstance(shape, LinearShape) else (shape.n, shape.oh, shape.ow, shape.oc)


def weight_shape(shape: Shape) -> tuple[int, ...]:
    if isinstance(shape, LinearShape):
        return shape.o, shape.i
    return shape.oc, shape.kh, shape.kw, shape.ic // shape.groups


def _pointer(array: np.ndarray | None, offset: int = 0) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data + offset)


def run(
    library: ctypes.CDLL,
    shape: Shape,
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None,
    limits: tuple[float, float] = LIMITS[0],
    distance: int | None = None,
    reverse: bool = False,
) -> np.ndarray:
    """What the driver computes; with a distance, the output starts that many bytes after the input starts."""
    act = ("NONE", "RELU", "LIMIT", "CLAMP").index(activation(*limits))
    if isinstance(shape, LinearShape):
        struct: ctypes.Structure = _Linear(*fields(shape, reverse).values(), act, *limits)
    else:
        struct = _Conv2d(*fields(shape, reverse).values(), act, *limits)
    out_bytes = 4 * math.prod(output_shape(shape))
    before = max(0, -distance) if distance is not None else 0
    after = before + (distance if distance is not None else x.nbytes)
    arena = np.full(max(before + x.nbytes, after + out_bytes) // 4, np.nan, np.float32)
    arena[before // 4 : before // 4 + x.size] = x.ravel()
    driver = getattr(library, shape.driver.removeprefix("pl_").removesuffix("_f32"))
    packed = pack(shape, w)
    packed_bias = None if bias is None else pack_bias(bias)
    driver(
        ctypes.byref(struct),
        _pointer(arena, before),
        _pointer(packed),
        _pointer(packed_bias),
        _pointer(arena, after),
    )
    return arena[after // 4 : after // 4 + out_bytes // 4].reshape(output_shape(shape)).copy()


def data(shape: Shape, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input, weights and bias of a case."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(input_shape(shape), np.float32)
    w = rng.standard_normal(weight_shape(shape), np.float32)
    return x, w, rng.standard_normal(output_shape(shape)[-1], np.float32)


def random_shape(rng: np.random.Generator) -> Shape:
    """A random layer: linear, depthwise, grouped or plain, any stride, padding and dilation."""

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    kind = draw(0, 3)
    if kind == 0:
        return LinearShape(draw(1, 5), draw(1, 40), draw(1, 30))
    groups = draw(2, 20) if kind == 1 else draw(2, 3) if kind == 2 else 1
    ic, oc = (groups, groups) if kind == 1 else (groups * draw(1, 6), groups * draw(1, 19))
    kh, kw, dh, dw = draw(1, 4), draw(1, 4), draw(1, 2), draw(1, 3)
    sh, sw, pt, pb, pl, pr = draw(1, 3), draw(1, 3), draw(0, 5), draw(0, 4), draw(0, 6), draw(0, 4)
    ih = draw(max(1, (kh - 1) * dh + 1 - pt - pb), 9)
    iw = draw(max(1, (kw - 1) * dw + 1 - pl - pr), 11)
    oh = (ih + pt + pb - (kh - 1) * dh - 1) // sh + 1
    ow = (iw + pl + pr - (kw - 1) * dw - 1) // sw + 1
    return Conv2dShape(draw(1, 2), ih, iw, ic, oh, ow, oc, kh, kw, sh, sw, pt, pl, dh, dw, groups)


if __name__ == "__main__":
    lib = ctypes.CDLL(sys.argv[1])
    for case in range(int(sys.argv[2])):
        generator = np.random.default_rng(case)
        shape = random_shape(generator)
        values = data(shape, case)
        run(lib, shape, *values, LIMITS[case % 4])
        run(lib, shape, values[0], values[1], None, reverse=True)
