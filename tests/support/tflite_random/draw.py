"""A model in the making, and the lists of what is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.support.tflite_models import GraphSpec, write_model

Maker = Callable[["Draw"], None]
INT8_CASES: dict[str, Maker] = {}
INT16_CASES: dict[str, Maker] = {}
FLOAT_CASES: dict[str, Maker] = {}
UINT8_CASES: dict[str, Maker] = {}
HYBRID_CASES: dict[str, Maker] = {}  # floats with int8 weights


def case(cases: dict[str, Maker], *names: str) -> Callable[[Maker], Maker]:
    def wrap(maker: Maker) -> Maker:
        for name in names:
            assert name not in cases, name
            cases[name] = maker
        return maker

    return wrap


class Draw:
    """A model in the making and where its random choices come from."""

    def __init__(self, seed: int, name: str, kind: str = "INT8"):
        self.rng = np.random.default_rng(seed)
        self.name, self.hybrid = name, kind == "HYBRID"
        self.kind = "FLOAT32" if self.hybrid else kind
        self.graph = GraphSpec()

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, *choices: Any) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def scale(self, low: float = 0.002, high: float = 0.4) -> float:
        return float(np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def zero(self) -> int:
        if self.kind == "INT16":
            return 0
        if self.kind == "UINT8":
            return self.pick(0, 255, 128, self.integer(0, 255))
        return self.pick(0, -128, 127, self.integer(-128, 127), self.integer(-20, 20))

    def shape(self, least: int = 1, most: int = 4, size: int = 7) -> tuple[int, ...]:
        return tuple(self.integer(1, size) for _ in range(self.integer(least, most)))

    def image(self, size: int = 9, channels: int = 9) -> tuple[int, int, int, int]:
        return self.pick(1, 1, 1, 2), self.integer(1, size), self.integer(1, size), self.integer(1, channels)

    def broadcast(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast to this one."""
        if self.chance(0.6):
            return tuple(shape), tuple(shape)
        first = self.integer(0, len(shape) - 1) if self.chance() else 0
        other = tuple(1 if self.chance(0.4) else n for n in shape)[first:]
        return (tuple(shape), other) if self.chance() else (other, tuple(shape))

    def numbers(self, shape: Sequence[int]) -> np.ndarray:
        if self.kind == "FLOAT32":
            return self.rng.standard_normal(shape).astype(np.float32)
        limits = np.iinfo(self.kind.lower())
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(limits.dtype)

    def affine(self, scale: float | None = None, zero: int | None = None) -> dict[str, Any]:
        if self.kind == "FLOAT32":
            return {}
        return {"scale": self.scale() if scale is None else scale, "zero": self.zero() if zero is None else zero}

    def input(self, shape: Sequence[int], **affine: Any) -> int:
        return self.graph.input(shape, self.kind, **(affine or self.affine()))

    def operand(self, shape: Sequence[int], constant: float = 0.2, **affine: Any) -> int:
        """An input, or sometimes a constant."""
        if self.chance(constant):
            return self.graph.tensor(shape, self.kind, data=self.numbers(shape), **(affine or self.affine()))
        return self.input(shape, **affine)

    def result(self, shape: Sequence[int], kind: str | None = None, **affine: Any) -> int:
        kind = kind or self.kind
        given = affine or (self.affine() if kind == self.kind else {})
        index = self.graph.tensor(shape, kind, **given)
        self.graph.outputs.append(index)
        return index

    def like(self, index: int) -> dict[str, Any]:
        """The scale of another tensor."""
        tensor = self.graph.tensors[index]
        return {"scale": tensor.scale, "zero": tensor.zero}

    def kept(self, x: int, shape: Sequence[int]) -> int:
        """A result with the type and the scale of an input."""
        tensor = self.graph.tensors[x]
        y = self.graph.tensor(shape, tensor.type, **(self.like(x) if tensor.scale else {}))
        self.graph.outputs.append(y)
        return y

    def ints(self, data: Any) -> int:
        return self.graph.constant(np.asarray(data, np.int32))

    def activation(self) -> int:
        return self.pick(0, 0, 1, 2, 3)

    def call(self, inputs: Sequence[int], outputs: Sequence[int], name: str | None = None, **options: Any) -> None:
        self.graph.call(name or self.name, inputs, outputs, **options)

    def bytes(self) -> bytes:
        return write_model(self.graph)


def both(*names: str) -> Callable[[Maker], Maker]:
    """A case for int8 and floats."""

    def wrap(maker: Maker) -> Maker:
        case(FLOAT_CASES, *names)(maker)
        return case(INT8_CASES, *names)(maker)

    return wrap


def every(*names: str) -> Callable[[Maker], Maker]:
    """A case for int8, int16 and floats."""

    def wrap(maker: Maker) -> Maker:
        return case(INT16_CASES, *names)(both(*names)(maker))

    return wrap


def windowed(size: int, kernel: int, stride: int, dilation: int, same: bool) -> int:
    reach = (kernel - 1) * dilation + 1
    return -(-size // stride) if same else (size - reach) // stride + 1
