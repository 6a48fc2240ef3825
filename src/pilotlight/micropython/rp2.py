"""Firmware for Raspberry Pi's boards: MicroPython's rp2 port, built by CMake.

The port needs Raspberry Pi's SDK and TinyUSB, which Debian's source package of MicroPython leaves out and other
packages of Debian have. It is built in a folder of links: the port itself is a copy, in which a few lines differ. Mbed
TLS and the drivers of micropython-lib are in no package: without them there is no `ssl`, `cryptolib` and `onewire`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pilotlight.errors import PilotlightError
from pilotlight.micropython import cache
from pilotlight.micropython.make import run_logged, tool
from pilotlight.micropython.ports import MicroPythonPort
from pilotlight.micropython.source import source_package

_LIBRARIES = {"pico-sdk": "pico-sdk-source", "tinyusb": "tinyusb-source"}  # in lib/, and their packages
_DRIVERS, _MARK = "micropython-lib", "README.md"  # a folder of lib/, and what the port looks for in it
_STACK = 24576  # bytes of the heap's memory that go to the stack: modules of a network call each other
_Edits = tuple[tuple[str, str, str], ...]  # file, what is in it, what takes its place
_MORE_STACK: _Edits = (
    ("CMakeLists.txt", "__micropy_extra_stack__=4096", f"__micropy_extra_stack__={_STACK}"),
    ("memmap_mp_rp2040.ld", "__GcHeapEnd = ORIGIN(RAM) + LENGTH(RAM);",
     f"__GcHeapEnd = ORIGIN(RAM) + LENGTH(RAM) - {_STACK};"),
    ("memmap_mp_rp2040.ld", "__StackBottom = __StackTop - SIZEOF(.stack_dummy);", "__StackBottom = __GcHeapEnd;"),
)
_WITHOUT_TLS: _Edits = (
    ("CMakeLists.txt", "set(MICROPY_SSL_MBEDTLS ON)", "set(MICROPY_SSL_MBEDTLS OFF)"),
    ("CMakeLists.txt", "list(APPEND GIT_SUBMODULES lib/mbedtls)", ""),
    ("CMakeLists.txt", "    mbedtls/mbedtls_port.c\n", ""),
    ("CMakeLists.txt", "target_link_libraries(${MICROPY_TARGET} micropy_lib_mbedtls)", ""),
    ("mpconfigport.h", "#define MICROPY_PY_HASHLIB_SHA1                 (1)", "#define MICROPY_PY_HASHLIB_SHA1 (0)"),
    ("mpconfigport.h", "#define MICROPY_PY_CRYPTOLIB                    (1)", "#define MICROPY_PY_CRYPTOLIB (0)"),
    ("mpconfigport.h", "#define MICROPY_SSL_MBEDTLS                     (1)", "#define MICROPY_SSL_MBEDTLS (0)"),
    ("mpconfigport.h", "#define MICROPY_PY_SSL                  (1)", "#define MICROPY_PY_SSL (0)"),
)
_OWN_MODULES = 'freeze("$(PORT_DIR)/modules")\ninclude("$(MPY_DIR)/extmod/asyncio")\n'
_ALL_MODULES = 'include("$(PORT_DIR)/boards/manifest.py")\n'


def make_rp2(port: MicroPythonPort, source: Path, work: Path, module: Path | None, cross: Path) -> Path:
    """The firmware of a board, with the module in a folder or without it."""
    cmake = tool("cmake", "cmake", port.name)
    ninja = shutil.which("ninja")
    if ninja is None:
        tool("make", "make", port.name)
    tree = _tree(source, work / "tree")
    manifest = _ALL_MODULES if _has_drivers(source) else _OWN_MODULES
    if module is not None and (module / "manifest.py").read_bytes():
        manifest += f'include("{module / "manifest.py"}")\n'
    cache.update(work / "manifest.py", manifest.encode())
    folder = tree / "ports" / port.folder
    values = {
        **port.variables, "MICROPY_BOARD_DIR": str(folder / "boards" / port.variables["MICROPY_BOARD"]),
        "MICROPY_FROZEN_MANIFEST": str(work / "manifest.py"), "Python3_EXECUTABLE": sys.executable,
        "PICO_NO_PICOTOOL": "1",  # Debian's needs a newer C library than the one before
    }
    if module is not None:
        values["USER_C_MODULES"] = str(module / "micropython.cmake")
    environment = {"MICROPY_MPYCROSS": str(cross)}
    build = work / "build"
    command = [cmake, "-S", str(folder), "-B", str(build), *(["-GNinja"] if ninja else [])]
    run_logged([*command, *(f"-D{name}={value}" for name, value in values.items())], work / "configure.txt", port.name,
               environment)
    run_logged([cmake, "--build", str(build), "-j2"], work / "log.txt", port.name, environment)
    return build / port.product


def _tree(source: Path, tree: Path) -> Path:
    """MicroPython's folder as the port wants it."""
    for old in (tree, tree / "lib", tree / "ports"):
        old.mkdir(parents=True, exist_ok=True)
    for path in (*source.iterdir(), *(source / "lib").iterdir()):
        if path.name not in ("lib", "ports", _DRIVERS, *_LIBRARIES):
            _link(tree / path.relative_to(source), path)
    if _has_drivers(source):
        _link(tree / "lib" / _DRIVERS, source / "lib" / _DRIVERS)
    else:
        cache.update(tree / "lib" / _DRIVERS / _MARK, b"Left out of Debian's source package.\n")
    for name, package in _LIBRARIES.items():
        given = source / "lib" / name
        there = given.is_dir() and any(given.iterdir())
        _link(tree / "lib" / name, given if there else source_package(package, f"usr/src/{name}"))
    port = source / "ports" / "rp2"
    tls = source / "lib" / "mbedtls"
    edits = _MORE_STACK if tls.is_dir() and any(tls.iterdir()) else (*_MORE_STACK, *_WITHOUT_TLS)
    for path in sorted(p for p in port.rglob("*") if p.is_file()):
        name = path.relative_to(port).as_posix()
        cache.update(tree / "ports" / "rp2" / name, _edited(path, [edit[1:] for edit in edits if edit[0] == name]))
    return tree


def _has_drivers(source: Path) -> bool:
    return (source / "lib" / _DRIVERS / _MARK).exists()


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() != target:
        link.unlink()
    if not link.is_symlink():
        link.symlink_to(target)


def _edited(path: Path, edits: list[tuple[str, str]]) -> bytes:
    data = path.read_bytes()
    for old, new in edits:
        if old.encode() not in data:
            raise PilotlightError(
                f"this version of MicroPython's rp2 port is not known: there is no {old.strip()!r} in it",
                where=str(path),
                hint="use MicroPython 1.25, or `pilotlight micropython export` and the port's own makefile",
                kind="micropython-source",
            )
        data = data.replace(old.encode(), new.encode())
    return data
