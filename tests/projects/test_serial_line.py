"""Drivers of serial lines for boards that nothing emulates: the program on a core of Unicorn, with the line's registers
as the vendor describes them. Whether a board's pins are the right ones, only a board can tell."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const

from pilotlight import boards
from pilotlight.device.frames import HELLO, Frame, FrameReader, pack
from support.booted_projects import NET, RUNS, built, values
from support.command_line import call_json

OTHERS = ["nucleo-f746zg", "stm32f746g-disco", "nucleo-l4r5zi", "nrf52840dk"]
BOARDS = ["nucleo-wb55rg", *(OTHERS if os.environ.get("PILOTLIGHT_ALL_BOARDS") else [])]
PAGE = 0x1000
SYSTEM_CONTROL, SYSTICK_VALUE = 0xE000E000, 0xE000E018
PATIENCE = 1000  # looks at a line on which nothing comes, until nothing more is expected


class Line:
    """A serial line of one kind on a core that runs an image; it takes and gives bytes."""

    def __init__(self, board: boards.Board, image: Path, given: bytes, enough: Callable[[bytes], bool]):
        assert board.uart is not None
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(getattr(arm_const, f"UC_CPU_ARM_{board.cpu.upper().replace('-', '_')}"))
        self.kind, self.base, self.given, self.enough = board.uart.kind, board.uart.base, given, enough
        self.sent = b""
        self._looks, self._ticks = 0, 0
        for memory in board.memories:
            self.uc.mem_map(memory.base, max(memory.size, PAGE))
        addresses = [self.base, SYSTEM_CONTROL, *(change.address for change in board.uart.set_up)]
        addresses += [0x50000000] if self.kind == "nrf" else []
        for page in {address // PAGE * PAGE for address in addresses}:
            self.uc.mem_map(page, PAGE)
        with image.open("rb") as file:
            elf = ELFFile(file)
            for segment in elf.iter_segments("PT_LOAD"):
                self.uc.mem_write(segment["p_paddr"], segment.data())
            self.entry = elf["e_entry"]
        assert board.place is not None
        self.uc.reg_write(arm_const.UC_ARM_REG_SP, self.word(board.memory(board.place.code).base))
        hooks = {"read": unicorn.UC_HOOK_MEM_READ, "written": unicorn.UC_HOOK_MEM_WRITE}
        for name, kind in hooks.items():
            for start in (self.base, SYSTEM_CONTROL):
                self.uc.hook_add(kind, getattr(self, name), begin=start, end=start + PAGE - 1)

    def run(self) -> bytes:
        self.uc.emu_start(self.entry, 0xFFFFFFFE, timeout=60_000_000)
        return self.sent

    def word(self, address: int) -> int:
        return int(struct.unpack("<I", self.uc.mem_read(address, 4))[0])

    def put(self, address: int, value: int) -> None:
        self.uc.mem_write(address, struct.pack("<I", value))

    def read(self, uc: unicorn.Uc, access: int, address: int, size: int, value: int, user: object) -> None:
        offset = address - self.base
        if address == SYSTICK_VALUE:
            self._ticks += 1
            self.put(address, 0xFFFF - self._ticks % 0xFFFF)
        elif self.kind == "nrf":
            if offset == 0x108:
                self.put(address, self._arrived())
            elif offset == 0x518:
                self._give(address)
        elif offset == 0x1C:
            self.put(address, 0x80 | 0x20 * self._arrived())
        elif offset == 0x24:
            self._give(address)

    def written(self, uc: unicorn.Uc, access: int, address: int, size: int, value: int, user: object) -> None:
        if address - self.base != (0x51C if self.kind == "nrf" else 0x28):
            return
        enabled = self.word(self.base + (0x500 if self.kind == "nrf" else 0))
        assert enabled == (4 if self.kind == "nrf" else 0xD)
        self.sent += bytes([value & 0xFF])
        if self.kind == "nrf":
            self.put(self.base + 0x11C, 1)
        if self.enough(self.sent):
            uc.emu_stop()

    def _arrived(self) -> int:
        self._looks = 0 if self.given else self._looks + 1
        if self._looks > PATIENCE:
            self.uc.emu_stop()
        return 1 if self.given else 0

    def _give(self, address: int) -> None:
        self.put(address, self.given[0])
        self.given = self.given[1:]


def program(name: str, app: str, folder: Path, *more: str) -> Path:
    (folder / "net.py").write_text(NET)
    call_json("new", folder / "node", f"{folder / 'net.py'}:net", "--board", name, "--app", app)
    return built(folder / "node", *more)


@pytest.mark.parametrize("name", BOARDS)
def test_a_server_answers(name: str, tmp_path: Path) -> None:
    board = boards.load(name)
    line = Line(board, program(name, "server", tmp_path), pack(Frame(HELLO, 0, 1234)), lambda sent: False)
    (answer,) = FrameReader().feed(line.run())
    assert answer is not None and (answer.kind, answer.session) == (HELLO, 1234)
    assert board.uart is not None
    for change in board.uart.set_up:
        assert line.word(change.address) & (change.set | change.clear) == change.set, change.what
    if board.uart.kind != "nrf":
        rate = line.word(line.base + 0x0C) / (256 if board.uart.kind == "stm32lp" else 1)
        assert board.uart.clock_hz is not None and board.uart.clock_hz / rate == pytest.approx(115200, rel=0.02)


def test_the_console_is_the_line(tmp_path: Path) -> None:
    image = program("nucleo-wb55rg", "run", tmp_path, f"-DRUNS={RUNS}")
    line = Line(boards.load("nucleo-wb55rg"), image, b"", lambda sent: b"RAM left\n" in sent)
    assert [len(run) for run in values(line.run().decode(), "scores")] == [5]
