"""Texts of errors, in the packed stream or in C."""

from __future__ import annotations

from pilotlight.micropython.build import build
from pilotlight.micropython.ports import unix
from pilotlight.micropython.select import select
from pilotlight.micropython.texts import take_out
from support.micropython_scripts import output, run_script

CALLS = ("torch.zeros(-3)", "torch.zeros(2).add(torch.zeros(3))", "torch.zeros(2).add('x')", "torch.zeros(2).sum(5)")
SCRIPT = f"""
import torch
for call in {CALLS!r}:
    try:
        eval(call)
    except Exception as error:
        print(type(error).__name__, error, repr(error), error.args)
"""


def test_sources_get_numbers() -> None:
    sources = {"a.c": b'fail(MP_ERROR_TEXT("%q: %d of "\n    "%s"), MP_ERROR_TEXT("no \\"x\\""));',
               "b.c": b'mp_raise_msg_varg(&mp_type_IndexError,\n  MP_ERROR_TEXT("%q: %d of %s"), 1); mp_raise_msg(t);',
               "c.c": b'mp_raise_TypeError(MP_ERROR_TEXT("%q: %d of %s"), 1);'}
    made, texts = take_out(sources)
    assert texts == ["%s: %d of %s", 'no "x"']
    assert made["a.c"] == b'fail(PT_ERROR(0x10027u, "%q: %d of "\n    "%s"), PT_ERROR(0x20000u, "no \\"x\\""));'
    assert made["b.c"] == b'pt_raise_text(PT_ERROR(0x60010027u, "%q: %d of %s"), 1); mp_raise_msg(t);'
    assert made["c.c"] == b'pt_raise_text(PT_ERROR(0x20010027u, "%q: %d of %s"), 1);'


def test_both_kinds_of_build_say_the_same() -> None:
    in_c = build(unix(), select(["zeros", "add", "sum"], [], "here"))
    said = output(SCRIPT)
    assert said.splitlines()[0] == (
        "RuntimeError Trying to create tensor with negative dimension -3 "
        "RuntimeError('Trying to create tensor with negative dimension -3',) "
        "('Trying to create tensor with negative dimension -3',)")
    assert said == output(SCRIPT, binary=in_c)


def test_an_error_without_memory_for_its_text_is_an_error() -> None:
    done = run_script("""
import gc
import torch
kept = []
try:
    while True:
        kept.append(bytearray(1000))
except MemoryError:
    pass
try:
    torch.zeros(2).sum(5)
except IndexError as error:
    print(error)
kept = None
gc.collect()
try:
    torch.zeros(2).sum(5)
except IndexError as error:
    print(error)
""", heap="200k")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.isdigit() and second == "Dimension out of range (expected to be in range of [-1, 0], but got 5)"
