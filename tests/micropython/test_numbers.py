"""Tensors where Python wants a number, a type or an operand: what a user types first gives what PyTorch gives."""

from __future__ import annotations

from support.micropython_compare import differences

SETUP = """
import math
from torch import nn
T = torch.tensor
b, i, f = T([True, False]), T([1, 3]), T([1.5, -2.0])
one, many = T(2.5), T([4.0, 9.0])

def changed(x, y):
    x &= y
    return x
"""

# ---- numbers on the left, Python's functions of numbers, text

OPERANDS = [
    *(f"{left} {op} {right}" for left in ("2", "2.5", "True", "-1") for right in ("b", "i", "f", "one")
      for op in ("<", "<=", ">", ">=", "==", "!=")),
    *(f"{left} {op} {right}" for left in ("True", "False") for right in ("b", "i", "T(True)", "T(3)")
      for op in ("&", "|", "^", "+", "*", "-", "//", "%", "**", "/", "<<", ">>") if (left, op) != ("False", "**")),
    "1 - b", "True - f", "changed(True, b)", "changed(False, i)", "(1 < 2) & b", "2 < one < 3", "2 < one < 1",
    "1 < i[1] <= 3", "2 < nn.Parameter(f)", "'p' < i", "None < i", "[1] < i", "3 in i", "5 in i", "2.5 in f",
    "2j * 'p'", "1.5 * one", "10**30 * one", "max(True, T(0))", "sum([True, b])", "1 if 2 < one else 0",
]
NUMBERS = [
    *(f"math.{name}({x})" for name in ("sqrt", "exp", "floor", "ceil", "isnan", "fabs", "sin", "log", "isinf")
      for x in ("one", "T([2.0])", "T(3)", "T(True)", "T([[1]])")),
    "math.sqrt(many)", "math.sqrt(torch.ones(0))", "math.pow(one, 2)", "math.atan2(T(1.), T(1.))", "math.log(T(8.), 2)",
    "math.isclose(one, 2.5)", "math.ldexp(one, 2)", "float(one)", "float(T([2.5]))", "float(T([[2.5]]))", "float(T(3))",
    "float(T(True))", "float(many)", "float(torch.ones(0))", "float(nn.Parameter(one))", "float(T(2.5).half())",
    "float(T(float('inf')))", "float('2.5')", "float(b'2.5')", "int(one)", "int(T([7]))", "int(many)", "int(T(-2.7))",
    "bool(one)", "complex(T(1.))", "[1, 2, 3][T(1)]", "list(range(T(2), T(4)))", "abs(T(-3))", "pow(2, T(3))",
    "divmod(T(7), 2)", "one.__float__()", "min(one, 3)", "sorted([3, one, T(1)])",
]
TEXTS = [
    "'%.2f' % one", "'%d' % T(3)", "'%d' % T(3.7)", "'%5.1f|%s' % (T(3.14159), T(2))", "'%s' % i", "'%r' % one",
    "'%.2f' % T([3.14159])", "'%.2f' % many", "'%x' % T(255)", "'%i' % T(True)", "'%(a).1f' % {'a': one}",
    "f'{one:.2f}'", "f'{T(3)}'", "f'{T(True)}'", "f'{one}'", "f'{i}'", "f'{T(3):5d}|'", "f'{T(3):>5}|'",
    "f'{T(3):05.1f}'", "f'{T(0.25):.1%}'", "f'{many:.2f}'", "f'{many:>30}'", "f'{one!r}'", "f'{one!r:>20}'",
    "f'{one!s:>20}'", "f'{nn.Parameter(one)}'", "f'{nn.Parameter(one):.2f}'", "f'{one:{T(8)}.{T(2)}f}'",
    "'{:.3f} {a:.1f}'.format(T(1.23456), a=T(2.))", "'{0:.3f} {1} {0}'.format(one, 3)",
    "'{} {}'.format(one, T([1.5]))", "'{:x}'.format(T(255))", "f'{[one]}'", "f'{one:,.1f}'", "f'{one:e}'", "str(one)",
    "'{!r} {:.1f}'.format(one, one)", "f'{2.5:.2f} {3:d}'", "'{}'.format(None)",
]


def test_numbers_on_the_left_of_tensors() -> None:
    assert differences(SETUP, OPERANDS) == []


def test_numbers_from_tensors() -> None:
    assert differences(SETUP, NUMBERS) == []


def test_formatted_tensors() -> None:
    assert differences(SETUP, TEXTS) == []


def test_compiled_to_machine_code() -> None:
    """MicroPython's native code computes with the same functions."""
    setup = SETUP + """
import sys
if sys.implementation.name == 'micropython':
    import micropython
else:
    class micropython:
        def native(function):
            return function

@micropython.native
def larger(x):
    return 2 < x

@micropython.native
def both(x):
    return True & x
"""
    assert differences(setup, ["larger(i)", "both(b)", "larger(3)"]) == []


# ---- types

TYPES = [
    *(call.format(dtype) for dtype in ("int", "bool") for call in (
        "torch.zeros(2, dtype={})", "T([1.5, 0], dtype={})", "torch.full((2,), 1.5, dtype={})", "f.sum(dtype={})",
        "f.to({})", "f.to(dtype={})", "torch.ones_like(f, dtype={})", "f.new_zeros(2, dtype={})", "i.prod(dtype={})",
        "torch.as_tensor([1, 0], dtype={})", "torch.empty(2, dtype={}).dtype", "f.nansum(dtype={})",
        "torch.eye(2, dtype={})", "f.to('cpu', {})", "torch.randint(1, (2,), dtype={})",
    )),
    "torch.cumsum(i, 0, dtype=int)",
    "torch.arange(3, dtype=int)", "torch.zeros(2, dtype=str)", "torch.zeros(2, dtype='float32')", "f.to(str)",
    "torch.zeros(2).copy_(3)", "torch.zeros(2).copy_(2.5)", "torch.zeros(2, dtype=int).copy_(2.5)",
    "torch.zeros(2).copy_(T(True))", "torch.zeros(2).copy_([1, 2])", "torch.zeros(2).copy_(i)",
    "torch.zeros(2).copy_(None)", "torch.zeros(2).copy_(True)", "torch.equal(i, i.float())",
    "torch.equal(T([1, 0]), T([True, False]))", "torch.equal(f, f.half())", "f.equal(f.bfloat16())",
    "torch.equal(i, T([1.0, 3.5]))", "torch.equal(i, T([1., 3., 5.]))", "torch.equal(i, i.view(1, 2))",
]


def test_types_of_python_and_numbers_as_sources() -> None:
    assert differences(SETUP, TYPES) == []


def test_a_float_of_python_is_float32() -> None:
    """There is no float64."""
    calls = ("zeros(2, dtype=float)", "tensor([1], dtype=float)", "arange(3, dtype=float)", "ones(2).long().to(float)",
             "ones(2).sum(dtype=float)", "ones(2).nansum(dtype=float)")
    setup = f"from torch import {', '.join({call.partition('(')[0] for call in calls})}\n"
    assert [line.splitlines()[1:] for line in differences(setup, [f"{call}.dtype" for call in calls])] == [
        ["    torch.float64", "    torch.float32"]] * len(calls)
