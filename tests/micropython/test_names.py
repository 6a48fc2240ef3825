"""Functions that are parts of their own (linear algebra, windows, types): what PyTorch gives, and what it says."""

from __future__ import annotations

import pytest

from pilotlight.cli.micropython import selection_options
from pilotlight.micropython.build import build
from pilotlight.micropython.ports import unix
from pilotlight.micropython.select import PARTS, SMALL, TorchSelection, part_operators
from support.micropython_compare import differences
from support.micropython_scripts import output

SETUP = """
from torch import linalg
a = torch.tensor([[4., 1., -2.], [2., -1., 3.], [0.5, 2., 1.]])
singular = torch.tensor([[1., 2.], [2., 4.]])
pair = torch.stack([torch.eye(2), singular])
spd = a @ a.t() + torch.eye(3)
b = torch.arange(6.).reshape(3, 2)
many = torch.stack([a, a.t() * 2, spd])
ints = torch.tensor([[1, 2], [3, 5]])
"""
MATRICES = """
torch.inverse(a)
a.inverse()
linalg.inv(many.t() if many.dim() == 2 else many.transpose(1, 2))
linalg.inv(singular)
torch.inverse(pair)
linalg.inv(ints)
linalg.inv(a[0])
linalg.inv(b)
linalg.inv(torch.zeros(0, 3, 3))
linalg.inv(torch.zeros(0, 0))
linalg.inv(a.half())
linalg.solve(a, b)
linalg.solve(a, b[:, 0])
linalg.solve(many, b)
linalg.solve(many, b[:, 0])
linalg.solve(a, b.t(), left=False)
linalg.solve(singular, b[:2])
linalg.solve(pair, b[:2])
linalg.solve(a, b.long())
linalg.solve(a, b[:2])
linalg.solve(a, torch.tensor(1.))
linalg.solve(torch.zeros(2, 0, 0), torch.zeros(2, 0, 3))
torch.det(a)
linalg.det(many.reshape(3, 1, 3, 3))
linalg.det(pair)
linalg.det(torch.zeros(0, 0))
linalg.det(torch.tensor([[float('nan'), 1.], [1., 1.]]))
linalg.det(torch.tensor([[0., 1.], [1., 0.]]))
a.det()
torch.det(b)
torch.slogdet(many)
linalg.slogdet(pair).logabsdet
torch.logdet(many)
torch.logdet(-spd)
linalg.cholesky(spd)
linalg.cholesky(spd, upper=True)
torch.cholesky(torch.stack([spd, spd * 2]))
linalg.cholesky(a)
linalg.cholesky(pair)
torch.matrix_power(a, 5)
linalg.matrix_power(many, -3)
ints.matrix_power(0)
ints.matrix_power(4)
torch.matrix_power(b, 2)
linalg.matrix_power(singular, -1)
linalg.multi_dot([b[:, 0], a, spd, b])
linalg.multi_dot([a, b, b[0]])
linalg.multi_dot([a])
linalg.multi_dot([a, a[0], a])
linalg.multi_dot([b, b])
torch.chain_matmul(a, b)
linalg.vecdot(a, spd)
linalg.cross(a, spd)
torch.cross(b, b + 1, dim=0)
torch.cross(a, a[:1] * 2, dim=-1)
linalg.cross(b, b)
linalg.cross(a, a[0])
torch.cov(b)
torch.cov(b, correction=0, fweights=torch.tensor([2, 1]), aweights=torch.tensor([0.5, 2.]))
torch.cov(ints)
torch.cov(b, fweights=torch.tensor([1., 2.]))
torch.cov(b, fweights=torch.tensor([1, -2]))
torch.cov(b, aweights=torch.ones(3))
torch.cov(many)
torch.cov(b > 1)
a.corrcoef()
torch.corrcoef(b[:, 0])
torch.corrcoef(torch.tensor(2.))
issubclass(linalg.LinAlgError, RuntimeError)
"""
SIGNALS = """
[torch.hann_window(n) for n in range(6)]
[torch.hann_window(n, False) for n in range(6)]
torch.hann_window(4, periodic=True, dtype=torch.float16)
torch.hann_window(400, device='cpu') + 1
torch.hann_window(-1)
torch.hamming_window(9, False, 0.6, 0.3)
torch.hamming_window(16)
torch.blackman_window(12)
torch.blackman_window(12, False)
torch.bartlett_window(8)
torch.bartlett_window(9, False)
torch.kaiser_window(16)
torch.kaiser_window(11, False, 3.5)
torch.kaiser_window(1)
torch.trapezoid(y)
torch.trapz(y, x)
torch.trapezoid(y, x=x, dim=1)
torch.trapezoid(y, dx=0.5, dim=0)
torch.trapezoid(i)
torch.trapezoid(y, x[:2])
torch.trapezoid(y > 1)
torch.trapezoid(torch.tensor(1.))
torch.trapezoid(torch.zeros(3, 0))
torch.cumulative_trapezoid(y, x)
torch.cumulative_trapezoid(i, dx=2, dim=0)
torch.histc(y, 4)
torch.histc(y, bins=5, min=-1, max=3)
y.histc(3, 2, 2)
torch.histc(torch.full((5,), 2.), 4)
torch.histc(torch.tensor([0., 1., float('nan'), 9.]), 2, 0, 1)
torch.histc(torch.zeros(0), 3)
torch.histc(y, 0)
torch.histc(y, 2, 3, 1)
torch.histc(i)
"""
TYPES = """
torch.result_type(torch.zeros(2, dtype=torch.int8), 1)
torch.result_type(torch.zeros(2, dtype=torch.int8), 1.5)
torch.result_type(1, torch.zeros((), dtype=torch.int16))
torch.result_type(torch.zeros(2, dtype=torch.int8), torch.zeros((), dtype=torch.int64))
torch.result_type(torch.zeros((), dtype=torch.int8), torch.zeros((), dtype=torch.float16))
torch.result_type(True, torch.zeros(1, dtype=torch.uint8))
torch.result_type(1, 2.5)
torch.result_type(1, True)
torch.promote_types(torch.int8, torch.uint8)
torch.promote_types(torch.float16, torch.bfloat16)
torch.promote_types(torch.bool, torch.bool)
[torch.can_cast(p, q) for p in types for q in types]
torch.broadcast_shapes((2, 1), (3,), (1, 1, 1))
torch.broadcast_shapes((2, 3), (4,))
torch.broadcast_shapes(3, (2, 1))
torch.broadcast_shapes((0,), (1,))
torch.broadcast_shapes()
torch.broadcast_shapes((-1,))
torch.combinations(torch.tensor([5, 3, 9]))
torch.combinations(torch.arange(4.), 3)
torch.combinations(torch.arange(3), r=2, with_replacement=True)
torch.combinations(torch.arange(2), 3)
torch.combinations(torch.arange(2), 0)
torch.combinations(torch.ones(2, 2))
torch.combinations(torch.arange(2), -1)
torch.LongTensor([[1, 2], [3, 4]])
torch.FloatTensor((1, 2, 3))
torch.FloatTensor(2, 3).shape
torch.IntTensor(torch.Size([2, 0])).shape
torch.ByteTensor()
torch.BoolTensor([0, 1, 2])
torch.LongTensor([2 ** 40 + 1])
torch.HalfTensor([0.1])
torch.ShortTensor(torch.tensor([1, 2], dtype=torch.int16))
torch.LongTensor(2.5)
"""


@pytest.mark.filterwarnings("ignore")  # of PyTorch's, about what will go
@pytest.mark.parametrize(("setup", "expressions"), [
    pytest.param(SETUP, MATRICES, id="matrices"),
    pytest.param("y = torch.arange(12.).reshape(3, 4).sin() * 2\nx = torch.tensor([0., 0.5, 2., 3.])\n"
                 "i = torch.arange(6).reshape(2, 3)", SIGNALS, id="signals"),
    pytest.param("types = [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.float32]", TYPES,
                 id="types"),
])
def test_values_and_words_are_those_of_pytorch(setup: str, expressions: str) -> None:
    assert differences(setup, expressions.strip().splitlines(), texts=True) == []


def test_a_build_without_a_part_says_which_part_has_a_name() -> None:
    said = output("""
import torch
from torch import nn
from torch.nn import functional as F
x = torch.eye(2)
for text in ("torch.inverse", "torch.linalg.inv", "x.det()", "torch.hann_window(3)", "torch.trapz", "torch.LongTensor",
             "torch.load", "torch.nothing", "x.nothing", "torch.linalg.nothing", "F.nothing"):
    try:
        eval(text)
        print("found")
    except AttributeError as error:
        print(error)
print(hasattr(x, "det"), hasattr(torch, "inverse"), torch.linalg.norm(x))
""", binary=build(unix(), SMALL))
    asked = "'{}' is not in this build: build it with `--with {}`"
    assert said.splitlines() == [
        asked.format("inverse", "linalg"), asked.format("inv", "linalg"), asked.format("det", "linalg"),
        asked.format("hann_window", "signal"), asked.format("trapz", "signal"), asked.format("LongTensor", "types"),
        asked.format("load", "load"), "module 'torch' has no attribute 'nothing'",
        "'Tensor' object has no attribute 'nothing'", "nothing",
        "module 'torch.nn.functional' has no attribute 'nothing'", "False False tensor(1.4142)",
    ]


def test_each_part_has_names_which_the_module_alone_does_not() -> None:
    small = {unit.name for unit in SMALL.units()}
    for part in PARTS:
        names = set(part_operators(part))
        assert names.isdisjoint(small) and names <= {unit.name for unit in SMALL.with_parts([part]).units()}
    assert SMALL.with_parts(["all"]) == TorchSelection()


def test_the_command_line_lists_every_part() -> None:
    options = selection_options(lambda: None).__click_params__  # type: ignore[attr-defined]
    text = next(option.help for option in options if option.name == "parts")
    assert f"{','.join(PARTS)}, or all" in text
