"""Expressions that PyTorch and the module for MicroPython must both give the same value, or the same kind of error."""

from __future__ import annotations

import math
import re
import struct
import warnings
from collections.abc import Sequence

from support.micropython_scripts import output

_SIDE = """
import struct
import torch
def show(r):
    if isinstance(r, (tuple, list)):
        return '(' + ' '.join([show(x) for x in r]) + ')'
    if isinstance(r, float):
        return '#' + struct.pack('>f', r).hex()
    if r is None or isinstance(r, (int, bool, str)):
        return repr(r)
    n = r.numel()
    flat = r.reshape(-1)
    values = [flat.select(0, k).item() for k in range(n)]
    if r.dtype.is_floating_point:
        values = ['#' + struct.pack('>f', v).hex() for v in values]
    else:
        values = [str(int(v)) for v in values]
    return str(r.dtype) + str(list(r.shape)) + '<' + ','.join(values) + '>'
def case(number, f):
    try:
        print(number, show(f()))
    except Exception as e:
        print(number, 'raises', type(e).__name__)
"""
_FLOAT = re.compile(r"#([0-9a-f]{8})")


def _close(a: str, b: str, tolerance: float) -> bool:
    if _FLOAT.sub("#", a) != _FLOAT.sub("#", b):
        return False
    for x, y in zip(_FLOAT.findall(a), _FLOAT.findall(b), strict=True):
        u, v = (struct.unpack(">f", bytes.fromhex(h))[0] for h in (x, y))
        same = u == v or (math.isnan(u) and math.isnan(v))
        if not same and not abs(u - v) <= tolerance * max(abs(u), 1e-3):
            return False
    return True


def differences(setup: str, expressions: Sequence[str], tolerance: float = 0.0) -> list[str]:
    """What is not the same on both sides, as text."""
    script = _SIDE + setup + "".join(f"\ncase({k}, lambda: {text})" for k, text in enumerate(expressions)) + "\n"
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script, {"print": lambda *items: lines.append(" ".join(map(str, items)))})
    ours = output(script).splitlines()
    assert len(ours) == len(lines) == len(expressions)
    return [
        f"{text}: PyTorch has {a}, we have {b}"
        for text, a, b in zip(expressions, lines, ours, strict=True) if not _close(a, b, tolerance)
    ]
