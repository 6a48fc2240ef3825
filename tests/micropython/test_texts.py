"""Error texts, with and without the Python part."""

from __future__ import annotations

from pilotlight.micropython.build import build
from pilotlight.micropython.ports import unix
from pilotlight.micropython.select import select
from support.micropython_scripts import output

CALLS = ("torch.zeros(-3)", "torch.zeros(2).add(torch.zeros(3))", "torch.zeros(2).add('x')", "torch.zeros(2).sum(5)")
SCRIPT = f"""
import torch
for call in {CALLS!r}:
    try:
        eval(call)
    except Exception as error:
        print(type(error).__name__, error, repr(error), error.args)
"""


def test_both_kinds_of_build_say_the_same() -> None:
    in_c = build(unix(), select(["zeros", "add", "sum"], [], "here"))
    said = output(SCRIPT)
    assert said.splitlines()[0] == (
        "RuntimeError Trying to create tensor with negative dimension -3 "
        "RuntimeError('Trying to create tensor with negative dimension -3',) "
        "('Trying to create tensor with negative dimension -3',)")
    assert said == output(SCRIPT, binary=in_c)
