"""Expressions evaluated by MicroPython and by PyTorch: what differs.

In an expression `op.name` is the operator of that name, wherever PyTorch keeps it; `f(2, 3)` is a tensor of small
fractions and `i(2, 3, m=7)` one of integers below m, each with other elements than the one before.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Sequence

from support.micropython_scripts import output

_PRELUDE = """
try:
    import _torch as torch
    places = (torch, torch._nn)
except ImportError:
    import torch
    places = (torch, torch._C._nn, torch._C._fft, torch._C._linalg)
class Operators:
    def __getattr__(self, name):
        for place in places:
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(name)
op = Operators()
h, bf = torch.float16, torch.bfloat16
seed = [0]
def i(*sizes, m=7, lo=0, dt=None):
    n = 1
    for size in sizes:
        n *= size
    seed[0] += 7
    x = torch.add(torch.remainder(torch.mul(torch.add(torch.arange(n), seed[0]), 37), m), lo).view(sizes)
    return x if dt is None else x.to(dt)
def f(*sizes, dt=None):
    x = torch.div(i(*sizes, m=101, lo=-50), 16)
    return x if dt is None else x.to(dt)
def show(x):
    if isinstance(x, (tuple, list)):
        for part in x:
            show(part)
    else:
        print(x.dtype, list(x.shape), x.reshape(-1).tolist())
def run(number, function):
    seed[0] = 0
    print("#", number)
    try:
        show(function())
    except Exception as e:
        print("raises", type(e).__name__)
"""
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")


def _same(ours: str, theirs: str) -> bool:
    if _NUMBER.sub("", ours) != _NUMBER.sub("", theirs):
        return False
    bound = 1e-2 if "float16" in theirs else 5e-5
    pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(theirs), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= bound * (1 + abs(float(b))) for a, b in pairs)


def _parts(text: str) -> list[str]:
    return re.split(r"^# \d+\n", text, flags=re.M)[1:]


def differences(expressions: Sequence[str], setup: str = "") -> list[str]:
    """What MicroPython and PyTorch give for each expression where it is not the same; `setup` runs before them."""
    script = _PRELUDE + setup + "".join(f"run({k}, lambda: {e})\n" for k, e in enumerate(expressions))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script, {})
    both = zip(expressions, _parts(output(script)), _parts(printed.getvalue()), strict=True)
    return [f"{e}\n  MicroPython {a}  PyTorch {b}" for e, a, b in both if not _same(a, b)]
