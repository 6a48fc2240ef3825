"""Sums, extremes, orders and scans along dimensions."""

from __future__ import annotations

from fuzz.maker import Maker
from fuzz.statements.writer import is_float, templates

ALONG = (
    "{x}.mean({d})",
    "{x}.sum({d}, keepdim=True)",
    "{x}.amax({d})",
    "torch.amin({x}, {d}, keepdim=True)",
    "{x}.max({d}).values",
    "{x}.min({d})[0]",
    "torch.softmax({x}, {d})",
    "F.log_softmax({x}, dim={d})",
    "{x}.cumsum({d})",
    "{x}.norm(dim={d})",
    "torch.logsumexp({x}, {d})",
    "{x}.std({d})",
    "{x}.var({d}, unbiased=False)",
    "F.normalize({x}, dim={d})",
    "{x}.mean({d}, keepdim=True) * {x}",
    "{x} - {x}.mean({d}, keepdim=True)",
    "{x}.softmax({d})",
    "{x}.abs().sum({d})",
    "torch.mean({x}, dim=(0, -1))",
    "{x}.sum((-1,), keepdim=True)",
    "{x}.prod({d})",
    "{x}.cummax({d}).values",
    "{x}.cumprod({d})",
    "F.softmin({x}, {d})",
    "{x}.square().mean({d}).sqrt()",
    "{x}.mean(-1, keepdim=True).expand_as({x})",
    "torch.linalg.vector_norm({x}, dim={d})",
    "{x}.nanmean({d})",
    "{x}.sum()",
    "{x}.mean()",
    "{x}.amax()",
)
ORDERED = (
    "{new}, {new2} = {x}.topk(min(2, {x}.shape[{d}]), {d})",
    "{new} = {x}.sort({d}).values",
    "{new}, {new2} = torch.sort({x}, {d}, descending=True)",
    "{new} = {x}.topk({k}, dim={d})[0]",
    "{new}, {new2} = {x}.cummax({d})",
    "{new} = {x}.gather({d}, {x}.argsort({d}))",
    "{new}, {new2} = {x}.max({d})",
    "{new} = {x}.argmax({d})",
    "{new} = torch.argmin({x}, {d}, keepdim=True)",
    "{new} = {x}.argsort({d})",
    "{new} = {x}.median({d}).values",
    "{new} = {x}.kthvalue(1, {d}).values",
    "{new}, {new2} = torch.min({x}, {d}, keepdim=True)",
    "{new}, {new2} = {x}.topk({k}, {d}, largest=False)\n{new3} = {x}.gather({d}, {new2}) * 2",
    "{new} = torch.cummin({x}, {d})[0]",
    "{new} = ({x} > 0).sum({d})",
    "{new} = ({x} > 0).any({d})",
    "{new} = ({x} < 1).all({d})",
    "{new} = torch.count_nonzero({x} > 0, {d})",
)


def _whole(m: Maker) -> bool:
    x = m.float(3, 4)
    return x is not None and m.add(
        f"{m.new()} = "
        + m.choice(
            (
                f"{x}.mean((-2, -1))",
                f"{x}.amax((-1, -2), keepdim=True)",
                f"{x}.flatten(1).sum(1)",
                f"{x}.mean((0, 2))",
                f"{x}.flatten(-2).max(-1).values",
                f"F.adaptive_avg_pool1d({x}.flatten(2), 1)",
                f"{x}.std((-2, -1))",
            )
        )
    )


REDUCTIONS = (templates(ALONG, is_float, 2),) * 5 + (templates(ORDERED, is_float, 2),) * 2 + (_whole,)
