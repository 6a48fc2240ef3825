"""Elements by number along one axis: gather, and scatter with every way to join old elements with new ones.

Both are loop nests around one expression, so that any element type and any size of the index will do. An index out
of range is moved to the nearest element, because a run has no way to raise PyTorch's error.
"""

from __future__ import annotations

import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, DType, Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, axis, lowers, moves, register, same
from pilotlight.ops.index.float import wrapped
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import SHARED

# What an element becomes, from what is there {0} and what comes {1}; {T} is the type, {U} its unsigned twin.
_FLOAT = {"set": "{1}", "sum": "{0} + {1}", "prod": "{0} * {1}", "amax": "pl_max_f32({0}, {1})",
          "amin": "pl_min_f32({0}, {1})"}
_INTEGER = {"set": "{1}", "sum": "({T})(({U}){0} + ({U}){1})", "prod": "({T})(({U}){0} * ({U}){1})",
            "amax": "({0} > {1}) ? {0} : {1}", "amin": "({0} < {1}) ? {0} : {1}"}
_BOOL = {"set": "{1}", "sum": "({T})({0} | {1})", "prod": "({T})({0} & {1})", "amax": "({T})({0} | {1})",
         "amin": "({T})({0} & {1})"}


def _skipping(shape: Shape, at: int) -> tuple[int, ...]:
    """The strides of a dense tensor whose position along one axis comes from an index."""
    return tuple(0 if d == at else s for d, s in enumerate(loops.contiguous(shape)))


def _indexed(ids: str, shape: Shape, at: int, rest: str) -> str:
    step = loops.contiguous(shape)[at]
    first = f"pl_index({ids}, {shape[at]})"
    if rest == "0":
        return first if step == 1 else f"{first} * {step}"
    return f"{first} + {rest}" if step == 1 else f"({first} * {step}) + {rest}"


@register
class Gather(Op):
    """x and ids, which is no larger than x except along attrs["axis"]."""

    name = "gather"

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, node.inputs[1].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        at = node.attrs["axis"]
        return args[0].gather(at, wrapped(args[1], args[0].shape[at]))

    def selects(self, node: Node, dtype: DType) -> bool:
        return True

    def emit(self, node: Node, c: Step) -> None:
        (x, ids), y, at = node.inputs, node.output, node.attrs["axis"]
        sizes, (dense, source) = loops.collapse(ids.shape, [loops.contiguous(ids.shape), _skipping(x.shape, at)])
        names = loops.index_names(len(sizes))
        here = loops.position(names, dense, 0)
        there = _indexed(f"ids[{here}]", x.shape, at, loops.position(names, source, 0))
        c.use("index")
        c.line("{")
        c.line(f"    const {x.dtype.c} *x = {c.read(x)}; // ({', '.join(map(str, x.shape))})")
        c.line(f"    const {ids.dtype.c} *ids = {c.read(ids)}; // ({', '.join(map(str, ids.shape))})")
        c.line(f"    {y.dtype.c} *y = {c.write(y)}; // ({', '.join(map(str, y.shape))})")
        loops.nest(c, sizes, [f"y[{here}] = x[{there}];"])
        c.line("}")


@register
class Scatter(Op):
    """x, ids and v; attrs: axis, shape, mode. Every element of v within `shape` goes to the place in x that ids names
    along the axis: it replaces what is there ("set") or joins it ("sum", "prod", "amax", "amin"). Dimensions of size 1
    in ids and v are repeated. In place over x: the copy before it then does nothing."""

    name = "scatter"

    def infer(self, node: Node) -> Result:
        return same(node)

    def selects(self, node: Node, dtype: DType) -> bool:
        return node.attrs["mode"] in ("set", "amax", "amin")

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        shape, at, mode = (node.attrs[k] for k in ("shape", "axis", "mode"))
        x, ids, v = args
        ids = wrapped(ids, x.shape[at]).expand(shape)
        v = v[tuple(slice(0, n) for n in shape)].expand(shape) if v.shape else v.expand(shape)
        if mode == "set":
            return x.scatter(at, ids, v)
        if x.dtype == torch.bool:
            y = x.byte().scatter_reduce(at, ids, v.byte(), "amax" if mode in ("sum", "amax") else "amin")
            return y.bool()
        return x.scatter_reduce(at, ids, v, mode)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        (x, ids, v), y, at, shape = node.inputs, node.output, node.attrs["axis"], node.attrs["shape"]
        c.use("mem", "index")
        c.call("pl_copy", c.write(y), c.read(x), x.bytes)
        if 0 in shape or 0 in x.shape:
            return
        strides = [_skipping(x.shape, at), loops.broadcast(ids, shape).strides, loops.broadcast(v, shape).strides]
        sizes, (to, index, source) = loops.collapse(shape, strides)
        names = loops.index_names(len(sizes))
        there = _indexed(f"ids[{loops.position(names, index, 0)}]", x.shape, at, loops.position(names, to, 0))
        comes = loops.literal(v) if loops.inlined(v) else f"v[{loops.position(names, source, 0)}]"
        c.line("{")
        if not loops.inlined(v):
            c.line(f"    const {v.dtype.c} *v = {c.read(v)}; // ({', '.join(map(str, v.shape))})")
        c.line(f"    const {ids.dtype.c} *ids = {c.read(ids)}; // ({', '.join(map(str, ids.shape))})")
        c.line(f"    {y.dtype.c} *y = {c.write(y)}; // ({', '.join(map(str, y.shape))})")
        joined = _joined(c, y.dtype, node.attrs["mode"]).format("*to", comes, T=y.dtype.c, U=_unsigned(y.dtype))
        loops.nest(c, sizes, [f"{y.dtype.c} *to = &y[{there}];", f"*to = {joined};"])
        c.line("}")


def _unsigned(dtype: DType) -> str:
    return "uint64_t" if dtype.size == 8 else "uint32_t"


def _joined(c: Step, dtype: DType, mode: str) -> str:
    if dtype.kind == "f" and mode in ("amax", "amin"):
        c.use("minmax_f32")
    return (_BOOL if dtype == BOOL else _FLOAT if dtype.kind in "fh" else _INTEGER)[mode]


# ---- ATen --------------------------------------------------------------------------------------------------


@moves("gather.default", quantized=SHARED)
def gather(b: Builder, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    if not self.elements or not index.elements:
        return b.expand(b.reshape(self, ()), index.shape) if self.elements == 1 else b.constant(
            torch.zeros(index.shape, dtype=self.dtype.torch))
    x, ids = (b.reshape(v, v.shape or (1,)) for v in (self, index))
    return b.reshape(b.node("gather", [x, ids], axis=axis(dim, len(x.shape))), index.shape)


def scatter(b: Builder, x: Value, dim: int, ids: Value, v: Value, mode: str) -> Value:
    """x with the elements of v at ids; v is a number or at least as large as ids."""
    flat = b.reshape(x, x.shape or (1,))
    index = b.reshape(ids, ids.shape or (1,))
    v = v if ids.shape else b.reshape(v, (1,))
    at = axis(dim, len(flat.shape))
    return b.reshape(b.node("scatter", [flat, index, v], axis=at, shape=index.shape, mode=mode), x.shape)


@moves("scatter.src", quantized=SHARED)
def scatter_src(b: Builder, self: Value, dim: int, index: Value, src: Value) -> Value:
    return scatter(b, self, dim, index, src, "set")


@moves("scatter.value")
def scatter_value(b: Builder, self: Value, dim: int, index: Value, value: float) -> Value:
    return scatter(b, self, dim, index, b.scalar(value, self.dtype), "set")


@lowers("scatter_add.default")
def scatter_add(b: Builder, self: Value, dim: int, index: Value, src: Value) -> Value:
    return scatter(b, self, dim, index, src, "sum")


_REDUCE = {"add": "sum", "sum": "sum", "multiply": "prod", "prod": "prod", "mean": "mean", "amax": "amax",
           "amin": "amin"}


@lowers("scatter.reduce")
def scatter_old_reduce(b: Builder, self: Value, dim: int, index: Value, src: Value, reduce: str) -> Value:
    return scatter(b, self, dim, index, src, _REDUCE[reduce])


@lowers("scatter.value_reduce")
def scatter_value_reduce(b: Builder, self: Value, dim: int, index: Value, value: float, reduce: str) -> Value:
    return scatter(b, self, dim, index, b.scalar(value, self.dtype), _REDUCE[reduce])


def _first(mode: str, dtype: DType) -> float | int:
    """What joining starts from where the tensor's own elements do not take part."""
    if mode in ("sum", "mean", "prod"):
        return 1 if mode == "prod" else 0
    if dtype == BOOL:
        return 0 if mode == "amax" else 1
    if dtype.kind == "f":
        return float("-inf") if mode == "amax" else float("inf")
    limits = torch.iinfo(dtype.torch)
    return limits.min if mode == "amax" else limits.max


@lowers("scatter_reduce.two")
def scatter_reduce(
    b: Builder, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    mode = _REDUCE[reduce]
    x = self if include_self else scatter(b, self, dim, index, b.scalar(_first(mode, self.dtype), self.dtype), "set")
    y = scatter(b, x, dim, index, src, "sum" if mode == "mean" else mode)
    if mode != "mean":
        return y
    none = b.constant(torch.full(self.shape, int(include_self), dtype=self.dtype.torch), hint="counts")
    counts = scatter(b, none, dim, index, b.scalar(1, self.dtype), "sum")
    counts = counts if include_self else apply(b, "maximum", counts, 1)
    return apply(b, "div" if self.dtype.kind == "f" else "floor_divide", y, counts)


@lowers("index_reduce.default")
def index_reduce(
    b: Builder, self: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    """Like scatter_reduce, with one index for whole rows."""
    shape = self.shape or (1,)
    at = axis(dim, len(shape))
    ids = b.reshape(index, (1,) * at + (index.elements,) + (1,) * (len(shape) - at - 1))
    rows = (*shape[:at], index.elements, *shape[at + 1 :])
    x, v = b.reshape(self, shape), b.reshape(source, rows)
    return b.reshape(scatter_reduce(b, x, at, b.expand(ids, rows), v, reduce, include_self), self.shape)
