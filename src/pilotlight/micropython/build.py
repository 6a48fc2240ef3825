"""Builds of MicroPython with the module: made once into the cache, only what changed is compiled again.

A build's folder belongs to a port with its options; what comes out is kept under a digest of everything that it was
made from, so that two processes, or two versions of this program, never get each other's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache as cached
from importlib.metadata import version
from pathlib import Path

from pilotlight.errors import DoesNotFitError, MissingToolError, PilotlightError
from pilotlight.micropython import cache, ports
from pilotlight.micropython.module import HERE, KERNELS, write_module
from pilotlight.micropython.ports import Port
from pilotlight.micropython.report import flash_report
from pilotlight.micropython.select import ALL, Selection
from pilotlight.micropython.source import micropython_source

_TELLING = re.compile(
    r"\b[Ee]rror: (?!ld returned)(.*)|(undefined reference to .*|multiple definition of .*)|\*\*\* (.*)"
)
_OVERFLOW = re.compile(r"region [`'](\w+)' overflowed by (\d+) bytes?")


def unix_binary(selection: Selection = ALL, *, sanitize: bool = False) -> Path:
    """MicroPython for this computer with `import torch`."""
    return build(ports.unix(sanitize), selection)


def build(port: Port, selection: Selection | None = ALL) -> Path:
    """The program or firmware of a port; with None for the selection, MicroPython alone.

    Next to a firmware, `report.json` says what its bytes are for.
    """
    source = micropython_source()
    compiler = _tool(port.compiler, port.package, port)
    options = [port.name, str(source), str(port.variables), _version(compiler), str(selection)]
    makefile = (HERE / "cmodule" / "micropython.mk").read_bytes()  # objects do not follow a change of flags
    place = cache.digest([*options, makefile, *([cache.files_digest([HERE / "boards"])] if port.board else [])])
    made_from = [] if selection is None else [_inputs()]
    name = f"{port.name}-{cache.digest([place, *made_from])}"
    product = cache.folder() / f"built-{name}" / port.product
    report = product.parent / "report.json"
    files = [product, *([report] if port.board and selection is not None else [])]
    if all(map(cache.is_whole, files)):
        cache.touch(product.parent)
        return product
    with cache.lock(f"work-{port.name}-{place}"):
        if not all(map(cache.is_whole, files)):
            work = cache.folder() / f"work-{port.name}-{place}"
            with cache.unfinished(work):
                cache.touch(work)
                made = _make(port, source, work, selection)
            product.parent.mkdir(exist_ok=True)
            partial = product.with_suffix(".partial")
            if port.board and selection is not None:
                partial.write_text(json.dumps(flash_report(work / "build", made.with_suffix(".map"), selection)))
                cache.store(partial, report)
            shutil.copy2(made, partial)
            cache.store(partial, product)
            for pattern in ("built-*", "work-*"):
                cache.prune(pattern)
    return product


@cached
def _inputs() -> str:
    """A digest of everything the module's folder is written from."""
    pointwise = (HERE.parent / "ops" / "pointwise.py").read_bytes()
    return cache.digest([cache.files_digest([HERE, KERNELS]), pointwise, version("torch")])


@cached
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def _tool(name: str, package: str, port: Port) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingToolError(name, package, f"to build MicroPython for {port.name}")
    return path


def _make(port: Port, source: Path, work: Path, selection: Selection | None) -> Path:
    cross = _mpy_cross(source)
    variables = {**port.variables, "BUILD": str(work / "build"), "MICROPY_MPYCROSS": str(cross), "FROZEN_MANIFEST": ""}
    if selection is not None:
        module = work / "module"
        write_module(module, selection)
        variables["USER_C_MODULES"] = str(module)
        manifest = module / "manifest.py"
        variables["FROZEN_MANIFEST"] = str(manifest) if manifest.read_bytes() else ""
    if shutil.which("ccache"):
        variables["CC"] = f"ccache {port.compiler}"
    made = work / "build" / port.product
    made.unlink(missing_ok=True)  # else nothing is linked where only an object went away
    (work / "build" / "frozen_content.c").unlink(missing_ok=True)  # depends on all names, which make does not see
    run_make(source / "ports" / port.folder, variables, work / "log.txt", port.name)
    return made


def _mpy_cross(source: Path) -> Path:
    """The compiler to bytecode that freezing needs."""
    work = cache.folder() / f"mpy-cross-{cache.digest([str(source), _version(_tool('gcc', 'gcc', ports.unix()))])}"
    program = work / "build" / "mpy-cross"
    with cache.lock(work.name):
        if not cache.is_whole(program):
            with cache.unfinished(work):
                program.unlink(missing_ok=True)  # else it counts as made
                run_make(source / "mpy-cross", {"BUILD": str(work / "build")}, work / "log.txt", "mpy-cross")
            cache.store(program, program)
    return program


def run_make(folder: Path, variables: dict[str, str], log: Path, what: str) -> None:
    """make, with all it says in a log; the first error line becomes the user's."""
    _tool("make", "make", ports.unix())
    log.parent.mkdir(exist_ok=True)
    arguments = [f"{name}={value}" for name, value in {"PYTHON": sys.executable, **variables}.items()]
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    with log.open("wb") as file:
        done = subprocess.run(["make", "-C", str(folder), "-j2", *arguments], stdin=subprocess.DEVNULL, stdout=file,
                              stderr=file, env=environment)
    if done.returncode:
        text = log.read_text(errors="replace")
        overflows = {region: int(by) for region, by in _OVERFLOW.findall(text)}
        if "HEAP" in overflows:
            raise PilotlightError(
                f"the heap is {overflows['HEAP']:,} bytes too large for {what}", where=str(log),
                hint="give less with --heap", kind="does-not-fit",
            )
        if overflows:
            raise DoesNotFitError(overflows, where=str(log))
        first = next((next(filter(None, m.groups())) for m in _TELLING.finditer(text)), "make failed")
        raise PilotlightError(f"{what} could not be built: {first}", where=str(log), kind="compiler")
