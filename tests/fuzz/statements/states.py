"""Buffers that a model changes: running averages, delays, ring buffers, counters, hidden states."""

from __future__ import annotations

from fuzz.maker import Maker

UPDATES = (
    "self.{n}.mul_(0.5).add_({x})",
    "self.{n} = self.{n} * 0.9 + {x} * 0.1",
    "self.{n}.copy_(self.{n} * 0.5 + {x})",
    "self.{n} += {x} * 0.2",
    "self.{n}.lerp_({x}, 0.3)",
    "self.{n} = torch.maximum(self.{n} * 0.8, {x})",
    "self.{n}.add_({x}).mul_(0.7)",
    "self.{n}[...] = {x} - self.{n} * 0.5",
    "self.{n} = (self.{n} + {x}).tanh()",
    "self.{n}.copy_({x})",
    "self.{n}.sub_({x}).clamp_(-2, 2)",
    "self.{n}.view(-1).mul_(0.5).add_({x}.flatten())",
    "self.{n} *= 0.5\nself.{n} += {x}",
    "self.{n}.data = self.{n}.data * 0.5 + {x}",
    "self.{n}.mul_(0.5)\nself.{n}[:1].add_({x}[:1])",
    "self.{n}.set_(self.{n} * 0.5 + {x})",
)
_SIMPLE = UPDATES[:13] + UPDATES[14:15]


def _average(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    name = m.layer(m.choice(("h", "state", "avg", "memory", "prev")))
    start = m.choice(("torch.zeros({s})", "torch.ones({s})", "torch.randn({s})")).format(s=list(m.value(x).shape))
    update = m.choice(_SIMPLE).format(n=name, x=x)
    use = m.choice(
        ("", f"\n{m.new()} = self.{name} * 2", f"\n{m.new()} = {x} - self.{name}", f"\n{m.new()} = self.{name}.clone()")
    )
    first = f"{m.new('old')} = self.{name}{m.choice(('.clone()', ' * 1.0', '', ' + 1'))}\n" if m.chance(0.3) else ""
    return m.add(first + update + use, [f'self.register_buffer("{name}", {start})'], state=f"self.{name}")


def _ring(m: Maker) -> bool:
    """The last few inputs, shifted by one every call."""
    x = m.float(1)
    if x is None:
        return False
    shape = m.value(x).shape
    name, depth, y = m.layer(m.choice(("ring", "delay", "history"))), m.integer(2, 4), m.new()
    body = m.choice(
        (
            "self.{n} = torch.cat([self.{n}[1:], {x}[None]])",
            "self.{n}.copy_(torch.roll(self.{n}, 1, 0))\nself.{n}[0] = {x}",
            "self.{n}[:-1] = self.{n}[1:].clone()\nself.{n}[-1].copy_({x})",
            "self.{n} = self.{n}.roll(-1, 0)\nself.{n}[-1] = {x}",
        )
    ).format(n=name, x=x)
    use = m.choice(
        (
            f"{y} = self.{name}.mean(0)",
            f"{y} = self.{name}[-1] - self.{name}[0]",
            f"{y} = self.{name}.flatten(1)",
            f"{y} = self.{name}.sum(0) * 0.5",
        )
    )
    return m.add(
        f"{body}\n{use}", [f'self.register_buffer("{name}", torch.zeros({[depth, *shape]}))'], state=f"self.{name}"
    )


def _counter(m: Maker) -> bool:
    x = m.float()
    if x is None:
        return False
    name = m.layer(m.choice(("count", "step", "n")))
    body = m.choice(
        (
            "self.{n} += 1\n{y} = {x} * self.{n}",
            "self.{n}.add_(1)\n{y} = {x} / self.{n}",
            "{y} = {x} + self.{n} * 0.1\nself.{n} = self.{n} + 2",
            "self.{n}.add_(1)\n{y} = torch.where(self.{n} > 2, {x}, -{x})",
        )
    )
    return m.add(body.format(n=name, x=x, y=m.new()), [f'self.register_buffer("{name}", torch.tensor(0))'])


def _streaming_rnn(m: Maker) -> bool:
    """A recurrent cell whose state lives on between calls."""
    x = m.float(2, 2)
    if x is None:
        return False
    n, d = m.value(x).shape
    name, cell, hidden = m.layer("hidden"), m.layer("cell"), m.integer(1, 5)
    kind = m.choice(("GRUCell", "RNNCell"))
    body = m.choice(
        (f"self.{name} = self.{cell}({x}, self.{name})", f"self.{name}.copy_(self.{cell}({x}, self.{name}))")
    )
    return m.add(
        f"{body}\n{m.new()} = self.{name} * 1.0",
        [f"self.{cell} = nn.{kind}({d}, {hidden})", f'self.register_buffer("{name}", torch.zeros({n}, {hidden}))'],
        state=f"self.{name}",
    )


STATES = (_average, _average, _average, _ring, _counter, _streaming_rnn)
