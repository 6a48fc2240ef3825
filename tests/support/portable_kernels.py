"""The portable kernels as a shared library: every header in one file, without `static inline`.

PILOTLIGHT_TEST_SANITIZE=1 builds it with the address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.kernels.fpu import dispatch
from pilotlight.kernels.text import kernel_source, typed_kernels
from support.c_compilers import compile_c
from support.paths import ROOT

FOLDER = ROOT / "src" / "pilotlight" / "kernels" / "portable"
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic"]
VISIBLE = ["-Dstatic=", "-Dinline="]  # every function can be called by its name
SANITIZE = os.environ.get("PILOTLIGHT_TEST_SANITIZE") == "1"
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "floor", "gelu", "gelu_tanh", "log", "log10", "log1p", "log2", "mish", "round", "sigmoid", "silu",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]
BINARY = ["atan2", "floor_divide", "fmod", "max", "min", "pow", "remainder"]


def headers() -> list[str]:
    """Those of float models; the kernels of quantized layers have tests of their own."""
    names = [*(p.name for p in FOLDER.glob("*.h")), *(f"{name}.h" for name in typed_kernels())]
    return sorted(name for name in names if not re.search(r"^q_|_s8|^rfft_s16|rhmul", name))


def write_typed(folder: Path) -> None:
    """The headers that are not files of their own, for `#include`."""
    for name in typed_kernels():
        (folder / f"{name}.h").write_text(kernel_source(name))


def everything() -> str:
    """All headers, the text that is written for each model that has dense layers, and loops over functions."""
    lines = [f'#include "{name}"' for name in headers()]
    blocks = {f"{kind}_f32_{p}x{f}" for kind in ("mac", "dw") for p in (1, 2) for f in (1, 2, 4, 8)}
    lines.append(dispatch(blocks, "test", assembly=False))
    for name in UNARY:
        lines.append(
            f"void map_{name}(const float *x, float *y, int n)"
            f" {{ for (int i = 0; i < n; i++) y[i] = pl_{name}_f32(x[i]); }}"
        )
    for name in BINARY:
        lines.append(
            f"void map_{name}(const float *a, const float *b, float *y, int n)"
            f" {{ for (int i = 0; i < n; i++) y[i] = pl_{name}_f32(a[i], b[i]); }}"
        )
    return "\n".join(lines) + "\n"


@functools.cache
def library(*flags: str) -> ctypes.CDLL:
    """The library, compiled once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="pilotlight-kernels-"))
    source, result = folder / "all.c", folder / "all.so"
    source.write_text(everything())
    write_typed(folder)
    checks = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    extra = checks if SANITIZE else ["-O2"]
    command = ["gcc", *WARNINGS, *VISIBLE, *extra, *flags, "-shared", "-fPIC", "-I", str(FOLDER)]
    compile_c([*command, str(source), "-o", str(result)], folder)
    return ctypes.CDLL(str(result))


def pointer(array: np.ndarray | None, offset: int = 0) -> ctypes.c_void_p:
    """The address `offset` bytes into an array."""
    return ctypes.c_void_p(None if array is None else array.ctypes.data + offset)


def call(name: str, *arguments: Any, lib: ctypes.CDLL | None = None) -> None:
    """Call a kernel: arrays become pointers, ints int32_t, floats float, dicts a struct of those fields."""
    converted: list[Any] = []
    for argument in arguments:
        if argument is None or isinstance(argument, np.ndarray):
            assert argument is None or argument.flags["C_CONTIGUOUS"]
            converted.append(pointer(argument))
        elif isinstance(argument, dict):
            converted.append(ctypes.byref(struct(argument)))
        elif isinstance(argument, float):
            converted.append(ctypes.c_float(argument))
        elif isinstance(argument, ctypes.c_void_p):
            converted.append(argument)
        else:
            converted.append(ctypes.c_int32(int(argument)))
    function = getattr(lib or library(), name)
    function.restype = None
    function(*converted)


def struct(fields: dict[str, Any]) -> ctypes.Structure:
    """Numbers and tuples of int32_t, in order, as the C struct declares them."""
    types: list[tuple[str, Any]] = []
    for key, value in fields.items():
        if isinstance(value, tuple):
            types.append((key, ctypes.c_int32 * len(value)))
        else:
            types.append((key, ctypes.c_float if isinstance(value, float) else ctypes.c_int32))
    kind = type("Shape", (ctypes.Structure,), {"_fields_": types})
    return kind(**{k: tuple(v) if isinstance(v, tuple) else v for k, v in fields.items()})


def mapped(name: str, *arrays: np.ndarray, lib: ctypes.CDLL | None = None) -> np.ndarray:
    """A math function over whole arrays."""
    y = np.empty_like(arrays[0])
    function = getattr(lib or library(), f"map_{name}")
    function.restype = None
    function(*(pointer(a) for a in arrays), pointer(y), ctypes.c_int(y.size))
    return y
