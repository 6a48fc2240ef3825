"""Python's own control flow, which export unrolls, and torch.cond, while_loop and scan, which stay."""

from __future__ import annotations

from fuzz.maker import Maker


def _python(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    y = m.new()
    return m.add(
        m.choice(
            (
                "{y} = {x}\nfor k in range(3):\n    {y} = {y} * 0.5 + k",
                "if {x}.shape[-1] > 3:\n    {y} = {x}[..., :3]\nelse:\n    {y} = {x} * 2",
                "{y} = sum([{x} * k for k in range(1, 4)])",
                "{y} = {x} if self.training else {x} * 1.5",
                "parts = []\nfor k in range({x}.shape[0]):\n    parts.append({x}[k] * k)\n{y} = torch.stack(parts) + 1",
                "{y} = torch.zeros_like({x})\nfor k in range(2):\n    {y} = {y} + {x} / (k + 1)",
                "{y} = torch.cat([row.unsqueeze(0) * 2 for row in {x}])",
                "assert {x}.dim() > 0\n{y} = {x}.relu()",
                "{y} = {x}.clone()\nfor k in range({x}.shape[0]):\n    {y}[k] = {y}[k] * k + 1",
                "{y} = {x}.clone()\nfor k in range(1, {x}.shape[-1]):\n    {y}[..., k] += {y}[..., k - 1] * 0.5",
                "{y} = (lambda t: t.tanh() + t)({x})",
            )
        ).format(x=x, y=y)
    )


def _cond(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    then, other = m.choice(
        (("t * 2", "t - 1"), ("t.relu()", "t.tanh()"), ("t + 1", "-t"), ("t.sigmoid()", "t * 0.5 + 0.1"))
    )
    return m.add(f"{m.new()} = torch.cond({x}.sum() > 0, lambda t: {then}, lambda t: {other}, ({x},))")


def _while(m: Maker) -> bool:
    x = m.float(1)
    if x is None or not m.chance(0.5):
        return False
    i, y = m.new("i"), m.new()
    return m.add(
        f"from torch._higher_order_ops import while_loop\n"
        f"{i}, {y} = while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 0.5 + 1), "
        f"(torch.tensor(0), {x} * 1.0))"
    )


CONTROL = (_python, _python, _python, _cond, _while)
