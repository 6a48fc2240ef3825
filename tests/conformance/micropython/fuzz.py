"""Calls with arguments drawn at random from an operator's schema, some of them nonsense."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torchgen.model import BaseTy, BaseType, ListType, OptionalType, Type

from conformance.micropython.samples import Sample, build
from conformance.micropython.text import DTYPES
from pilotlight.micropython.composed import covered
from pilotlight.micropython.schemas import overloads

# PyTorch itself may read or write where it must not with such arguments; strides of empty tensors are not part of a
# text, and addresses differ.
DANGEROUS = ("as_strided", "stride", "set_", "resize", "from_file", "data_ptr", "native_batch_norm", "ctc_loss")
# PyTorch forgets flags of the first that are given by place, and the others want sorted tensors.
UNDEFINED = ("unique_consecutive", "bucketize", "searchsorted")
HUGE = (2**31 - 1, 2**31, -(2**31), 2**33, 2**40, 2**62, -(2**63), 2**63 - 1, 2**70)


class Draws:
    """Arguments from one seed; `wild` mixes in huge numbers and values of other types."""

    def __init__(self, seed: int, wild: bool):
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.wild = wild

    def tensor(self) -> torch.Tensor:
        draw = self.random
        sizes = [draw.choice((0, 1, 1, 2, 2, 3, 3, 4)) for _ in range(draw.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5)))]
        dtype = draw.choice([torch.float32] * 4 + list(DTYPES))
        x = torch.randint(-5, 6, sizes, generator=self.generator)
        x = (x / 2).to(dtype) if dtype.is_floating_point else x.to(dtype)
        kind = draw.randrange(8)
        if kind == 0 and x.dim() > 1:
            return x.transpose(0, -1)
        if kind == 1 and x.dim():
            return x[::2]
        if kind == 2 and x.dim() and x.shape[0] == 1:
            return x.expand(3, *x.shape[1:])
        if kind == 3 and x.dim() and x.shape[-1] > 1:
            return x[..., 1:]
        return x

    def number(self) -> Any:
        return self.random.choice((-3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4))

    def value(self, type_: Type, made: list[torch.Tensor]) -> Any:
        draw = self.random
        if self.wild and draw.random() < 0.08:
            return draw.choice((None, "x", 1.5, (), [], [1, "a"], True, -1, {}, torch.ones(2), [torch.ones(1)],
                                torch.float32, slice(1), *HUGE))
        if isinstance(type_, OptionalType):
            return None if draw.random() < 0.5 else self.value(type_.elem, made)
        if isinstance(type_, ListType):
            count = type_.size if type_.size and draw.random() < 0.7 else draw.randrange(4)
            return [self.value(type_.elem, made) for _ in range(count)]
        assert isinstance(type_, BaseType)
        if type_.name == BaseTy.Tensor:
            x = draw.choice(made) if made and draw.random() < 0.3 else self.tensor()
            if made and draw.random() < 0.4:  # the same shape, or one that broadcasts
                x = (torch.randint(0, 4, made[0].shape, generator=self.generator)).to(made[0].dtype)
            made.append(x)
            return x
        if type_.name in (BaseTy.int, BaseTy.SymInt):
            return draw.choice(HUGE) if self.wild and draw.random() < 0.15 else self.number()
        if type_.name == BaseTy.Scalar:
            return draw.choice((self.number(), 0.5, -2.5, True, *((float("nan"), float("inf")) if self.wild else ())))
        if type_.name == BaseTy.float:
            return draw.choice((0.5, 1.0, -1.5, 2, *((float("inf"),) if self.wild else ())))
        if type_.name == BaseTy.bool:
            return draw.random() < 0.5
        if type_.name == BaseTy.ScalarType:
            return draw.choice(list(DTYPES))
        if type_.name == BaseTy.str:
            return draw.choice(("mean", "sum", "floor", "trunc", "none", "same", "reflect", "ij", "x"))
        return None


def _function(name: str) -> Callable[..., Any] | None:
    for place in (torch, torch.Tensor):
        found = getattr(place, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def calls(seed: int, count: int, wild: bool) -> Iterator[Sample]:
    """`wild` ones are for MicroPython alone: they only must not crash it."""
    draws = Draws(seed, wild)
    known = [overloads()[name] for name in sorted(covered())]
    left_out = DANGEROUS + UNDEFINED
    chosen = [o for o in known if not o.operator.startswith(left_out) and _function(o.operator) is not None]
    for index in range(count):
        overload = draws.random.choice(chosen)
        function = _function(overload.operator)
        assert function is not None
        made: list[torch.Tensor] = []
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        keyword = {a.name for a in overload.schema.arguments.flat_kwarg_only}
        for argument in overload.schema.arguments.flat_non_out:
            if argument.default is not None and draws.random.random() < 0.5:
                if argument.name not in keyword:
                    break
                continue
            given = draws.random.randrange(3) if argument.name == "reduction" else draws.value(argument.type, made)
            if argument.name in keyword:
                kwargs[argument.name] = given
            else:
                args.append(given)
        if overload.outs == 1 and draws.random.random() < 0.15:
            shared = wild and made and draws.random.random() < 0.4
            kwargs["out"] = draws.random.choice(made) if shared else draws.tensor()
        if not args:
            continue
        case = build(overload.operator, "random", index, "", function, tuple(args), kwargs)
        if isinstance(case, Sample) and not case.random:
            yield case
