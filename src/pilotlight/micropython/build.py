"""Builds of MicroPython with the module: kept in the cache, and only what changed is compiled again.

A build's folder belongs to a port with its options; the result is kept under a digest of everything that it was
made from, so that two processes, or two versions of this program, never get each other's.
"""

from __future__ import annotations

import json
import shutil
from functools import cache as cached
from importlib.metadata import version
from pathlib import Path

from pilotlight.micropython import cache, ports, rp2
from pilotlight.micropython.make import compiler_version, mpy_cross, run_make, tool
from pilotlight.micropython.module import HERE, KERNELS, write_module
from pilotlight.micropython.ports import MicroPythonPort
from pilotlight.micropython.report import flash_report
from pilotlight.micropython.select import ALL, TorchSelection
from pilotlight.micropython.source import micropython_source


def unix_binary(selection: TorchSelection = ALL, *, sanitize: bool = False) -> Path:
    """MicroPython for this computer with `import torch`."""
    return build(ports.unix(sanitize), selection)


def build(port: MicroPythonPort, selection: TorchSelection | None = ALL) -> Path:
    """The program or firmware of a port; with None for the selection, MicroPython alone.

    Next to the firmware of an emulated board, `report.json` says what its bytes are for.
    """
    source = micropython_source()
    compiler = tool(port.compiler, port.package, port.name)
    options = [port.name, str(source), str(port.variables), compiler_version(compiler), str(selection)]
    makefile = (HERE / "cmodule" / "micropython.mk").read_bytes()  # make does not rebuild objects when flags change
    of_board: list[str | bytes] = []
    if port.board and port.is_emulated:
        of_board = [cache.files_digest([ports.BOARDS]), *ports.board_files(port.board).values()]
    elif port.board:
        of_board = [Path(rp2.__file__).read_bytes()]
    reported = port.is_emulated and selection is not None
    place = cache.digest([*options, makefile, *of_board])
    made_from = [] if selection is None else [_inputs()]
    name = f"{port.name}-{cache.digest([place, *made_from])}"
    product = cache.folder() / f"built-{name}" / port.product
    report = product.parent / "report.json"
    files = [product, *([report] if reported else [])]
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
            if reported and selection is not None:
                bytes_of_parts = json.dumps(flash_report(work / "build", made.with_suffix(".map"), selection))
                partial.write_text(bytes_of_parts, encoding="utf-8", newline="\n")
                cache.store(partial, report)
            shutil.copy2(made, partial)
            cache.store(partial, product)
            for pattern in ("built-*", "work-*"):
                cache.prune(pattern)
    return product


@cached
def _inputs() -> str:
    """A digest of everything the module's folder is written from."""
    pointwise = (HERE.parent / "ops" / "pointwise" / "float.py").read_bytes()
    return cache.digest([cache.files_digest([HERE, KERNELS]), pointwise, version("torch")])


def _make(port: MicroPythonPort, source: Path, work: Path, selection: TorchSelection | None) -> Path:
    cross = mpy_cross(source)
    module = work / "module" if selection is not None else None
    if module is not None and selection is not None:
        write_module(module, selection)
    if port.folder == ports.RP2:
        return rp2.make_rp2(port, source, work, module, cross)
    variables = {**port.variables, "BUILD": str(work / "build"), "MICROPY_MPYCROSS": str(cross), "FROZEN_MANIFEST": ""}
    if port.board:
        variables |= {"BOARD_DIR": str(work / "board"), "PT_BOARDS": str(ports.BOARDS)}
        for name, text in ports.board_files(port.board).items():
            cache.update(work / "board" / name, text.encode())
    if module is not None:
        variables["USER_C_MODULES"] = str(module)
        manifest = module / "manifest.py"
        variables["FROZEN_MANIFEST"] = str(manifest) if manifest.read_bytes() else ""
    if shutil.which("ccache"):
        variables["CC"] = f"ccache {port.compiler}"
    made = work / "build" / port.product
    made.unlink(missing_ok=True)  # otherwise nothing is linked if only an object was removed
    (work / "build" / "frozen_content.c").unlink(missing_ok=True)  # depends on all names, which make does not see
    run_make(source / "ports" / port.folder, variables, work / "log.txt", port.name)
    return made
