"""MicroPython's own tests still pass with the module built in."""

from __future__ import annotations

from support.micropython_upstream import run_upstream


def test_this_computer():
    result = run_upstream()
    assert result.passed > 600 and not result.failed, result.output[-2000:]


def test_a_board():
    """A slice; `make micropython-tests` runs them all."""
    result = run_upstream("mps2-an386", ("float", "micropython"), only=r"(math|complex|heapalloc|viper|native)")
    assert result.passed > 60 and not result.failed, result.output[-2000:]
