"""Operators whose output may overlap their input: run at exactly the distance they declare.

The operator writes its own call; here a step runs it at once through the kernel library instead of printing it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pilotlight import ops
from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, Node, Value
from support.portable_kernels import SANITIZE, call, pointer

many = settings(max_examples=10 if SANITIZE else 60)
sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


class Direct(Step):
    """A step that is executed: values are addresses in one buffer, calls are made."""

    def __init__(self, memory: np.ndarray, offsets: dict[Value, int], scratch: int):
        super().__init__(0, lambda value: ("", 0))
        self.memory, self.offsets = memory, offsets
        self.room = np.empty(max(scratch, 1), np.uint8)

    def read(self, value: Value, ctype: str | None = None) -> Any:
        return pointer(self.memory, self.offsets[value])

    write = read

    def scratch(self, ctype: str = "float") -> Any:
        return pointer(self.room)

    def table(self, ctype: str, hint: str, fields: Any) -> Any:
        given_fields = {k: v if isinstance(v, float) else int(v) for k, v in fields.items()}
        return dict.fromkeys(FIELDS[ctype], 0) | given_fields

    def call(self, function: str, *args: Any) -> None:
        call(function, *(self._number(a) for a in args))

    def _number(self, argument: Any) -> Any:
        if argument == "0":
            return ctypes.c_void_p(None)
        return float(argument.rstrip("f")) if isinstance(argument, str) else argument


FIELDS = {
    "pl_pool2d_t": [
        "n", "ih", "iw", "c", "oh", "ow", "kh", "kw", "sh", "sw", "top", "left", "dh", "dw", "count_padding", "divisor",
    ],
    "pl_resize2d_t": ["n", "ih", "iw", "c", "oh", "ow", "align_corners", "sh", "sw"],
}


def run(op: str, x: np.ndarray, attrs: dict[str, Any], distance: int | None) -> list[np.ndarray]:
    """The outputs; the first lies `distance` bytes after the input, or apart where that is None."""
    value = Value("x", FLOAT32, x.shape)
    node = Node(op, [value], [], attrs)
    node.outputs = [Value(f"y{i}", dtype, shape) for i, (dtype, shape) in enumerate(ops.get(op).infer(node))]
    room = value.bytes + sum(v.bytes for v in node.outputs) + 64
    start = room if distance is None else room + distance
    offsets = {value: room, node.outputs[0]: start if distance is not None else 3 * room}
    for i, v in enumerate(node.outputs[1:], 4):
        offsets[v] = i * room
    memory = np.full((len(node.outputs) + 4) * room, 0xA5, np.uint8)
    memory[room : room + value.bytes] = x.reshape(-1).view(np.uint8)
    ops.get(op).emit(node, Direct(memory, offsets, ops.get(op).scratch(node)))
    return [
        memory[offsets[v] : offsets[v] + v.bytes].view(v.dtype.numpy).reshape(v.shape).copy() for v in node.outputs
    ]


def check(op: str, x: np.ndarray, **attrs: Any) -> None:
    value = Value("x", FLOAT32, x.shape)
    node = Node(op, [value], [], attrs)
    node.outputs = [Value("y", dtype, shape) for dtype, shape in ops.get(op).infer(node)]
    distance = ops.get(op).overlaps(node).get((0, 0))
    assume(distance is not None)
    distance = max(distance, -sum(v.bytes for v in node.outputs) - 32)
    for got, expected in zip(run(op, x, attrs, distance), run(op, x, attrs, None), strict=True):
        np.testing.assert_array_equal(got, expected)
    lower = distance - 16  # farther below is as good
    for got, expected in zip(run(op, x, attrs, lower), run(op, x, attrs, None), strict=True):
        np.testing.assert_array_equal(got, expected)


def tensor(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


@many
@given(st.tuples(sizes, sizes, sizes), st.integers(0, 2), st.sampled_from(["softmax", "log_softmax", "cumsum"]), seeds)
def test_lanes(shape: tuple[int, ...], axis: int, op: str, seed: int) -> None:
    check(op, tensor(seed, *shape), axis=axis)


@many
@given(st.tuples(sizes, sizes, sizes), st.integers(0, 2), st.booleans(), seeds)
def test_sort(shape: tuple[int, ...], axis: int, descending: bool, seed: int) -> None:
    check("sort", tensor(seed, *shape), axis=axis, descending=descending)


@many
@given(
    st.tuples(sizes, sizes, sizes, sizes), st.integers(0, 3), st.integers(0, 3),
    st.sampled_from(["sum", "mean", "amax", "amin", "prod", "argmax"]), seeds,
)
def test_reductions(shape: tuple[int, ...], first: int, last: int, op: str, seed: int) -> None:
    assume(first <= last)
    check(op, tensor(seed, *shape), axes=tuple(range(first, last + 1)))


@many
@given(st.tuples(sizes, sizes, st.integers(1, 4)), st.integers(1, 3), seeds)
def test_norms(shape: tuple[int, int, int], groups: int, seed: int) -> None:
    n, s, width = shape
    x = tensor(seed, n, s + 1, groups * width)
    check("layer_norm", x, size=groups * width, eps=1e-5, affine=(False, False))
    check("rms_norm", x, size=groups * width, eps=1e-5, affine=(False,))
    check("group_norm", x, groups=groups, eps=1e-5, affine=(False, False))


@many
@given(
    st.tuples(st.integers(1, 2), st.integers(4, 9), st.integers(4, 9), sizes), st.tuples(*[st.integers(1, 3)] * 4),
    st.tuples(*[st.integers(0, 1)] * 2), st.sampled_from(["max", "avg"]), seeds,
)
def test_pools(
    shape: tuple[int, ...], window: tuple[int, ...], pad: tuple[int, int], kind: str, seed: int
) -> None:
    kernel, stride = (window[0] + 1, window[1] + 1), (window[2], window[3])
    out = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(shape[1:3], pad, kernel, stride, strict=True))
    check(
        f"{kind}_pool2d", tensor(seed, *shape), size=out, kernel=kernel, stride=stride, pad=pad, dilation=(1, 1),
        count_padding=True, divisor=0,
    )


@many
@given(st.tuples(*[sizes] * 4), st.tuples(sizes, sizes), st.sampled_from(["max", "avg"]), seeds)
def test_adaptive_pools(shape: tuple[int, ...], out: tuple[int, int], kind: str, seed: int) -> None:
    check(f"adaptive_{kind}_pool2d", tensor(seed, *shape), size=out)


@many
@given(
    st.tuples(*[sizes] * 4), st.tuples(st.integers(1, 14), st.integers(1, 14)),
    st.sampled_from(["nearest", "nearest-exact", "bilinear", "bicubic"]), st.booleans(), seeds,
)
def test_resizing(shape: tuple[int, ...], out: tuple[int, int], mode: str, align: bool, seed: int) -> None:
    align = align and mode in ("bilinear", "bicubic")
    scale = tuple(
        float(np.float32((n - 1) / max(o - 1, 1))) if align else float(np.float32(n / o))
        for n, o in zip(shape[1:3], out, strict=True)
    )
    check("resize2d", tensor(seed, *shape), mode=mode, out=out, align=align, scale=scale, factors=None)
