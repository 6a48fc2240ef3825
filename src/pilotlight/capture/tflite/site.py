"""One operator of a file while it becomes nodes: its tensors, its options, and what its function writes with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pilotlight.capture.tflite.model import FileOperator, FileTensor, OperatorOptions
from pilotlight.errors import PilotlightError
from pilotlight.fixed import tflm_steps
from pilotlight.graph import BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, UINT8, DType, Graph, Quant, State, Value
from pilotlight.graph.builder import Builder

DTYPES: dict[str, DType] = {
    "FLOAT32": FLOAT32, "FLOAT16": FLOAT16, "INT64": INT64, "INT32": INT32, "INT16": INT16, "INT8": INT8, "INT4": INT8,
    "UINT8": UINT8, "BOOL": BOOL,
}
SMALLEST_SCALE = 1e-12  # products and ratios of three scales are numbers of float32
LARGEST_COMPUTED = 1 << 20  # elements of a shape, a list of axes or a filter that operators compute from constants
LIMITS = {"INT8": (-128, 127), "INT16": (-32768, 32767), "UINT8": (-128, 127), "INT32": (-(2**31), 2**31 - 1)}
_ACTIVATIONS = {  # by number of ActivationFunctionType
    0: (-math.inf, math.inf), 1: (0.0, math.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0),
}


@dataclass
class Variables:
    """What a model keeps between calls, by name: its value at this point of the run, and the states."""

    now: dict[str, Value] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    initial: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Site:
    """An operator, with the values of its inputs."""

    b: Builder
    operator: FileOperator
    given: list[Value | None]
    tensors: list[FileTensor | None]  # of the inputs
    results: list[FileTensor]
    options: OperatorOptions
    variables: Variables
    subgraph: Callable[[int, Sequence[Value], str], Graph]  # another subgraph for these operands
    run_once: Callable[[int], None]  # a subgraph that gives variables their first values
    resources: dict[int, str]  # the variables that tensors of this subgraph stand for
    inside: bool = False  # IF or WHILE
    once: bool = False  # this runs before the first call only
    intermediates: list[FileTensor] = field(default_factory=list)

    def refuse(self, why: str, hint: str | None = None) -> PilotlightError:
        return self.b.refuse(f"{self.operator.name}: {why}", hint)

    def has(self, k: int) -> bool:
        return k < len(self.given) and self.given[k] is not None

    def x(self, k: int = 0) -> Value:
        """An input that the operator needs."""
        value = self.given[k] if k < len(self.given) else None
        if value is None:
            raise self.refuse(f"its input {k} is missing")
        return value

    def tensor(self, k: int = 0) -> FileTensor:
        tensor = self.tensors[k] if k < len(self.tensors) else None
        if tensor is None:
            raise self.refuse(f"its input {k} is missing")
        return tensor

    @property
    def result(self) -> FileTensor:
        """The only result."""
        if len(self.results) != 1:
            raise self.refuse(f"it has {len(self.results)} results; expected one")
        return self.results[0]

    def known(self, k: int) -> np.ndarray | None:
        """An input that is a constant, or computed from constants."""
        value = self.x(k)
        return self.b.known(value) if value.is_constant or value.elements <= LARGEST_COMPUTED else None

    def constant(self, k: int, what: str) -> np.ndarray:
        data = self.known(k)
        if data is None:
            raise self.refuse(f"{what} ({self.tensor(k)}) depends on the model's inputs; expected a constant")
        return data

    def numbers(self, k: int, what: str) -> tuple[int, ...]:
        """A constant list of integers."""
        return tuple(int(n) for n in self.constant(k, what).reshape(-1))

    def axes(self, k: int, rank: int) -> tuple[int, ...]:
        """A constant list of dimensions, each once, sorted."""
        found = self.numbers(k, "the list of axes")
        return tuple(sorted({self.axis(n, rank) for n in found}))

    def axis(self, n: int, rank: int) -> int:
        if not -rank <= n < max(rank, 1):
            raise self.refuse(f"axis {n} of a tensor with {rank} dimensions")
        return n % rank if rank else 0

    def quant(self, tensor: FileTensor) -> Quant:
        """The one scale of a tensor; that of uint8 is of the int8 that it is read as."""
        affine = tensor.affine
        if affine is None or not len(affine.scales):
            raise self.refuse(f"{tensor} has no scale; a quantized tensor has one")
        if len(affine.scales) != 1:
            raise self.refuse(f"{tensor} has {len(affine.scales)} scales; expected one")
        if not SMALLEST_SCALE <= affine.scales[0] <= 1 / SMALLEST_SCALE:
            raise self.refuse(f"{tensor} has the scale {affine.scales[0]}; expected a positive number near 1")
        low, high = LIMITS.get(tensor.type, (0, 0))
        zero = int(affine.zero_points[0]) - (128 if tensor.type == "UINT8" else 0)
        if not low <= zero <= high:
            raise self.refuse(f"{tensor} has the zero point {int(affine.zero_points[0])}, which its type cannot hold")
        return Quant(float(affine.scales[0]), zero)

    def quants(self, *inputs: int) -> list[Quant]:
        """Of these inputs, then of the result."""
        return [*(self.quant(self.tensor(k)) for k in inputs), self.quant(self.result)]

    @property
    def quantized(self) -> str:
        """The type of the result if it stands for real numbers by a scale: "INT8" or "INT16", else ""."""
        kind = self.result.type if self.results else ""
        kind = "INT8" if kind == "UINT8" and self.result.affine is not None else kind
        return kind if kind in ("INT8", "INT16") and self.result.affine is not None else ""

    def activation(self) -> tuple[float, float]:
        """What the fused activation limits the result to."""
        number = self.options.FusedActivationFunction
        if number not in _ACTIVATIONS:
            raise self.refuse(f"the fused activation {({4: 'TANH', 5: 'SIGN_BIT'}).get(number, number)}")
        return _ACTIVATIONS[number]

    def limits(self, activation: tuple[float, float] | None = None) -> tuple[int, int]:
        """The same as integers of the result, as TFLM computes them."""
        low, high = self.activation() if activation is None else activation
        least, most = LIMITS[self.result.type]
        quant = self.quant(self.result)

        low_int = least if low == -math.inf else max(least, quant.zero_point + tflm_steps(low, quant.scale))
        high_int = most if high == math.inf else min(most, quant.zero_point + tflm_steps(high, quant.scale))
        return min(low_int, most), max(high_int, least)
