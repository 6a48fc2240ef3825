"""The embedded interpreter as users get it, built once into the cache: here with sanitizers, and for a board."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache as cached
from pathlib import Path

from pilotlight import boards
from pilotlight.micropython import cache
from pilotlight.micropython.embed import write_embedded
from pilotlight.micropython.module import HERE, KERNELS
from pilotlight.micropython.select import SMALL

BOARD = "mps2-an386"
# The sanitizers know setjmp; MicroPython's own way to raise they do not. The collector reads the stack as it lies.
SANITIZE = "-g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
ENVIRONMENT = {"ASAN_OPTIONS": "detect_stack_use_after_return=0"}


@cached
def exported() -> Path:
    """The folder that `pilotlight micropython export --embed --board ...` writes, with a library for each."""
    known = cache.digest([cache.files_digest([HERE, KERNELS]), Path(__file__).read_bytes()])
    made, work = cache.folder() / f"built-embedded-{known}", cache.folder() / "work-embedded"
    with cache.lock(work.name):
        if not made.exists():
            work.mkdir(exist_ok=True)  # only what changed is compiled again
            shutil.rmtree(work / "example", ignore_errors=True)
            write_embedded(work, SMALL.with_parts(["load", "jit"]), boards.load(BOARD))
            _make(work, "BUILD=build-host", "CC=gcc", "OPTIMIZE=-O1", "CFLAGS=-DMICROPY_NLR_SETJMP=1 -Wno-clobbered",
                  f"CHECKED_CFLAGS={SANITIZE}")
            lines = (work / "example" / "board.mk").read_text(encoding="utf-8").splitlines()
            values = dict(line.split(" = ", 1) for line in lines if " = " in line)
            _make(work, "BUILD=build-board", f"CC={values['CC']}", f"AR={values['AR']}", f"CFLAGS={values['CORE']}")
            partial = made.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(work, partial, ignore=shutil.ignore_patterns("*.d"))
            partial.rename(made)
            cache.prune("built-*")
        cache.touch(made)
    return made


def _make(folder: Path, *variables: str) -> None:
    done = subprocess.run(["make", "-C", str(folder), "-j2", *variables], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
