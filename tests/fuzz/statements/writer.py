"""The type that every family of statements is made of, and templates for the simplest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from fuzz.maker import Maker, Test

Writer = Callable[[Maker], bool]


def templates(texts: Sequence[str], test: Test, least: int = 0) -> Writer:
    """One of the texts with {x} a tensor that passes, {d} one of its dimensions, {c} and {k} numbers.

    What a text assigns to is written as {new}, {new2}; a text without any makes a new tensor as a whole."""

    def write(m: Maker) -> bool:
        x = m.pick(test)
        if x is None:
            return False
        text = m.choice(texts)
        dim = m.dim(x, least) if "{d}" in text else 0
        if dim is None:
            return False
        if "topk" in text and not _distinct(m.value(x), dim):
            return False  # PyTorch leaves open which of several equal elements it names
        if "{new}" not in text:
            text = f"{{new}} = {text}"
        size = m.value(x).shape[dim] if m.value(x).dim() else 1
        made = {"new": m.new(), "new2": m.new(), "new3": m.new()}
        return m.add(
            text.format(
                x=x, d=dim, c=m.number(), c2=m.number(0.1, 2.0), k=m.integer(1, max(1, size)), n=m.integer(2, 4), **made
            )
        )

    return write


def _distinct(t: torch.Tensor, dim: int) -> bool:
    return t.dim() == 0 or bool(t.sort(dim).values.diff(dim=dim).ne(0).all())


def is_float(t: object) -> bool:
    return t.is_floating_point()  # type: ignore[attr-defined, no-any-return]
