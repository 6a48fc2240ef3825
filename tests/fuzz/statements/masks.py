"""Comparisons, booleans, where, and sizes that the data decide."""

from __future__ import annotations

import torch

from fuzz.maker import Maker

FROM_FLOAT = (
    "{x} > {c}",
    "{x}.ge({c})",
    "({x} > 0) & ({x} < 1)",
    "~({x} <= {c})",
    "torch.logical_or({x} < -1, {x} > 1)",
    "{x} != {x}.round()",
    "{x} > {x}.mean()",
    "torch.isfinite({x})",
    "({x} > 0) ^ ({x} > 1)",
)
USES = (
    "{x}.masked_fill({b}, {c})",
    "torch.where({b}, {x}, {c})",
    "torch.where({b}, {c}, {x} * 0.5)",
    "{x} * {b}",
    "{x} * {b}.to({x}.dtype)",
    "torch.where({b}, {x}, -{x})",
    "({x} * {b}).sum(-1)",
    "{x}.masked_fill(~{b}, 0.0)",
    "{x} * {b}.float() + {c}",
    "torch.where({b}, {x}, torch.tensor({c}))",
    "torch.where({b}, {x}, torch.zeros_like({x}))",
    "{x}.masked_fill({b}, -1e9).softmax(-1)",
    "({x} * {b}).sum() / {b}.sum().clamp(min=1)",
    "torch.where({b}, {x}.exp().clamp(max=4), {x})",
)


def _make(m: Maker) -> bool:
    x = m.float()
    return x is not None and m.add(f"{m.new('mask')} = {m.choice(FROM_FLOAT).format(x=x, c=m.number())}")


def _use(m: Maker) -> bool:
    b = m.pick(lambda t: t.dtype == torch.bool)
    if b is None:
        return _make(m)
    shape = m.value(b).shape

    def goes(t: torch.Tensor) -> bool:
        try:
            return t.is_floating_point() and torch.broadcast_shapes(shape, t.shape) == t.shape
        except RuntimeError:
            return False

    x = m.pick(goes)
    return x is not None and m.add(f"{m.new()} = {m.choice(USES).format(x=x, b=b, c=m.number())}")


def _logic(m: Maker) -> bool:
    b = m.pick(lambda t: t.dtype == torch.bool)
    return b is not None and m.add(
        f"{m.new('mask')} = "
        + m.choice(("~{b}", "{b} | ~{b}.flip(0)", "{b}.logical_not()", "{b} & {b}.roll(1)")).format(b=b)
    )


def _where(m: Maker) -> bool:
    """Three tensors of one shape."""
    x = m.float()
    if x is None:
        return False
    y = m.pick(lambda t: t.is_floating_point() and t.shape == m.value(str(x)).shape)
    return m.add(f"{m.new()} = torch.where({x} > {m.number()}, {x}, {y} * {m.number()})")


def _causal(m: Maker) -> bool:
    x = m.pick(lambda t: t.is_floating_point() and t.dim() >= 2 and t.shape[-1] == t.shape[-2])
    if x is None:
        return False
    n = m.value(x).shape[-1]
    return m.add(
        f"{m.new()} = {x}.masked_fill(torch.ones({n}, {n}, dtype=torch.bool).triu(1), "
        f"{m.choice((-1e4, -3.0, 0.0))}).softmax(-1)"
    )


def _chosen(m: Maker) -> bool:
    """As many elements as the data decide."""
    x = m.float(1)
    return (
        x is not None
        and m.chance(0.3)
        and m.add(
            f"{m.new()} = "
            + m.choice(
                (
                    f"{x}[{x} > 0].sum()",
                    f"{x}.masked_select({x} < 0).abs().amax()",
                    f"({x} > 0).nonzero().to({x}.dtype).sum()",
                )
            )
        )
    )


MASKS = (_make, _use, _use, _use, _logic, _where, _causal, _chosen)
