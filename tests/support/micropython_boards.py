"""Firmware for boards that are not emulated, with and without torch: built, and checked as files. `make
micropython-boards` runs it; it needs minutes, and what it prints is in docs/micropython.md."""

from __future__ import annotations

import re
import struct
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

from pilotlight import boards
from pilotlight.device.flashing.uf2_file import Uf2Image, read_uf2
from pilotlight.micropython import ports
from pilotlight.micropython.build import build
from pilotlight.micropython.firmware import elf_sizes, write_firmware
from pilotlight.micropython.select import SMALL
from pilotlight.micropython.source import micropython_source

_BOOT2, _CRC_POLYNOMIAL = 256, 0x04C11DB7
_IMAGE_START = struct.pack("<I", 0xFFFFDED3)  # of a block that RP2350's boot ROM looks for in the first 4 KB


def boots_as(image: Uf2Image, base: int) -> str:
    """What the chip's boot ROM looks for at the start of flash."""
    first = image.bytes_at(base, 4096)
    assert first is not None
    if _IMAGE_START in first:
        return "image definition in the first 4 KB"
    crc = 0xFFFFFFFF
    for byte in first[: _BOOT2 - 4]:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (_CRC_POLYNOMIAL if crc & 1 << 31 else 0)) & 0xFFFFFFFF
    assert struct.unpack_from("<I", first, _BOOT2 - 4)[0] == crc, "the second-stage boot loader has a wrong checksum"
    return "second-stage boot loader with its checksum"


def before_files(board: boards.Board) -> int:
    """Bytes of flash before MicroPython's file system, as the port's header says."""
    assert board.names.micropython is not None and board.place is not None
    name = board.names.micropython.partition("/")[2]
    header = micropython_source() / "ports" / ports.RP2 / "boards" / name / "mpconfigboard.h"
    match = re.search(r"MICROPY_HW_FLASH_STORAGE_BYTES\s+\((.*)\)", header.read_text(encoding="utf-8"))
    assert match is not None
    size = board.memory(board.place.code).size
    numbers = [int(n) for n in re.findall(r"\b\d+\b", match[1])]
    storage = numbers[0] * numbers[1]
    return storage if "PICO_FLASH_SIZE_BYTES -" in match[1] else size - storage


def check(name: str) -> str:
    port = ports.port(name, runnable=False)
    board = boards.load(name)
    assert board.place is not None
    flash = board.memory(board.place.code)
    plain = elf_sizes(build(port, None))
    program = build(port, SMALL)
    sizes = elf_sizes(program)
    with program.open("rb") as file:
        elf = ELFFile(file)
        assert elf["e_machine"] == "EM_ARM" and elf["e_type"] == "ET_EXEC"
        assert flash.base <= elf["e_entry"] < flash.base + flash.size
        symbols = elf.get_section_by_name(".symtab")
        assert symbols is not None and symbols.get_symbol_by_name("pt_module")
        (top,) = symbols.get_symbol_by_name("__StackTop")
        (bottom,) = symbols.get_symbol_by_name("__StackBottom")
        (start,) = symbols.get_symbol_by_name("__GcHeapStart")
        (end,) = symbols.get_symbol_by_name("__GcHeapEnd")
    with tempfile.TemporaryDirectory() as folder:
        report = write_firmware(port, program, Path(folder))
        image = read_uf2((Path(folder) / "firmware.uf2").read_bytes())
    room = before_files(board)
    assert report["uf2"]["bytes"] <= room and image.family == board.flashing.uf2_family
    before, after = (s["text"] + s["data"] for s in (plain, sizes))
    heap, stack = end["st_value"] - start["st_value"], top["st_value"] - bottom["st_value"]
    return (
        f"| `{name}` | {before:,} | {after:,} | {after - before:,} | {room:,} | {heap:,} | {stack:,} | "
        f"{image.family:#x} at {image.parts[0].address:#x}; {boots_as(image, flash.base)} |"
    )


if __name__ == "__main__":
    print("| board | without torch | with torch | torch | flash before the file system | heap | stack | UF2 |")
    print("|---|---|---|---|---|---|---|---|")
    for built in ports.built_names():
        print(check(built), flush=True)
