"""Evaluates expressions under MicroPython and under CPython, and says where they differ."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Sequence

import torch

from support.micropython_scripts import output

_SHOW = """
def show(x):
    if isinstance(x, torch.Tensor):
        return str(x.dtype) + str(tuple(x.shape)) + repr(x.tolist())
    if isinstance(x, (list, tuple)):
        return '(' + ', '.join([show(y) for y in x]) + ')'
    return repr(x)

def run(number, text):
    try:
        print(number, show(eval(text, globals())))
    except Exception as error:
        print(number, '!', type(error).__name__, str(error).replace('\\n', '|'))
"""
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")
_DIGITS = {"torch.float16": 2e-3, "torch.bfloat16": 2e-2}


def _results(text: str) -> dict[int, str]:
    return {int(line.partition(" ")[0]): line.partition(" ")[2] for line in text.splitlines()}


def _close(want: str, have: str) -> bool:
    """The same text but for the last digits of numbers."""
    wanted, found = _NUMBER.findall(want), _NUMBER.findall(have)
    if _NUMBER.sub("#", want) != _NUMBER.sub("#", have) or len(wanted) != len(found):
        return False
    relative = _DIGITS.get(want.partition("(")[0], 2e-6)
    return all(
        a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=relative, abs_tol=1e-12)
        for a, b in zip(map(float, wanted), map(float, found), strict=True)
    )


def differences(setup: str, expressions: Sequence[str], texts: bool = False) -> list[str]:
    """Expressions whose values, or whose exceptions' types (and texts) differ, with what both said."""
    calls = "\n".join(f"run({number}, {text!r})" for number, text in enumerate(expressions))
    script = f"import torch\n{setup}\n{_SHOW}\n{calls}\n"
    found = _results(output(script))
    expected = io.StringIO()
    with contextlib.redirect_stdout(expected):
        exec(script, {"torch": torch})
    different = []
    for number, want in _results(expected.getvalue()).items():
        have = found.get(number, "nothing")
        if want.startswith("!") and not texts:
            want, have = " ".join(want.split()[:2]), " ".join(have.split()[:2])
        if want != have and (want.startswith("!") or not _close(want, have)):
            different.append(f"{expressions[number]}\n    {want}\n    {have}")
    return different
