"""Build → NativeModule: the module's C is compiled with the model's, linked, and put into an .mpy file."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.compiler import Build
from pilotlight.emit import output
from pilotlight.errors import PilotlightError
from pilotlight.mpy import weights
from pilotlight.mpy.architectures import Architecture
from pilotlight.mpy.container import mpy_file
from pilotlight.mpy.interface import NativeEntry, about, check_names, native_entry
from pilotlight.mpy.link import link
from pilotlight.mpy.romfs import romfs_image
from pilotlight.programs import ProgramBuild
from pilotlight.toolchain.find import Toolchain, find
from pilotlight.toolchain.objects import Unit, compile_units

_SOURCES = Path(__file__).parent.parent / "csrc" / "mpy"
_PACKAGE = "package.json"
_OPTIMIZE = {"speed": "-O2", "size": "-Os", "ram": "-O2"}
_FLAGS: dict[str, tuple[str, ...]] = {
    "arm-none-eabi": ("-mword-relocations",),
    "riscv64-unknown-elf": (),
    "host": (
        "-ffreestanding", "-fpie", "-fvisibility=hidden", "-fno-stack-protector", "-fcf-protection=none",
        "-mno-red-zone", "-U_FORTIFY_SOURCE",
    ),
}
# Strings that the module's C finds by number.
_NAMES = (
    "__file__", "array", "contiguous", "dtype", "frombuffer", "inputs", "json", "load", "loads", "mapped", "out",
    "outputs", "permute", "reset", "reshape", "shape", "torch",
)


@dataclass(frozen=True)
class NativeModule:
    """Two files that belong together, and what `mip` needs to install them."""

    name: str
    architecture: Architecture
    board: Board  # whose core the code is for
    files: dict[str, str | bytes]
    metadata: dict[str, Any]

    def write(self, folder: Path) -> dict[str, str | bytes]:
        """The files as written: beside another model's, two of them are named after this one."""
        files = dict(self.files)
        metadata = output.METADATA
        if output.beside_another(folder, self.name):
            metadata = f"{self.name}_{metadata}"
            files[f"{self.name}_{_PACKAGE}"] = files.pop(_PACKAGE)
        sealed = output.sealed(files, dict(self.metadata), metadata)
        output.write(folder, self.name, sealed)
        return sealed


def native_module(
    build: Build | ProgramBuild, architecture: Architecture, *, url: str = "", romfs: bool = False
) -> NativeModule:
    """`build` is for the board that `architectures.choose` gave; `url` is where `mip` will find the files, if not
    beside package.json; `romfs` asks for an image of a file system, too."""
    build.refuse_needs("a native module")
    name, board = build.name, build.board
    entries = _entries(build)
    check_names(name, entries)
    compiler = _compiler(board, build.options.toolchain)
    constants, description = weights.padded(build.module.weights), about(entries)
    digest = _digest(build, architecture, constants, description)
    file = weights.weights_file(digest, constants, description)
    names = _names(entries)
    model = _model_header(build, entries, names, file)
    folder = scratch_folder(f"{name}-mpy-")
    try:
        objects = _compile(compiler, build, Path(folder.name), model)
        image = link(compiler, board, Path(folder.name), objects, architecture.word)
    finally:
        folder.cleanup()
    pair = {f"{name}.bin": file, f"{name}.mpy": mpy_file(image, architecture.number, [name, *names])}
    files: dict[str, str | bytes] = {**pair, _PACKAGE: _package(name, url)}
    if romfs:
        files[f"{name}.romfs"] = romfs_image(pair)
    keys = ("name", "generator", "model_sha256", "arena_bytes", "state_bytes", "weights_bytes")
    metadata = {key: build.module.metadata[key] for key in keys} | {
        "format": "mpy", "architecture": architecture.name, "build": digest.hex(), "code_bytes": len(image.code),
        **json.loads(description),
    }
    return NativeModule(name, architecture, board, files, metadata)


def _entries(build: Build | ProgramBuild) -> list[NativeEntry]:
    metadata = build.module.metadata
    if isinstance(build, ProgramBuild):
        return [native_entry(row["name"], row, build.entries[row["name"]].lowered) for row in metadata["entries"]]
    return [native_entry("run", {**metadata, "function": f"{build.name}_run"}, build.lowered)]


def _compiler(board: Board, kind: str | None) -> Toolchain:
    if board.is_host and platform.machine().lower() not in ("x86_64", "amd64"):
        raise PilotlightError(
            f"native modules for x64 are made on x86-64, and this computer is {platform.machine()}",
            hint="choose the architecture of your board with --arch", kind="usage",
        )
    return find(board, kind)


def _digest(build: Build | ProgramBuild, architecture: Architecture, constants: bytes, description: bytes) -> bytes:
    """What ties the files together: everything that either is made from."""
    digest = hashlib.sha256(f"{architecture.name} {build.board.flags} {build.options.optimize}".encode())
    files = {name: text for name, text in build.module.files.items() if name.endswith((".c", ".h", ".S"))}
    for name, text in sorted(files.items()):
        digest.update(name.encode() + hashlib.sha256(text.encode() if isinstance(text, str) else text).digest())
    for part in (constants, description, *(path.read_bytes() for path in sorted(_SOURCES.iterdir()))):
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()[:8]


def _compile(compiler: Toolchain, build: Build | ProgramBuild, work: Path, model: str) -> list[str]:
    """The objects; the module's own C is for every core of the architecture, so that it can look at the core."""
    source, name = work / "source", build.name
    source.mkdir()
    for file, content in build.module.files.items():
        if file.endswith((".c", ".h", ".S")) and not file.startswith(f"{name}_weights."):
            (source / file).write_bytes(content.encode() if isinstance(content, str) else content)
    (work / "pl_model.h").write_text(model, encoding="utf-8", newline="\n")
    level = "-Os" if compiler.kind == "zig" else _OPTIMIZE[build.options.optimize]
    own = [file for file in build.module.metadata["sources"] if not file.startswith(f"{name}_weights.")]
    units = [Unit(source / file, f"model/{file}.o", (level, *_flags(compiler, build.board))) for file in own]
    compile_units(compiler, build.board, work, units)
    include = [part for folder in (_SOURCES, work, source) for part in ("-iquote", str(folder))]
    plainest = _plainest(build.board)
    glue = Unit(_SOURCES / "module.c", "module.o", ("-Os", *_flags(compiler, plainest), *include))
    compile_units(compiler, plainest, work, [glue])
    return [*(unit.object for unit in units), glue.object]


def _flags(compiler: Toolchain, board: Board) -> tuple[str, ...]:
    """Addresses in whole words, which can be corrected, or relative to the instruction."""
    if compiler.kind == "zig" and board.toolchain == "arm-none-eabi":
        return tuple(f"{flag}+no_movt" for flag in compiler.flags(board) if flag.startswith("-mcpu="))
    return _FLAGS[board.toolchain]


def _plainest(board: Board) -> Board:
    """A core of the same architecture without Helium."""
    return boards.load("mps2-an500") if "mve" in board.isa else board


def _names(entries: Sequence[NativeEntry]) -> list[str]:
    """The strings of this module: those of every one, its entry points and the types of its outputs."""
    found = [*_NAMES, *(entry.name for entry in entries)]
    found += [port.row["dtype"] for entry in entries for port in entry.outputs]
    return list(dict.fromkeys(found))


def _model_header(
    build: Build | ProgramBuild, entries: Sequence[NativeEntry], names: Sequence[str], file: bytes
) -> str:
    """pl_model.h: what csrc/mpy/module.c has to know of the model and its weights file."""
    name, metadata = build.name, build.module.metadata
    ports = [port for entry in entries for port in (*entry.inputs, *entry.outputs)]
    constants, description, crc = (int.from_bytes(file[at : at + 4], "little") for at in (16, 20, 24))
    numbers = {word: number for number, word in enumerate(names, 1)}
    lines = [
        f'#include "{name}.h"', "", f"typedef {name}_t pl_memory;",
        f'#define PL_MODEL "{name}"', f"#define PL_RESET {name}_reset",
        f"#define PL_HEADER {{{', '.join(map(str, file[:32]))}}}", f"#define PL_CRC {crc}u",
        f"#define PL_ARENA_BYTES {metadata['arena_bytes']}u", f"#define PL_STATE_BYTES {metadata['state_bytes']}u",
        f"#define PL_WEIGHTS_BYTES {constants}u", f"#define PL_ABOUT_BYTES {description}u",
        f"#define PL_HELIUM {int('mve' in build.board.isa) * 2}",
        f"#define PL_LENGTHS {int(any(port.port.is_size for port in ports))}",
        f"#define PL_ENTRIES {len(entries)}u",
        f"#define PL_PORTS {max(1, *(len(entry.inputs) + len(entry.outputs) for entry in entries))}",
        "#define PL_EACH_ENTRY(X) " + " ".join(f"X({number})" for number in range(len(entries))),
        "", "enum {", *(f"    PL_NAME_{word} = {number}," for word, number in numbers.items()), "};", "", _TYPES,
    ]
    for number, entry in enumerate(entries):
        for way, rows in (("inputs", entry.inputs), ("outputs", entry.outputs)):
            table = [f"    {row.c(numbers.get(row.row['dtype'], 0))}," for row in rows]
            lines += [f"static const pl_port pl_{way}_{number}[] = {{", *(table or ["    {0},"]), "};"]
    lines.append("static const pl_entry pl_entries[] = {")
    for number, entry in enumerate(entries):
        seen = [sum(not port.port.is_size for port in rows) for rows in (entry.inputs, entry.outputs)]
        lines.append(
            f"    {{{entry.function}, pl_inputs_{number}, pl_outputs_{number}, {numbers[entry.name]}, "
            f"{len(entry.inputs)}, {len(entry.outputs)}, {seen[0]}, {seen[1]}}},"
        )
    return "\n".join([*lines, "};", ""])


_TYPES = """\
/* An input or output; `word` is its name for people. */
typedef struct {
    const char *word;
    uint32_t offset, bytes, least, most;
    char letter;
    uint8_t is_size, length, permuted, number;
    uint16_t dtype;
} pl_port;

typedef struct {
    void (*run)(const pl_memory *);
    const pl_port *inputs, *outputs;
    uint16_t name, input_count, output_count, arguments, results;
} pl_entry;
"""


def _package(name: str, url: str) -> str:
    """What `mip` reads: file names, and where they come from, which may be relative."""
    base = url.rstrip("/") + "/" if url else ""
    files = [f"{name}.mpy", f"{name}.bin"]
    return json.dumps({"urls": [[file, base + file] for file in files], "version": "1"}, indent=2) + "\n"
