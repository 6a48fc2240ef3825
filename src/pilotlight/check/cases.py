"""What a kernel is tried on: sizes that it takes, where in memory its tensors are, and the numbers in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pilotlight.custom.kernel import Bound, Kernel
from pilotlight.custom.signature import BATCH, bad
from pilotlight.errors import PilotlightError
from pilotlight.graph import DType, Quant, Shape
from pilotlight.graph.dtypes import convert

GUARD = 32  # bytes around each tensor that nothing may change
ALIGN = 16
SHAPES = 7  # sets of sizes
_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31)
_ATTEMPTS = 400
_LARGEST = 2048  # elements of a generated tensor
_FLOATS: dict[str, tuple[float, ...]] = {
    "zeros": (0.0, -0.0),
    "ones": (1.0, -1.0),
    "subnormal numbers": (1e-40, -1e-40, 0.0, 1e-38),
    "NaN": (float("nan"), 1.0, -2.0, 0.5),
    "infinity": (float("inf"), 1.0, float("-inf"), 0.5),
    "numbers near the end of float32": (3e38, -3e38, 1e30, -1.0),
}
_PROMISED = ("zeros", "ones", "subnormal numbers")  # of kernels that promise finite numbers only
RANDOM = "random numbers"


@dataclass(frozen=True)
class Case:
    """Sizes, parameters and quantization with which a kernel is called."""

    bound: Bound
    parameters: Mapping[str, Any]
    quants: tuple[Quant, ...] | None = None

    def __str__(self) -> str:
        shown = [f"{'...' if name == BATCH else name}={size}" for name, size in self.bound.dims.items()]
        return ", ".join([*shown, *(f"{name}={value}" for name, value in self.parameters.items())]) or "no sizes"


@dataclass(frozen=True)
class Site:
    """A case with its tensors at certain places of the memory: one call in the program."""

    case: Case
    inputs: tuple[int, ...]  # where each begins
    outputs: tuple[int, ...]
    scratch: int
    size: int  # bytes of memory that the call may touch, guards included
    how: str = ""  # what is special about the places
    overlapped: bool = False


@dataclass(frozen=True)
class Tensors:
    """Shapes and types of a case."""

    inputs: Sequence[tuple[DType, Shape]]
    outputs: Sequence[tuple[DType, Shape]]


def tensors_of(kernel: Kernel, bound: Bound) -> Tensors:
    inputs = [(t.dtype, t.shape(bound.dims, bound.leading)) for t in kernel.inputs]
    return Tensors(inputs, list(zip((t.dtype for t in kernel.outputs), kernel.results(bound), strict=True)))


def generated(kernel: Kernel, random: np.random.Generator) -> list[Case]:
    """Sizes that the kernel takes, each with other parameters; the smallest first."""
    found: dict[tuple[int, ...], Case] = {}
    values = {name: itertools.cycle(given) for name, given in kernel.parameters.items()}
    for attempt in range(_ATTEMPTS):
        dims, leading = _sizes(kernel, random, attempt)
        parameters = {name: next(given) for name, given in values.items()}
        if tuple(dims.values()) in found or not kernel.allows(dims, parameters):
            continue
        bound = Bound(dims, leading)
        tensors = tensors_of(kernel, bound)
        counts = [int(np.prod(shape)) for _, shape in (*tensors.inputs, *tensors.outputs)]
        if min(counts[len(tensors.inputs) :]) < 1 or max(counts) > _LARGEST:
            continue
        found[tuple(dims.values())] = Case(bound, parameters, _quants(kernel, random))
        if len(found) == SHAPES:
            break
    if not found:
        raise bad("no sizes were found that it takes", "give sizes= that its condition and results allow",
                  f"kernel {kernel.name}")
    cases = list(found.values())
    return cases + _other_parameters(kernel, cases[-1], random)


def _other_parameters(kernel: Kernel, case: Case, random: np.random.Generator) -> list[Case]:
    """Every value of every parameter once, with the sizes of a case."""
    found = []
    for name, given in kernel.parameters.items():
        for value in given:
            parameters = {**case.parameters, name: value}
            if kernel.allows(case.bound.dims, parameters):
                found.append(Case(case.bound, parameters, _quants(kernel, random)))
    return found


def _sizes(kernel: Kernel, random: np.random.Generator, attempt: int) -> tuple[dict[str, int], list[Shape]]:
    """At first the smallest sizes there are, then any."""
    dims: dict[str, int] = {}
    for name in kernel.dims:
        allowed = sorted(kernel.sizes[name])[:4096] if name in kernel.sizes else list(_SIZES)
        dims[name] = allowed[0] if attempt == 0 else int(random.choice(allowed))
    leading: list[Shape] = []
    if BATCH in dims:
        pairs = [(), (dims[BATCH],), (2, dims[BATCH])]
        leading = [pairs[attempt % 3] if attempt else ()]
        dims[BATCH] = int(np.prod(leading[0]))
    return dims, leading


def _quants(kernel: Kernel, random: np.random.Generator) -> tuple[Quant, ...] | None:
    if not kernel.quantized:
        return None
    return tuple(
        Quant(float(np.float32(2.0 ** random.uniform(-8, -3))), int(random.integers(-100, 100)))
        for _ in (*kernel.inputs, *kernel.outputs)
    )


def sites(kernel: Kernel, case: Case) -> list[Site]:
    """Apart and aligned; apart and aligned only as the elements are; and overlapping as far as is declared."""
    found = [_apart(kernel, case, 0), _apart(kernel, case, 1)]
    for (source, target), distance in kernel.distances(case.bound.dims).items():
        tensors = tensors_of(kernel, case.bound)
        step = max(tensors.inputs[source][0].size, tensors.outputs[target][0].size)
        largest = distance // step * step
        half = _bytes(*tensors.inputs[source]) // (2 * step) * step
        for apart in dict.fromkeys((largest, largest - step, largest - ALIGN, largest - half)):
            found.append(_overlapping(kernel, case, source, target, apart))
    return found


def _apart(kernel: Kernel, case: Case, shift: int) -> Site:
    """Everything by itself; with `shift` tensors begin that many elements after an aligned place."""
    tensors, at, places = tensors_of(kernel, case.bound), GUARD, []
    for dtype, shape in (*tensors.inputs, *tensors.outputs):
        start = at + shift * dtype.size
        places.append(start)
        at = _after(start + _bytes(dtype, shape))
    count = len(tensors.inputs)
    how = f"tensors aligned to {min(t.dtype.size for t in (*kernel.inputs, *kernel.outputs))} bytes" if shift else ""
    scratch = kernel.scratch_bytes(case.bound.dims)
    return Site(case, tuple(places[:count]), tuple(places[count:]), at, _after(at + scratch), how)


def _overlapping(kernel: Kernel, case: Case, source: int, target: int, apart: int) -> Site:
    """Output `target` begins `apart` bytes after input `source`."""
    tensors, at = tensors_of(kernel, case.bound), GUARD
    first = at + max(0, -apart) + -max(0, -apart) % ALIGN
    inputs, outputs = [0] * len(tensors.inputs), [0] * len(tensors.outputs)
    inputs[source], outputs[target] = first, first + apart
    at = _after(max(first + _bytes(*tensors.inputs[source]), first + apart + _bytes(*tensors.outputs[target])))
    for places, kinds, placed in ((inputs, tensors.inputs, source), (outputs, tensors.outputs, target)):
        for k, kind in enumerate(kinds):
            if k != placed:
                places[k], at = at, _after(at + _bytes(*kind))
    scratch = kernel.scratch_bytes(case.bound.dims)
    how = f"output {target} {apart} bytes after input {source} as its overlaps allow"
    return Site(case, tuple(inputs), tuple(outputs), at, _after(at + scratch), how, True)


def _after(end: int) -> int:
    return end + GUARD + -(end + GUARD) % ALIGN


def _bytes(dtype: DType, shape: Shape) -> int:
    return int(np.prod(shape)) * dtype.size


def kinds(kernel: Kernel) -> list[str]:
    """The kinds of numbers that inputs are filled with."""
    if kernel.draw is not None:
        return [RANDOM]
    floats = [name for name in _FLOATS if name in _PROMISED or not kernel.finite]
    return [RANDOM, *(floats if any(t.dtype.kind in "fh" for t in kernel.inputs) else ["least", "most", "zeros"])]


def is_promised(kind: str) -> bool:
    """Whether every kernel has to be right with this kind of numbers."""
    return kind not in _FLOATS or kind in _PROMISED


def draw(kernel: Kernel, case: Case, kind: str, random: np.random.Generator) -> list[np.ndarray]:
    """The inputs of a case."""
    tensors = tensors_of(kernel, case.bound)
    if kernel.draw is None:
        return [_numbers(dtype, shape, kind, random) for dtype, shape in tensors.inputs]
    try:
        given = [np.asarray(x) for x in kernel.draw(random, **case.bound.dims)]
    except PilotlightError:
        raise
    except Exception as error:
        raise bad(f"its draw failed: {type(error).__name__}: {error}", None, f"kernel {kernel.name}") from error
    wanted = [(dtype.numpy, int(np.prod(shape))) for dtype, shape in tensors.inputs]
    if [(x.dtype, x.size) for x in given] != wanted:
        shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in given)
        raise bad(f"its draw gives {shown}, not what takes says", None, f"kernel {kernel.name}")
    return [np.ascontiguousarray(x).reshape(shape) for x, (_, shape) in zip(given, tensors.inputs, strict=True)]


def _numbers(dtype: DType, shape: Shape, kind: str, random: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, shape), bool) if kind == RANDOM else np.full(shape, kind == "most")
    if dtype.kind in "fh":
        values: np.ndarray = random.standard_normal(shape)
        if kind in _FLOATS:
            given = np.resize(np.asarray(_FLOATS[kind]), shape)
            values = random.permutation(given.reshape(-1)).reshape(shape) if len(shape) else given
        return _stored(values, dtype)
    limits = np.iinfo(dtype.numpy)
    edges = {"least": limits.min, "most": limits.max, "zeros": 0}
    if kind in edges:
        return np.full(shape, edges[kind], dtype.numpy)
    low, high = (limits.min, limits.max) if dtype.size == 1 else (-1000 if limits.min else 0, 1000)
    return random.integers(low, high, shape, dtype.numpy, endpoint=True)


def _stored(values: np.ndarray, dtype: DType) -> np.ndarray:
    return convert(np.asarray(values, np.float32), dtype)


def noise(size: int, random: np.random.Generator) -> np.ndarray:
    """Bytes of NaN, of large and of small numbers: no pattern is harmless for every type."""
    return random.choice(np.array([0xFF, 0x7F, 0x00, 0x80, 0x3F, 0xA5], np.uint8), size)


@dataclass
class Plan:
    """Every call of the program, and what each is tried with."""

    sites: list[Site] = field(default_factory=list)

    @property
    def size(self) -> int:
        return max(site.size for site in self.sites)

    def trials(self, kernel: Kernel) -> Iterator[tuple[int, Site, str]]:
        """Every kind of numbers at the first place of a case, random ones at the others; then all places once more, in
        another order, for what a kernel may have kept from earlier calls."""
        for number, site in enumerate(self.sites):
            for kind in kinds(kernel) if not site.how else [RANDOM]:
                yield number, site, kind
        for number, site in reversed(list(enumerate(self.sites))):
            yield number, site, RANDOM
