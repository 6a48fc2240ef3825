"""A bare-metal image on a core of Unicorn, where there is no QEMU to boot it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const

from pilotlight.errors import MissingToolError

_ROOM = 0x400000  # more than any of the images takes of either memory
_PAGE = 0x1000
_SYSTEM_CONTROL = 0xE000E000  # where the floating-point unit is switched on
_WRITE0, _EXIT = 0x04, 0x20  # semihosting
_SERIAL, _POWER = 0x10000000, 0x100000  # of QEMU's riscv32 machine
_SECONDS = 300


@dataclass
class Ended:
    """What an image wrote and with which code it ended; None: it crashed or was too slow."""

    text: str = ""
    code: int | None = None


def run_image(image: Path, core: str, code: int, data: int) -> Ended:
    """A core by GCC's name, an image, and the addresses of its two memories."""
    ended = Ended()
    uc = _arm(core, ended) if core.startswith("cortex") else _riscv(ended)
    for base in (code, data):
        uc.mem_map(base, _ROOM)
    with image.open("rb") as file:
        elf = ELFFile(file)
        for segment in elf.iter_segments("PT_LOAD"):
            if segment["p_filesz"]:
                uc.mem_write(segment["p_paddr"], segment.data())
        entry = elf["e_entry"]
    if core.startswith("cortex"):
        uc.reg_write(arm_const.UC_ARM_REG_SP, struct.unpack("<I", uc.mem_read(code, 4))[0])
    try:
        uc.emu_start(entry, 0xFFFFFFFE, timeout=_SECONDS * 1_000_000)
    except unicorn.UcError:
        ended.code = None
    return ended


def _arm(core: str, ended: Ended) -> unicorn.Uc:
    model = getattr(arm_const, f"UC_CPU_ARM_{core.upper().replace('-', '_')}", None)
    if model is None:
        raise MissingToolError("qemu-system-arm", "qemu-system-arm", f"to run {core}")
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(model)
    uc.mem_map(_SYSTEM_CONTROL, _PAGE)

    def semihost(uc: unicorn.Uc, number: int, user: object) -> None:
        operation, block, pc = (uc.reg_read(r) for r in (
            arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_PC))
        if bytes(uc.mem_read(pc & ~1, 2)) != b"\xab\xbe":  # another exception than this break point
            uc.emu_stop()
        elif operation == _WRITE0:
            ended.text += bytes(uc.mem_read(block, 12)).split(b"\0")[0].decode()
            uc.reg_write(arm_const.UC_ARM_REG_PC, (pc + 2) | 1)
        elif operation == _EXIT:
            ended.code = struct.unpack("<I", uc.mem_read(block + 4, 4))[0]
            uc.emu_stop()

    uc.hook_add(unicorn.UC_HOOK_INTR, semihost)
    return uc


def _riscv(ended: Ended) -> unicorn.Uc:
    uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)

    def written(uc: unicorn.Uc, access: int, address: int, size: int, value: int, user: object) -> None:
        if address == _SERIAL:
            ended.text += chr(value & 0xFF)
        else:
            ended.code = 0
            uc.emu_stop()

    for base in (_SERIAL, _POWER):
        uc.mem_map(base, _PAGE)
        uc.hook_add(unicorn.UC_HOOK_MEM_WRITE, written, begin=base, end=base + 3)
    return uc
