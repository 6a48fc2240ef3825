"""Pointwise operators under MicroPython: promotion over all pairs of types, and values of every row."""

from __future__ import annotations

import itertools

import pytest

from support.micropython_compare import differences

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32")
SETUP = "\n".join([
    *(f"{name} = torch.tensor([1, 0, 5], dtype=torch.{name}); {name}_0 = torch.tensor(3, dtype=torch.{name})"
      for name in DTYPES),
    "x = torch.tensor([[1.0, -2.0, 3.5], [0.0, float('nan'), float('inf')]]); p = torch.tensor([0.2, 0.5, 0.9])",
    "y = torch.tensor([0.5, -1.5, 2.0]); i = torch.tensor([3, -7, 11]); j = torch.tensor([2, 3, -4])",
])
PAIRS = ("{0} + {1}", "{0} * {1}", "{0} / {1}", "torch.maximum({0}, {1})", "{0} < {1}", "torch.pow({1}, {0})")
NUMBERS = ("{0} + 2", "{0} * 2.5", "{0} - True", "{0} == 1", "{0} < 2.5", "{0} / 2", "{0} + 300", "{0} < -1", "2 - {0}")


def test_promotion_of_tensors() -> None:
    """Tensors with and without dimensions, in either order."""
    expressions = [
        text.format(a + s, b + t) for a, b in itertools.product(DTYPES, DTYPES) for text in PAIRS[:4 if a < b else 6]
        for s, t in (("", ""), ("", "_0"), ("_0", ""))
    ]
    assert not differences(SETUP, expressions)


def test_promotion_of_numbers() -> None:
    names = [name + s for name in DTYPES for s in ("", "_0")]
    assert not differences(SETUP, [text.format(name) for name in names for text in NUMBERS])


UNARY = """
abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac isfinite isinf
isnan isneginf isposinf lgamma log log10 log1p log2 logical_not logit neg rad2deg reciprocal relu round rsqrt selu sgn
sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc nan_to_num absolute arctan negative fix
"""
BINARY = """
add sub mul div floor_divide remainder fmod pow maximum minimum fmax fmin atan2 copysign eq ne lt le gt ge
logical_and logical_or logical_xor xlogy heaviside logaddexp logaddexp2 true_divide multiply greater arctan2
"""
OTHER = """
torch.clamp(i, 0, 5)
torch.clamp(i, 0.5, 5)
torch.clamp(x, max=2)
torch.clamp(x, 0, float('nan'))
torch.clamp(x, y, torch.tensor(2.0))
torch.clamp(x, min=torch.tensor([2, 1, 0]))
torch.clamp_min(x, 0)
torch.clamp_max(i, 2)
torch.add(x, y, alpha=0.1)
torch.sub(i, 2, alpha=3)
torch.rsub(y, 1, alpha=2)
torch.add(bool, bool, alpha=2)
torch.addcmul(x, y, y, value=1.5)
torch.addcmul(i, i, j, value=2)
torch.addcdiv(x, y, y)
torch.lerp(y, p, 0.7)
torch.lerp(y, p, p)
torch.round(x, decimals=1)
torch.round(torch.tensor([12345.0, 0.15]), decimals=-2)
torch.div(i, j, rounding_mode='trunc')
torch.div(i, j, rounding_mode='floor')
torch.div(x, y, rounding_mode='floor')
torch.nan_to_num(x, 1.0, 2.0, 3.0)
torch.where(i > 0, i, -1)
torch.where(uint8 > 0, uint8, -1)
torch.masked_fill(x, y > 0, torch.tensor(3))
uint8.masked_fill(uint8 > 0, -1)
torch.isclose(x, x, equal_nan=True)
torch.isclose(i, i + 1, atol=1.0)
torch.allclose(y, y)
torch.equal(i, j)
torch.logit(p, eps=0.3)
torch.celu(x, 2.0)
torch.prelu(x, y)
torch.nn.functional.gelu(y)
torch.nn.functional.gelu(x, approximate='tanh')
torch.nn.functional.elu(x, 1.5)
torch.nn.functional.softplus(x, 2, 1)
torch.nn.functional.leaky_relu(x, 0.1)
torch.nn.functional.hardtanh(i, -2, 2)
torch.nn.functional.relu6(x * 4)
torch.nn.functional.hardswish(x)
torch.nn.functional.hardsigmoid(y)
torch.nn.functional.silu(y)
torch.nn.functional.mish(y)
torch.nn.functional.logsigmoid(x)
torch.nn.functional.hardshrink(x, 0.7)
torch.nn.functional.softshrink(x, 0.7)
torch.nn.functional.threshold(i, 0, 5)
torch.bitwise_and(5, i)
i ^ j
~i
~uint8
~bool
i << 2
i >> 1
int8 << 9
torch.gcd(i, j)
torch.lcm(i, j)
torch.ldexp(y, j)
torch.remainder(5, i)
2.5 ** i
i ** 2
y ** 3
y ** -0.5
i.clone().copy_(torch.tensor([1.7, -2.7, 300.0]))
uint8.clone().copy_(torch.tensor([1.7, -2.7, 300.0]))
int8.clone().copy_(torch.tensor([1.0, 200.0, 3e9]))
x.clone().fill_(torch.tensor(2))
x.clone().zero_()
i.clone().lt_(2)
x.clone().clamp_(0, 1)
torch.eq(i, 3, out=torch.empty(0))
torch.mul(uint8 * 51, uint8, out=torch.empty(0))
torch.add(uint8 * 51, 3, out=torch.empty(0, dtype=torch.int64))
torch.square(int8 * 25, out=torch.empty(0))
torch.add(float16, 1e-3, out=torch.empty(0))
torch.div(bfloat16, 3, out=torch.empty(0))
torch.addcmul(int32, uint8 * 51, uint8)
torch.addcdiv(y, bfloat16, uint8 + 3)
torch.ldexp(float16, int32)
torch.ldexp(torch.tensor([1e-30, 1e30]), torch.tensor([200, -200]))
torch.ldexp(y, p)
torch.tensor([-2 ** 63]) // -1
torch.tensor([-2 ** 63]) % -1
(x.t() * torch.ones(3, 2)).t()
torch.arange(20000.0)[::3][-1] * 2
(torch.arange(20000) + 1)[-1]
float16 * 1.0002
bfloat16 + 100000
"""


def test_rows() -> None:
    one, two = ("x", "i", "bool", "float16", "p"), ("x, y", "i, j", "y, y", "bool, bool")
    expressions = [f"torch.{name}({operand})" for name in UNARY.split() for operand in one]
    expressions += [f"torch.{name}({operands})" for name in BINARY.split() for operands in two]
    assert not differences(SETUP, expressions)


def test_others() -> None:
    assert not differences(SETUP, [line for line in OTHER.splitlines() if line])
