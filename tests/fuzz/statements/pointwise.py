"""Functions of each element, of one tensor and of two."""

from __future__ import annotations

import torch

from fuzz.maker import Maker
from fuzz.statements.writer import is_float, templates

ONE = (
    "torch.relu({x})",
    "F.relu({x})",
    "{x}.relu()",
    "F.gelu({x})",
    "F.gelu({x}, approximate='tanh')",
    "{x}.tanh()",
    "torch.sigmoid({x})",
    "{x}.abs()",
    "{x} * {c} + {c2}",
    "1 - {x}",
    "{x}.clamp(-0.5, 0.7)",
    "F.hardtanh({x})",
    "torch.where({x} > 0, {x}, {x} * 0.1)",
    "{x}.square()",
    "({x}.abs() + 0.1).sqrt()",
    "torch.exp(-{x}.abs())",
    "({x}.abs() + 1).log()",
    "torch.sin({x})",
    "{x}.cos()",
    "F.softplus({x})",
    "F.silu({x})",
    "F.hardswish({x})",
    "F.leaky_relu({x}, 0.2)",
    "F.elu({x})",
    "F.hardsigmoid({x})",
    "F.mish({x})",
    "{x}.pow(2)",
    "{x} ** 3 / 4",
    "torch.atan({x})",
    "-{x}",
    "torch.erf({x})",
    "{x}.clamp(min={c})",
    "torch.clamp({x}, max={c})",
    "F.relu6({x})",
    "{x} / {c2}",
    "torch.rsqrt({x} * {x} + 1)",
    "F.selu({x})",
    "F.softsign({x})",
    "F.tanhshrink({x})",
    "F.softshrink({x}, 0.3)",
    "{c} * {x}.sigmoid()",
    "{x} * torch.sigmoid({x})",
    "{x}.mul({c}).add({c2})",
    "{x}.float() * {c}",
    "torch.sub({c}, {x}, alpha={c2})",
    "({x} - {x}.mean()) / ({x}.std() + 0.1)",
    "torch.nan_to_num({x})",
    "F.dropout({x}, 0.3, self.training)",
    "F.logsigmoid({x})",
    "F.celu({x}, 0.7)",
    "{x}.to(torch.float32)",
    "{x}.detach() * {c}",
    "torch.asinh({x})",
    "{x}.sinh() / 4",
    "{x}.expm1().clamp(max=3)",
)
LAYERS = (
    "nn.ReLU()",
    "nn.GELU()",
    "nn.SiLU()",
    "nn.Hardswish()",
    "nn.LeakyReLU(0.1)",
    "nn.PReLU()",
    "nn.Tanh()",
    "nn.Sigmoid()",
    "nn.ReLU6()",
    "nn.Softplus()",
    "nn.ELU()",
    "nn.Identity()",
    "nn.Dropout(0.2)",
    "nn.Hardsigmoid()",
)
JUMPS = (
    "{x}.round()",
    "{x}.floor()",
    "torch.sign({x})",
    "({x} > {c}).to({x}.dtype) * {x}",
    "torch.trunc({x} * 2)",
    "{x} % 1.5",
    "({x} >= {c}).float()",
)
TWO = (
    "{x} + {y}",
    "torch.mul({x}, {y})",
    "{x}.sub({y})",
    "torch.maximum({x}, {y})",
    "torch.min({x}, {y})",
    "{x} / ({y}.abs() + 0.5)",
    "torch.lerp({x}, {y}, 0.3)",
    "torch.where({x} > {y}, {x}, {y} * 0.5)",
    "torch.atan2({x}, {y})",
    "torch.hypot({x}, {y})",
    "{x}.addcmul({y}, {x}, value=0.5)",
    "{x} * {y}.sigmoid()",
    "torch.add({x}, {y}, alpha=0.5)",
    "torch.sub({x}, {y}, alpha=2)",
    "{x}.mul({y}) + {y}",
    "torch.fmod({x}, {y}.abs() + 1)",
    "torch.stack(torch.broadcast_tensors({x}, {y})).amax(0)",
    "F.relu({x} + {y})",
    "torch.addcdiv({x}, {y}, {y}.abs() + 1)",
)


def _layer(m: Maker) -> bool:
    x = m.float()
    name = m.layer()
    return x is not None and m.add(f"{m.new()} = self.{name}({x})", [f"self.{name} = {m.choice(LAYERS)}"])


def _two(m: Maker) -> bool:
    """Two tensors that broadcast."""
    x = m.float()
    if x is None:
        return False
    shape = m.value(x).shape

    def goes(t: torch.Tensor) -> bool:
        try:
            torch.broadcast_shapes(shape, t.shape)
        except RuntimeError:
            return False
        return t.is_floating_point()

    y = m.pick(goes)
    if y is None:
        return False
    x, y = (x, y) if m.chance(0.5) else (y, x)
    return m.add(f"{m.new()} = {m.choice(TWO).format(x=x, y=y)}")


def _parameter(m: Maker) -> bool:
    """With a parameter or buffer that broadcasts, also of no dimension."""
    x = m.float()
    if x is None:
        return False
    shape = [s if m.chance(0.6) else 1 for s in m.value(x).shape]
    shape = shape[m.integer(0, len(shape)) :]
    name = m.layer(m.choice(("scale", "bias", "gain", "weight", "offset")))
    make = f"torch.randn({shape}) * 0.5 + 1" if shape else f"torch.tensor({m.number()})"
    held = m.choice(
        (f"self.{name} = nn.Parameter({make})", f'self.register_buffer("{name}", {make})', f"self.{name} = {make}")
    )
    text = m.choice(
        (
            "{x} * self.{n}",
            "{x} + self.{n}",
            "self.{n} - {x}",
            "{x} / (self.{n}.abs() + 0.5)",
            "torch.maximum({x}, self.{n})",
        )
    )
    return m.add(f"{m.new()} = {text.format(x=x, n=name)}", [held])


def _zero_dim(m: Maker) -> bool:
    """Standardisation and friends: tensors without dimensions."""
    x = m.float(1)
    if x is None:
        return False
    a, b = m.new(), m.new()
    return m.add(
        m.choice(
            (
                "{a} = {x}.mean()\n{b} = ({x} - {a}) / ({x}.std() + 0.1)",
                "{a} = {x}.amax()\n{b} = {x} / ({a}.abs() + 0.5)",
                "{a} = {x}.flatten()[0]\n{b} = {x} * {a}",
                "{a} = {x}.norm()\n{b} = {x} / ({a} + 0.1)",
                "{a} = {x}.min()\n{b} = ({x} - {a}) * 0.5",
                "{a} = {x}.sum() * 0.1\n{b} = torch.tanh({a}) + {x}",
            )
        ).format(x=x, a=a, b=b)
    )


def _aminmax(m: Maker) -> bool:
    x = m.float(1)
    if x is None:
        return False
    low, high = m.new(), m.new()
    return m.add(f"{low}, {high} = torch.aminmax({x})\n{m.new()} = ({x} - {low}) / ({high} - {low} + 0.1)")


POINTWISE = (templates(ONE, is_float),) * 5 + (
    templates(JUMPS, is_float),
    _layer,
    _two,
    _two,
    _two,
    _parameter,
    _zero_dim,
    _aminmax,
)
