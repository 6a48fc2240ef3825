"""What a user gets from a build: the files, and a report on their bytes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from rich.table import Table

from pilotlight.boards import Board
from pilotlight.device.flashing.uf2_file import read_uf2, uf2_blocks
from pilotlight.errors import PilotlightError
from pilotlight.installed import named_version
from pilotlight.micropython.ports import MicroPythonPort
from pilotlight.report.style import table
from pilotlight.toolchain.command import run
from pilotlight.toolchain.program import loaded_parts
from pilotlight.version import __version__

_LARGEST = 25  # operators that are shown
_ALLOCATED, _WRITABLE = 2, 1


def write_firmware(port: MicroPythonPort, program: Path, folder: Path) -> dict[str, Any]:
    """Copy the program, as .bin and .hex too for a board, and write report.json."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [program.name]
    shutil.copy2(program, folder / program.name)
    made = {"versions": {"pilotlight": __version__, "compiler": named_version(port.compiler)}}
    report: dict[str, Any] = {"board": port.name, "made": made, "sizes": elf_sizes(program)}
    if port.board is not None:
        objcopy = port.compiler.removesuffix("gcc") + "objcopy"
        for kind, ending in (("binary", "bin"), ("ihex", "hex")):
            files.append(f"firmware.{ending}")
            run([objcopy, "-O", kind, str(program), str(folder / files[-1])])
        if port.is_emulated:
            report |= json.loads((program.parent / "report.json").read_text(encoding="utf-8"))
        elif port.board.flashing.uf2_family is not None:
            files.append("firmware.uf2")
            report["uf2"] = _write_uf2(program, port.board, folder / files[-1])
    report |= {"folder": str(folder), "files": [*files, "report.json"]}
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8", newline="\n")
    return report


def _write_uf2(program: Path, board: Board, path: Path) -> dict[str, Any]:
    """The file that is dropped onto the board's drive, read again and compared with the program and the flash."""
    family = board.flashing.uf2_family
    assert family is not None and board.place is not None
    parts, flash = loaded_parts(program, board), board.memory(board.place.code)
    path.write_bytes(uf2_blocks(parts, family))
    written = read_uf2(path.read_bytes())
    end = max(part.address + len(part.data) for part in written.parts)
    if written.family != family or written.parts[0].address != flash.base or end > flash.base + flash.size:
        raise PilotlightError(
            f"the firmware is for family {written.family:#x} at {written.parts[0].address:#x} to {end:#x}; "
            f"{board.name} has family {family:#x} and flash at {flash.base:#x} to {flash.base + flash.size:#x}",
            where=str(path),
            kind="wrong-board",
        )
    for part in parts:
        if written.bytes_at(part.address, len(part.data)) != part.data:
            raise PilotlightError(f"it differs from the program at {part.address:#x}", where=str(path), kind="file")
    return {"family": family, "address": flash.base, "bytes": end - flash.base, "flash": flash.size}


def elf_sizes(path: Path) -> dict[str, int]:
    """Bytes of code and constants, of data, and of zero-initialized memory, as the tool `size` counts them."""
    sizes = {"text": 0, "data": 0, "bss": 0}
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if section["sh_flags"] & _ALLOCATED:
                kind = "bss" if section["sh_type"] == "SHT_NOBITS" else "data"
                kind = kind if section["sh_flags"] & _WRITABLE else "text"
                sizes[kind] += section["sh_size"]
    return sizes


def report_tables(report: dict[str, Any], everything: bool) -> list[Table | str]:
    """Totals, operators and Python modules with their bytes."""
    sizes = report["sizes"]
    with_heap = "" if "uf2" in report else "with the heap "
    shown: list[Table | str] = [
        f"{report['folder']}: {', '.join(report['files'])}",
        f"  flash {sizes['text'] + sizes['data']:,} bytes, static memory {with_heap}{sizes['bss']:,}; "
        f"made with {report['made']['versions']['compiler']}",
    ]
    if "uf2" in report:
        uf2 = report["uf2"]
        shown.append(f"  firmware.uf2: family {uf2['family']:#x}, {uf2['bytes']:,} of {uf2['flash']:,} bytes of flash "
                     f"from {uf2['address']:#x}; built, not run: no emulator has this board")
    if "operators" not in report:
        return shown
    totals = report["totals"]
    shown.append(
        f"  of the flash, torch has {totals['module']:,}: operators {totals['operators']:,}, their tables "
        f"{totals['tables']:,}, tensors {totals['tensor']:,}, Python {totals['python']:,}"
    )
    rows = sorted(report["operators"], key=lambda row: (-row["alone"], -row["shared"]))
    limit = len(rows) if everything else _LARGEST
    costs = table()
    for title in ("operator", "bytes of its own", "bytes with others"):
        costs.add_column(title, justify="left" if title == "operator" else "right")
    for row in rows[:limit]:
        costs.add_row(row["operator"], f"{row['alone']:,}", f"{row['shared']:,}")
    shown.append(costs)
    if len(rows) > limit:
        shown.append(f"and {len(rows) - limit} more: --all, or report.json")
    if report["python"]:
        python = table()
        python.add_column("Python module")
        python.add_column("bytes", justify="right")
        for name, size in report["python"].items():
            python.add_row(name, f"{size:,}")
        shown.append(python)
    return shown
