"""Calls by PyTorch's schemas under MicroPython: forms of arguments, and the errors for wrong ones."""

from __future__ import annotations

import contextlib
import io
import warnings

import pytest

from support.micropython_compare import differences
from support.micropython_scripts import output

pytestmark = pytest.mark.filterwarnings("ignore")
SETUP = "a = torch.ones(2, 3); i = torch.arange(3); b = i > 1; z = torch.tensor(2.5)"

FORMS = """
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2, 3])
torch.zeros(size=(2, 3))
torch.zeros(a.shape)
torch.zeros(())
torch.zeros(torch.tensor(3))
torch.ones(3, dtype=torch.int8)
torch.ones(2, device='cpu', layout=torch.strided, pin_memory=False)
torch.ones(2, requires_grad=True).requires_grad
torch.zeros(2, out=torch.ones(2))
a.view(3, 2)
a.view((3, 2))
a.view(size=(3, 2))
a.view(-1)
a.permute(1, 0)
a.permute((1, 0))
a.permute(dims=[1, 0])
torch.permute(a, (1, 0))
a.repeat(2, 1)
a.flip(0, 1)
a.sum(0)
a.sum((0, 1))
a.sum([0, 1], True)
a.sum(dim=0, keepdim=True)
a.sum(axis=0, keepdims=True)
torch.sum(x=a, axis=0)
torch.add(x=a, x2=a)
torch.add(input=a, other=2, alpha=3)
torch.add(2, a)
torch.add(1, 2)
torch.add(a, z, alpha=torch.tensor(3))
torch.mul(2, i)
torch.max(a, 1)
torch.max(a, dim=1, keepdim=True)
torch.max(a)
torch.max(a, a)
torch.max(a, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))
torch.add(a, 1, out=torch.empty(0))
torch.add(a, 1, out=torch.empty(2, 2, 2, 2))
torch.add(i, 1, out=torch.empty(3))
torch.softmax(a, 1, torch.float32)
torch.arange(3)
torch.arange(1, 3, 0.5)
torch.where(b, 1, 2.5)
i.where(b, 7)
a.clamp(None, 0.5)
a.clamp(max=1)
torch.cat((a, a), 1)
torch.cat(tensors=[a, a], dim=-1)
torch.round(a, decimals=1)
torch.div(a, 2, rounding_mode='floor')
torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2), None, 2, (1, 1))
torch.zeros_like(a, dtype=torch.int8, memory_format=torch.preserve_format)
"""

WRONG = """
torch.relu(1)
torch.relu()
torch.relu(a, 1)
torch.relu(a, b=2)
torch.add(a, 'x')
torch.add(a, None)
torch.add(a, b=1)
torch.add(a, 1, alpha='x')
torch.add(i, 1, alpha=1.5)
torch.add(i, 1, alpha=True)
torch.exp(a, out=1)
a.exp(out=a)
a.exp(1)
a.sum(0, 1)
a.softmax('x')
a.softmax(1.5)
a.softmax(True)
torch.softmax(a, 5)
torch.softmax(a, -3)
torch.zeros(2, 'x')
torch.zeros(2.0)
torch.zeros((2, 3.0))
torch.ones(3, dtype=3)
torch.permute(a, 0, 1)
torch.flip(a, 0)
torch.cat(a)
torch.cat([a, 1])
torch.cat([a], dim='x')
torch.flatten(a, 'x')
torch.clamp(a)
torch.clamp(a, min='s')
torch.div(a, 2, rounding_mode='x')
torch.eq(a, 'x')
torch.mul(None, a)
a.transpose(0)
torch.sum(a, [0, 0])
torch.sum(a, dim='N')
torch.ones(3).mul_(torch.ones(2, 3))
a.mul_(torch.ones(3, 1))
a.mul_(torch.ones(5))
i.add_(1.5)
b.add_(1)
torch.add(i, 1.5, out=i)
torch.exp(i, out=i)
torch.ones(1).expand(3).add_(1)
(lambda x: x[1:].add_(x[:3]))(torch.ones(4))
torch.sub(b, b)
1 - b
-b
i // 0
i % 0
torch.fmod(i, 0)
i ** -1
i + 2 ** 70
torch.tensor([1, 2], dtype=torch.int8).fill_(300)
torch.tensor([1], dtype=torch.uint8).clamp(-1, 300)
torch.relu(b)
torch.hypot(i, i)
torch.gcd(a, a)
torch.nn.functional.gelu(i)
"""


def _expressions(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_forms_of_arguments() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns about outputs that it resizes
        assert not differences(SETUP, _expressions(FORMS))


def test_types_of_exceptions() -> None:
    assert not differences(SETUP, _expressions(WRONG))


IN_PLACE = """
torch.arange(4.0).sin_()
torch.sqrt_(torch.arange(4.0))
torch.nn.functional.elu_(torch.tensor([-1.0, 2.0]))
torch.arange(4).bitwise_and_(2)
torch.arange(1, 4).bitwise_left_shift_(torch.arange(3))
torch.arange(4.0).pow_(2).clamp_(max=5).unsqueeze_(0)
(lambda x: (x.requires_grad_, x.cumsum_(0))[1])(torch.ones(3))
(lambda x: x.t_().transpose_(0, 1).copy_(2 * a))(torch.ones(2, 3))
[hasattr(a, n) for n in ('sin_', 'elu_', 'sum_', 'matmul_', '_', 'sin__', 'bitwise_or_', 'where_', 'view_', 'item_')]
[hasattr(torch, n) for n in ('sin_', 'selu_', 'add_', 'bitwise_or_', 'cumsum_', 'xlogy_', 'sum_')]
a.sin_(out=a)
a.sin_(1)
torch.relu_(1)
i.sin_()
2 ** i.pow_(2)
b.add_(b, alpha=2)
a.where_(b, a)
"""


def test_operators_in_place_without_entries_of_their_own() -> None:
    assert not differences(SETUP, _expressions(IN_PLACE))


CHANGED = """\
import torch
a, b, i = torch.ones(3), torch.tensor([True, False, True]), torch.arange(3)
c, d = a, i
a %= 2; i <<= 1; i |= 8; i **= 2; b &= True; a //= 2
print(a is c, i is d, a.tolist(), i.tolist(), b.tolist())
f, g, h = a.exp_, torch.exp_, a.exp
print(f() is a, g(a) is a, h() is a)
"""


def test_pythons_operators_in_place() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(CHANGED, {})
    assert output(CHANGED) == printed.getvalue()


def test_texts_of_exceptions() -> None:
    """In PyTorch's words, where these do not name its inner functions."""
    inner = ("hypot", "gcd", "gelu", "out=1", "a.exp(", "flip")
    texts = [e for e in _expressions(WRONG) if not any(name in e for name in inner)]
    assert not differences(SETUP, texts, texts=True)
