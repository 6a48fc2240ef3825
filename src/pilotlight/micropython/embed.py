"""MicroPython with the module as a library for C and C++ programs: a folder that any compiler builds.

    folder/interpreter.h, .hpp    what a program includes
    folder/interpreter.c, files.c
    folder/micropython/           MicroPython's core, its embed port, and what was generated for them
    folder/torch/                 the module; its Python part is in micropython/frozen_content.c
    folder/Makefile, CMakeLists.txt
    folder/example/               a program in C++ with a model, for this computer or for a board
"""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.micropython import cache
from pilotlight.micropython.make import compiler_version, mpy_cross, run_make, tool
from pilotlight.micropython.module import HERE, write_module
from pilotlight.micropython.select import TorchSelection
from pilotlight.micropython.source import micropython_source
from pilotlight.toolchain.find import compilers

EMBEDDED = HERE / "embedded"
_STARTUP = "cortex-m"
_INTERPRETER = ("interpreter.h", "interpreter.c", "files.h", "files.c", "mpconfigport.h")
_LIBRARY = (*_INTERPRETER, "interpreter.hpp", "Makefile", "CMakeLists.txt")
# Of MicroPython: all of its core and its embed port, and what the settings in mpconfigport.h need besides.
_EXTMOD = tuple(f"extmod/mod{name}.c" for name in ("deflate", "heapq", "json", "random", "re", "uctypes"))
_SHARED = ("shared/runtime/gchelper_generic.c", "shared/runtime/sys_stdio_mphal.c")
_COMPILED = ("py/*.c", *_EXTMOD, *_SHARED)
_INCLUDED = (
    "py/*.h", "extmod/*.h", "shared/runtime/*.h", "lib/uzlib/*.[ch]", "lib/re1.5/*.[ch]", "ports/embed/port/*.h",
    "LICENSE",
)
_GENERATED = re.compile(r"genhdr/(moduledefs|mpversion|qstrdefs\.generated|root_pointers|compressed\.data)\.h")


def write_embedded(folder: Path, selection: TorchSelection, board: Board | None = None) -> list[str]:
    """Write or update the folder; unchanged files are not touched, old ones are removed, and what the user has in
    example/ stays. Returns the names."""
    example = _example(board)
    source = micropython_source()
    version = compiler_version(tool("gcc", "gcc", "embedding"))
    name = f"embed-{cache.digest([str(source), version, str(selection)])}"
    with cache.lock(f"work-{name}"):
        work = cache.folder() / f"work-{name}"
        with cache.unfinished(work):
            cache.touch(work)
            module = [path for path in write_module(work / "module", selection) if path.startswith("torch/")]
            wanted = {path: (work / "module" / path).read_bytes() for path in module if path.endswith((".c", ".h"))}
            wanted |= {f"micropython/{path}": data for path, data in _generated(source, work).items()}
    wanted |= {f"micropython/{path}": data for path, data in _core(source).items()}
    wanted |= {path: (EMBEDDED / path).read_bytes() for path in _LIBRARY}
    for part in ("micropython", "torch"):
        for old in sorted((folder / part).rglob("*")):
            if old.is_file() and old.relative_to(folder).as_posix() not in wanted:
                old.unlink()
    wanted |= {path: data for path, data in example.items() if not (folder / path).exists()}
    for path, data in wanted.items():
        cache.update(folder / path, data)
    return list({**wanted, **example})


def _example(board: Board | None) -> dict[str, bytes]:
    """A program with a model, its weights, and for a board its memories and tools."""
    if board is not None and (board.emulator is None or board.startup != _STARTUP or board.place is None):
        raise PilotlightError(
            f"there is no example of embedding for the board {board.name}",
            hint="name a Cortex-M board that is emulated, or leave out --board", kind="not-runnable",
        )
    found = {f"example/{path.name}": path.read_bytes() for path in sorted((EMBEDDED / "example").iterdir())
             if board is not None or not path.name.startswith(_STARTUP)}
    found |= {f"example/{name}": data for name, data in _saved_example().items()}
    if board is not None:
        found |= {f"example/{name}": text.encode() for name, text in _board_files(board).items()}
    return found


def _saved_example() -> dict[str, bytes]:
    """The example's weights, and the whole model as TorchScript."""
    import torch

    path = EMBEDDED / "example" / "net.py"
    described = importlib.util.spec_from_file_location("net", path)
    assert described is not None and described.loader is not None
    module = importlib.util.module_from_spec(described)  # TorchScript reads the class's source
    described.loader.exec_module(module)
    weights, script = io.BytesIO(), io.BytesIO()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = module.Net().eval()
    torch.save(net.state_dict(), weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        torch.jit.save(torch.jit.script(net), script)
    return {"net.pt": weights.getvalue(), "script.pt": script.getvalue()}


def _board_files(board: Board) -> dict[str, str]:
    assert board.emulator and board.place
    compiler = compilers()[board.toolchain][0]
    prefix = compiler.removesuffix("gcc")
    values = {
        "CC": compiler, "CXX": f"{prefix}g++", "AR": f"{prefix}ar", "CORE": " ".join(board.flags),
        "PLATFORM": f"{_STARTUP}.c",
        "LINK": f"-nostartfiles -T {_STARTUP}.ld --specs=nano.specs -Wl,--gc-sections",
        "EMULATOR": " ".join([board.emulator.program, "-M", board.emulator.machine, *board.emulator.args, "-nographic",
                              "-semihosting -kernel"]),
    }
    memories = {"FLASH": board.memory(board.place.code), "RAM": board.memory(board.place.stack)}
    rows = "".join(f"    {name} : ORIGIN = {memory.base:#010x}, LENGTH = {memory.size:#x}\n"
                   for name, memory in memories.items())
    return {
        "board.mk": f"# {board.title}\n" + "".join(f"{name} = {value}\n" for name, value in values.items()),
        "memory.ld": f"/* {board.title} */\nMEMORY\n{{\n{rows}}}\n",
    }


def _generated(source: Path, work: Path) -> dict[str, bytes]:
    """Headers with all names, and the Python part as C."""
    for path in (*_INTERPRETER, "generate.mk"):
        cache.update(work / path, (EMBEDDED / path).read_bytes())
    build = work / "build"
    (build / "frozen_content.c").unlink(missing_ok=True)
    variables = {
        "MICROPYTHON_TOP": str(source), "BUILD": str(build), "EXTMOD": " ".join((*_EXTMOD, *_SHARED)),
        "USER_C_MODULES": str(work / "module"), "FROZEN_MANIFEST": str(work / "module" / "manifest.py"),
        "MICROPY_MPYCROSS": str(mpy_cross(source)),
    }
    run_make(work, variables, work / "log.txt", "the embedded interpreter", "-f", "generate.mk", "generated")
    made = {path.relative_to(build).as_posix(): path for path in build.rglob("*") if path.is_file()}
    found = {name: path.read_bytes() for name, path in made.items() if _GENERATED.fullmatch(name)}
    return {**found, "frozen_content.c": made["frozen_content.c"].read_bytes()}


def _core(source: Path) -> dict[str, bytes]:
    """MicroPython's files; those that ask the module about tensors say so themselves, not in a makefile."""
    first = _first_lines((HERE / "cmodule" / "micropython.mk").read_text(encoding="utf-8"))
    found = {}
    for path in _matching(source, (*_COMPILED, *_INCLUDED)):
        name = path.relative_to(source).as_posix()
        lines = "".join(f"{line} /* torch/core.h */\n" for line in first.get(name, ()))
        found[name.removeprefix("ports/embed/")] = lines.encode() + path.read_bytes()
    return found


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _first_lines(makefile: str) -> dict[str, list[str]]:
    """What the module's makefile tells the compiler about single files of MicroPython, as lines of C."""
    found: dict[str, list[str]] = {}
    for line in makefile.replace("\\\n", " ").splitlines():
        objects, _, flags = line.partition(": CFLAGS +=")
        for name in re.findall(r"\$\(BUILD\)/((?:py|extmod)/\w+)\.o", objects):
            words = flags.replace("-include ", "-include=").split()
            found.setdefault(f"{name}.c", []).extend(map(_line, words))
    return found


def _line(flag: str) -> str:
    name, _, value = flag.partition("=")
    if name == "-include":
        return f'#include "{Path(value).name}"'
    assert name.startswith("-D") and value, flag
    return f"#define {name.removeprefix('-D')} {value}"
