"""Grows a program: a statement is run as soon as it is written, and dropped where PyTorch refuses it."""

from __future__ import annotations

import keyword
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from fuzz.program import Input, Statement

Test = Callable[[torch.Tensor], bool]
LARGEST = 3000  # elements of a tensor
HUGE = 200.0
DTYPES = (torch.float32, torch.int64, torch.int32, torch.bool, torch.complex64)
LAYER_NAMES = (
    "conv",
    "fc",
    "norm",
    "block",
    "head",
    "stem",
    "model",
    "out",
    "proj",
    "switch",
    "data",
    "layer_0",
    "relu",
)


class Maker:
    """What exists at this point of forward: the names of tensors with values, and a module with its layers."""

    def __init__(self, seed: int, quantized: bool):
        self.random = random.Random(seed)
        self.seed, self.quantized = seed, quantized
        self.statements: list[Statement] = []
        self.inputs: list[Input] = []
        self.states: list[str] = []  # expressions of buffers that change
        self.used: set[str] = set()
        self.count = 0
        self.layer_count = 0
        self.scope: dict[str, Any] = {}
        self.begin()

    def begin(self) -> None:
        torch.manual_seed(self.seed)
        self.scope = {"torch": torch, "F": F, "nn": nn, "self": nn.Module()}
        generator = torch.Generator().manual_seed(self.seed)
        self.scope["g"] = generator
        for given in self.inputs:
            exec(f"{given.name} = {given.make}", self.scope)

    def give(self, name: str, make: str, place: str = "") -> str:
        """Another input."""
        self.inputs.append(Input(name, make, place))
        exec(f"{name} = {make}", self.scope)
        return name

    def new(self, prefix: str = "") -> str:
        self.count += 1
        return f"{prefix or self.random.choice(('x', 'y', 'z', 'a', 'h', 'u'))}{self.count}"

    def layer(self, prefix: str = "") -> str:
        self.layer_count += 1
        name = prefix or self.random.choice(LAYER_NAMES)
        taken = {line.partition("=")[0].strip() for s in self.statements for line in s.init}
        if f"self.{name}" in taken or keyword.iskeyword(name) or hasattr(nn.Module, name) or self.random.random() < 0.5:
            name = f"{name}{self.layer_count}"
        return name

    # choices

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choice(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def number(self, low: float = -1.5, high: float = 1.5) -> float:
        return round(self.random.uniform(low, high), 2) or 0.5

    def value(self, name: str) -> torch.Tensor:
        found = eval(name, self.scope)
        assert isinstance(found, torch.Tensor)
        return found

    def names(self, test: Test = lambda t: t.is_floating_point()) -> list[str]:
        found = [k for k, v in self.scope.items() if k != "_" and isinstance(v, torch.Tensor) and test(v)]
        return found + [s for s in self.states if test(self.value(s))]

    def pick(self, test: Test = lambda t: t.is_floating_point()) -> str | None:
        """A name whose value passes; newer and unused ones more often."""
        found = self.names(test)
        if not found:
            return None
        weights = [1.0 + 2.0 * k / len(found) + (3.0 if name not in self.used else 0.0) for k, name in enumerate(found)]
        return self.random.choices(found, weights)[0]

    def float(self, least: int = 0, most: int = 9) -> str | None:
        return self.pick(lambda t: t.is_floating_point() and least <= t.dim() <= most)

    def dim(self, name: str, least: int = 1) -> int | None:
        """A dimension of at least that size, counted from the front or from the back."""
        t = self.value(name)
        dims = [d for d in range(t.dim()) if t.shape[d] >= least]
        if not dims:
            return None
        d = self.choice(dims)
        return int(d - t.dim() if self.chance(0.4) else d)

    # growing

    def add(self, body: str, init: Sequence[str] = (), classes: Sequence[str] = (), state: str = "") -> bool:
        """Run a statement and keep it where PyTorch takes it and its results are fit to go on with."""
        statement = Statement(body, tuple(init), tuple(classes))
        before = set(self.scope)
        if not self.run(statement) or not self.fit():
            self.replay()
            return False
        self.statements.append(statement)
        self.used |= {name for name in before if name in body}
        if state:
            self.states.append(state)
        return True

    def run(self, statement: Statement) -> bool:
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("error" if "expand" not in statement.body else "ignore")
                for text in statement.classes:
                    exec(text, self.scope)
                for line in statement.init:
                    exec(line, self.scope)
                self.scope["self"].eval()
                exec(statement.body, self.scope)
        except Exception:  # whatever PyTorch says, this statement does not fit here
            return False
        return True

    def fit(self) -> bool:
        """Sizes and values a microcontroller's model could have."""
        for name in self.names(lambda t: True):
            t = self.value(name)
            if t.dtype not in DTYPES or not 0 < t.numel() <= LARGEST or t.dim() > 5:
                return False
            inexact = t.is_floating_point() or t.is_complex()
            if inexact and not (bool(t.isfinite().all()) and float(t.abs().max()) <= HUGE):
                return False
        return True

    def replay(self) -> None:
        """Back to the kept statements: the refused one may have changed tensors in place."""
        self.begin()
        for statement in self.statements:
            self.run(statement)
