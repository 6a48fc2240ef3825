"""How the quantizer treats an ATen operator, declared where its lowering is.

`@lowers("softmax.int", quantized=Treatment(FixedRange(1 / 256, -128)))` declares it together with the lowering, and
`quantized(OWN, "einsum.default")` for an operator that PyTorch decomposes first. Modules are functional when they are
quantized, so that there is no `relu_`. What is not declared stays float, and the summary says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class OwnScale:
    """The result has a scale of its own."""


@dataclass(frozen=True)
class FixedRange:
    """The range of the result is known: its scale and zero point in int8; 16 bits hold -1..1."""

    scale: float
    zero_point: int
    hides: bool = False  # very low inputs count as absent: a mask before the operator becomes part of it


@dataclass(frozen=True)
class SharedScale:
    """The numbers of the result are among those of the inputs, which all get one scale: nothing is computed."""

    largest: bool = False  # only the largest are seen: the lowest integer does as well as -infinity


@dataclass(frozen=True)
class ReadOnly:
    """The result is no number, or none of the inputs'."""


@dataclass(frozen=True)
class DenseLayer:
    """Weights per output channel, activations in and out."""

    channels: int = 0  # the weight's dimension of output channels


@dataclass(frozen=True)
class RecurrentLayer:
    """A sequence or a step of one in, one out; weights are quantized where the layer becomes integer."""

    hidden: int = 2  # so many of the first results are in the scale of the output


ResultScale = OwnScale | FixedRange | SharedScale | ReadOnly | DenseLayer | RecurrentLayer


@dataclass(frozen=True)
class Treatment:
    """How an operator is quantized."""

    result: ResultScale | None = None
    function: bool = False  # of one tensor and numbers, element by element: any chain of these is one table
    clamp: bool = False  # becomes the limits of the operator before it
    activations: int | None = None  # so many of the first arguments are activations; None: all tensors
    tflm: ResultScale | None = None  # the result's scale under TFLM's contract, where it is another
    samples: bool = False  # the first argument has 16 bits, as sound is recorded


OWN = Treatment(OwnScale())
SHARED = Treatment(SharedScale())
LARGEST = Treatment(SharedScale(largest=True))
READ = Treatment(ReadOnly())
FUNCTION = Treatment(function=True)
CLAMP = Treatment(function=True, clamp=True)
AVERAGE = Treatment(OwnScale(), tflm=SharedScale())  # TFLM does not rescale averages
WITH_PARAMETERS = Treatment(OwnScale(), activations=1)  # a norm's own parameters stay as they are

_TREATMENTS: dict[str, Treatment] = {}


def or_function(treatment: Treatment) -> Treatment:
    """The same for several tensors; with one tensor and numbers it is a function."""
    return replace(treatment, function=True)


def quantized(treatment: Treatment, *aten: str) -> None:
    """Declare how overloads such as "add.Tensor" are quantized."""
    for name in aten:
        if name in _TREATMENTS:
            raise ValueError(f"how aten.{name} is quantized is declared twice")
        _TREATMENTS[name] = treatment


def treatment_of(aten: str | None) -> Treatment:
    return _TREATMENTS.get(aten or "", Treatment())


def treatments() -> dict[str, Treatment]:
    return dict(_TREATMENTS)
