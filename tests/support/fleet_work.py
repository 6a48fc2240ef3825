"""Pieces of work for tests of a cluster; its workers import this file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pilotlight.errors import MissingToolError


def square(item: tuple[Path, int]) -> int:
    """Says which process began it."""
    folder, number = item
    with (folder / f"{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.15)
    return number * number


def fail_in_one_process(item: tuple[Path, int]) -> int:
    """The process that comes first fails at everything; others do not."""
    folder, number = item
    try:
        with (folder / "first").open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        time.sleep(0.1)
    if (folder / "first").read_text() == str(os.getpid()):
        raise ValueError("this computer is broken")
    return number


def wrong_in_one_process(item: tuple[Path, int]) -> int:
    """The process that comes first gives wrong answers, below 0."""
    try:
        return fail_in_one_process(item)
    except ValueError:
        return -1


def never(item: int) -> int:
    raise ValueError(f"nobody can do {item}")


def slow_in_one_process(item: tuple[Path, int]) -> int:
    """The process that comes first takes long."""
    try:
        return fail_in_one_process(item)
    except ValueError:
        time.sleep(8)
        return item[1]


def misses_a_tool(item: int) -> int:
    """With an error that cannot be made again from its text."""
    raise MissingToolError("gcc-nowhere", "gcc-nowhere-package", "to build")
