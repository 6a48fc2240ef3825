"""Generated loop nests: one loop for a chain of pointwise operators, strided copies for everything that moves data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pilotlight.codegen.step import Step, c_float
from pilotlight.graph import DType, Shape, Value


@dataclass(frozen=True)
class Operand:
    """A tensor read inside a loop nest: element `offset + sum(index * stride)`."""

    value: Value
    strides: tuple[int, ...]
    offset: int = 0


def contiguous(shape: Shape) -> tuple[int, ...]:
    """Element strides of a dense tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def broadcast(value: Value, shape: Shape) -> Operand:
    """A dense tensor read as if it had been expanded to `shape`."""
    lead = len(shape) - len(value.shape)
    dense = contiguous(value.shape)
    strides = tuple(0 if size == 1 else step for size, step in zip(value.shape, dense, strict=True))
    return Operand(value, (0,) * lead + strides)


def collapse(shape: Shape, strides: Sequence[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """Merge neighbouring dimensions that every tensor walks as one; drop those of size 1."""
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(m[-1] == s[dim] * size for m, s in zip(merged, strides, strict=True)):
            sizes[-1] *= size
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[dim]
        else:
            sizes.append(size)
            for m, s in zip(merged, strides, strict=True):
                m.append(s[dim])
    return sizes, merged


def element_indices(shape: Shape, operand_strides: Sequence[int], offset: int = 0) -> np.ndarray:
    """The element a strided operand reads in each step of a loop nest over `shape`."""
    index = np.full(1, offset, dtype=np.int64)
    for size, stride in zip(shape, operand_strides, strict=True):
        index = (index[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
    return index


def literal(value: Value) -> str:
    """A constant of one element as C."""
    assert value.data is not None
    return element(value.dtype, value.data)


def element(dtype: DType, data: np.ndarray) -> str:
    """An array of one element as C."""
    if dtype.kind == "h":
        return f"{data.reshape(-1).view(np.uint16)[0]:#06x}u"
    number = data.reshape(-1)[0]
    if dtype.kind == "f":
        return c_float(float(number))
    if dtype.kind == "b":
        return "1" if number else "0"
    if dtype.name == "int64":
        return f"INT64_C({int(number)})" if int(number) != -(2**63) else "(-INT64_C(9223372036854775807) - 1)"
    return str(int(number))


def position(names: Sequence[str], strides: Sequence[int], offset: int) -> str:
    """The element that a strided operand reads, as C: the loops' variables times their strides."""
    walked = [(name, stride) for name, stride in zip(names, strides, strict=True) if stride]
    parts = [name if stride == 1 else f"{name} * {stride}" for name, stride in walked]
    if offset or not parts:
        parts.append(str(offset))
    return parts[0] if len(parts) == 1 else " + ".join(f"({part})" if " " in part else part for part in parts)


def nest(c: Step, sizes: Sequence[int], body: Sequence[str], reverse: bool = False) -> list[str]:
    """`for` loops over `sizes` around `body`, in `reverse` from the last to the first; their variables."""
    names = index_names(len(sizes))
    pad = "    "
    for name, size in zip(names, sizes, strict=True):
        up, down = f"{name} = 0; {name} < {size}; {name}++", f"{name} = {size - 1}; {name} >= 0; {name}--"
        c.line(f"{pad}for (int32_t {down if reverse else up}) {{")
        pad += "    "
    for text in body:
        c.line(pad + text)
    for _ in sizes:
        pad = pad[4:]
        c.line(f"{pad}}}")
    return names


def index_names(rank: int) -> list[str]:
    return list("ijklnp"[:rank]) if rank <= 6 else [f"i{d}" for d in range(rank)]


@dataclass(frozen=True)
class Instruction:
    """One pointwise operator inside a loop: an expression of operands, each an input or an earlier result."""

    expression: str  # C, operands as {0}, {1}, ...; {T} the compute type, {U} its unsigned twin, {bits} its width,
    # {most} the most bits that it can be shifted to the right
    operands: tuple[tuple[str, int], ...]  # ("in", k) or ("t", k)
    compute: DType
    result: DType


def pointwise(c: Step, out: Value, operands: Sequence[Operand], body: Sequence[Instruction]) -> None:
    """One loop nest that computes `body` for every element of `out`."""
    tensors = [o for o in operands if not inlined(o.value)]
    sizes, strides = collapse(out.shape, [contiguous(out.shape), *(o.strides for o in tensors)])
    names = index_names(len(sizes))
    c.line("{")
    terms: dict[int, str] = {}
    pointer = 0
    for k, operand in enumerate(operands):
        if inlined(operand.value):
            terms[k] = literal(operand.value)
            continue
        shape = ", ".join(map(str, operand.value.shape))
        c.line(f"    const {operand.value.dtype.c} *x{pointer} = {c.read(operand.value)}; // ({shape})")
        terms[k] = f"x{pointer}[{position(names, strides[1 + pointer], operand.offset)}]"
        pointer += 1
    c.line(f"    {out.dtype.c} *y = {c.write(out)}; // ({', '.join(map(str, out.shape))})")

    lines: list[str] = []
    loaded: dict[int, str] = {}
    results: list[str] = []

    def operand_text(kind: str, k: int) -> str:
        if kind == "t":
            return results[k]
        if inlined(operands[k].value) and operands[k].value.dtype.kind not in "ub":
            return terms[k]  # an unsigned one becomes a variable: compilers warn about `x < 0`
        if k not in loaded:
            loaded[k] = f"v{len(loaded)}"
            lines.append(f"const {operands[k].value.dtype.c} {loaded[k]} = {terms[k]};")
        return loaded[k]

    target = f"y[{position(names, strides[0], 0)}]"
    for number, instruction in enumerate(body):
        texts = [operand_text(*ref) for ref in instruction.operands]
        compute, result = instruction.compute, instruction.result
        unsigned = "uint64_t" if compute.size == 8 else "uint32_t"
        bits = 8 * compute.size
        expression = instruction.expression.format(
            *texts, T=compute.c, U=unsigned, bits=bits, most=bits - (compute.kind == "i")
        )
        if result.kind != "f" and instruction.expression != "{0}":
            expression = f"({result.c})({expression})"
        if number == len(body) - 1:
            lines.append(f"{target} = {expression};")
        else:
            results.append(f"t{len(results)}")
            lines.append(f"const {result.c} {results[-1]} = {expression};")
    nest(c, sizes, lines)
    c.line("}")


def inlined(value: Value) -> bool:
    """Constants of one element are written into the expression."""
    return value.is_constant and value.elements == 1


def copy(
    c: Step, shape: Shape, source: Value, strides: Sequence[int], offset: int,
    out: Value, out_strides: Sequence[int] | None = None, out_offset: int = 0, reverse: bool = False,
) -> None:
    """Copy a strided window of `source` into one of `out`; runs that are dense on both sides move whole."""
    if 0 in shape:
        return
    sizes, (y, x) = collapse(shape, [tuple(out_strides or contiguous(shape)), tuple(strides)])
    itemsize = out.dtype.size
    run = 1
    if sizes and x[-1] == 1 and y[-1] == 1:
        run = sizes.pop()
        x.pop()
        y.pop()
    names = index_names(len(sizes))
    c.line("{")
    c.line(f"    const {source.dtype.c} *x = {c.read(source)}; // ({', '.join(map(str, source.shape))})")
    c.line(f"    {out.dtype.c} *y = {c.write(out)}; // ({', '.join(map(str, out.shape))})")
    target, origin = position(names, y, out_offset), position(names, x, offset)
    if run > 1 or not sizes:
        c.use("mem")
        nest(c, sizes, [f"pl_copy(&y[{target}], &x[{origin}], {run * itemsize});"], reverse)
    else:
        c.use("mem")
        nest(c, sizes, [f"y[{target}] = x[{origin}];", "PL_BARRIER(y);"], reverse)
    c.line("}")
