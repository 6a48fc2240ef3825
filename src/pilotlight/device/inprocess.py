"""An emulated board inside this process: Unicorn, with the same image and the same protocol as QEMU."""

from __future__ import annotations

import mmap
import struct
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const, riscv_const

from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.device.blocks import BlockCounter
from pilotlight.device.channel import EndedError, StalledError
from pilotlight.device.counts import CountsFile, labels_text
from pilotlight.device.device import Device
from pilotlight.device.where import describe_step, name_addresses
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.sizes import arm_architecture, symbols

VERSION = f"unicorn {unicorn.__version__}"
_PAGE = 4096
_SYSTEM_CONTROL = 0xE000E000  # of Cortex-M: start-up code switches the floating-point unit on there
_NEVER = 0xFFFFFFFE  # an address that is not reached
_OPEN, _WRITE0, _WRITE, _READ, _EXIT = 0x01, 0x04, 0x05, 0x06, 0x20  # semihosting
# Unicorn's number, and the architecture, whose instructions it does not hold the older cores to.
_CORES = {
    "cortex-m0": (arm_const.UC_CPU_ARM_CORTEX_M0, "Armv6-M"),
    "cortex-m0plus": (arm_const.UC_CPU_ARM_CORTEX_M0, "Armv6-M"),
    "cortex-m3": (arm_const.UC_CPU_ARM_CORTEX_M3, "Armv7-M"),
    "cortex-m4": (arm_const.UC_CPU_ARM_CORTEX_M4, "Armv7E-M"),
    "cortex-m7": (arm_const.UC_CPU_ARM_CORTEX_M7, "Armv7E-M"),
    "cortex-m33": (arm_const.UC_CPU_ARM_CORTEX_M33, "Armv8-M"),
}
_ARCHITECTURES = ("Armv6-M", "Armv7-M", "Armv7E-M", "Armv8-M", "Armv8.1-M")  # each has the one before it
_ARM_REGISTERS = (
    arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_LR, arm_const.UC_ARM_REG_PC,
)
_RISCV_REGISTERS = (
    riscv_const.UC_RISCV_REG_A0, riscv_const.UC_RISCV_REG_A1, riscv_const.UC_RISCV_REG_RA, riscv_const.UC_RISCV_REG_PC,
)
_ACCESS = {
    unicorn.UC_MEM_READ_UNMAPPED: "reads", unicorn.UC_MEM_WRITE_UNMAPPED: "writes",
    unicorn.UC_MEM_FETCH_UNMAPPED: "executes", unicorn.UC_MEM_WRITE_PROT: "writes to flash",
}


class Machine:
    """A core with a board's memories and an image, ready to start."""

    def __init__(self, board: Board, image: Path):
        self.arm = board.cpu in _CORES
        with image.open("rb") as file:
            elf = ELFFile(file)
            _check_core(elf, board, self.arm)
            self.uc = _core(board, self.arm)
            self.result, self.argument, self.link, self.pc = _ARM_REGISTERS if self.arm else _RISCV_REGISTERS
            _map(self.uc, board)
            self.entry = elf["e_entry"]
            for segment in elf.iter_segments("PT_LOAD"):
                if segment["p_filesz"]:
                    _check_place(board, segment["p_paddr"], segment["p_filesz"])
                    self.uc.mem_write(segment["p_paddr"], segment.data())
            text = elf.get_section_by_name(".text")
            assert text is not None
            self.code, self.code_base = text.data(), text["sh_addr"]
        if self.arm:  # the first word of the vector table
            self.uc.reg_write(arm_const.UC_ARM_REG_SP, struct.unpack("<I", self.code[:4])[0])

    def has_code(self, address: int) -> bool:
        return 0 <= address - self.code_base < len(self.code)


def _core(board: Board, arm: bool) -> unicorn.Uc:
    if not arm:
        return unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(_CORES[board.cpu][0])
    uc.mem_map(_SYSTEM_CONTROL, _PAGE)
    return uc


def _map(uc: unicorn.Uc, board: Board) -> None:
    """The board's memories, in whole pages."""
    total = sum(memory.size for memory in board.memories)
    try:
        mmap.mmap(-1, total).close()  # Unicorn would end this process
    except OSError as error:
        raise PilotlightError(
            f"this computer has not enough memory to emulate the {total:,} bytes of {board.name}",
            where=f"board {board.name}", hint="close other programs, or use QEMU", kind="memory",
        ) from error
    for memory in board.memories:
        access = unicorn.UC_PROT_ALL if memory.kind == "ram" else unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
        first, last = memory.base // _PAGE, -(-(memory.base + memory.size) // _PAGE)
        try:
            uc.mem_map(first * _PAGE, (last - first) * _PAGE, access)
        except unicorn.UcError as error:
            raise PilotlightError(
                f"memory {memory.name} is in a page of {_PAGE:,} bytes with another one, which Unicorn cannot do",
                where=str(board.path or f"board {board.name}"), hint="check base and size, or use QEMU",
                kind="bad-board",
            ) from error


def _check_core(elf: ELFFile, board: Board, arm: bool) -> None:
    """The image must not have instructions that the core lacks."""
    if (elf["e_machine"] == "EM_ARM") != arm:
        wanted, own = elf.get_machine_arch(), "ARM" if arm else "RISC-V"
    elif arm:
        wanted, own = arm_architecture(elf) or _ARCHITECTURES[0], _CORES[board.cpu][1]
        if _ARCHITECTURES.index(wanted) <= _ARCHITECTURES.index(own):
            return
    else:
        return
    raise _wrong_board(
        board, f"has instructions of {wanted}; {board.cpu}, the core of {board.name}, has only those of {own}"
    )


def _check_place(board: Board, address: int, count: int) -> None:
    """Bytes of the image must be in one memory."""
    what, end = f"has {count:,} bytes at {address:#010x}", address + count
    for memory in board.memories:
        if memory.base <= address < memory.base + memory.size:
            over = end - memory.base - memory.size
            if over > 0:
                raise _wrong_board(board, f"{what}, {over:,} more than {memory.name} of {board.name} holds")
            return
    raise _wrong_board(board, f"{what}, outside the memories of {board.name}")


def _wrong_board(board: Board, image: str) -> PilotlightError:
    return PilotlightError(
        f"the image {image}", where=f"board {board.name}", hint="build the model for this board", kind="wrong-board"
    )


class SemihostingChannel:
    """Runs the machine when something is to be read from it; its semihosting calls are answered here."""

    reliable = True

    def __init__(self, machine: Machine, semihost: int):
        self._machine, self._uc = machine, machine.uc
        self.at = machine.entry  # where it goes on, or stopped
        self._to_board, self._from_board = bytearray(), bytearray()
        self._waits = self._ended = self._closed = False
        self._thread: threading.Thread | None = None
        self._start, self._stop = threading.Semaphore(0), threading.Semaphore(0)
        self._access: tuple[int, int] | None = None
        self.text = bytearray()
        self._uc.hook_add(unicorn.UC_HOOK_CODE, self._semihost, begin=semihost, end=semihost)
        self._uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._invalid)

    def write(self, data: bytes, timeout: float) -> None:
        if self._ended:
            raise EndedError
        self._to_board += data

    def read(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        while not self._from_board:
            if self._ended:
                raise EndedError
            if self._waits and not self._to_board:
                raise StalledError
            self._go(deadline)
        got = bytes(self._from_board)
        self._from_board.clear()
        return got

    def _go(self, deadline: float) -> None:
        """In a thread of its own, so that Ctrl-C and the clock are heard."""
        self._waits = False
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._start.release()
        stopped = False
        try:
            stopped = self._stop.acquire(timeout=min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
            if not stopped:
                raise StalledError
        finally:
            while not stopped:
                self._ended = True
                self._uc.emu_stop()
                stopped = self._stop.acquire(timeout=0.1)

    def _work(self) -> None:
        while True:
            self._start.acquire()
            if self._closed:
                return
            self._execute()
            self._stop.release()

    def _execute(self) -> None:
        try:
            self._uc.emu_start(self.at | self._machine.arm, _NEVER)
            self.at = self._uc.reg_read(self._machine.pc)
        except unicorn.UcError as error:
            self._ended = True
            self.at = self._uc.reg_read(self._machine.pc)
            self.text += self._fault(error).encode()

    def close(self) -> None:
        """Ends the thread; safe to call twice."""
        self._ended = self._closed = True
        if self._thread is not None:
            self._start.release()
            self._thread.join()
            self._thread = None

    def _fault(self, error: unicorn.UcError) -> str:
        trapped = error.errno == unicorn.UC_ERR_EXCEPTION and not self._machine.arm
        if trapped:  # Unicorn is past the instruction then, whatever its length
            self.at -= 4
        at = f"fault: pc={self.at:#010x}"
        if self._access is not None:
            access, address = self._access
            return f"{at} {_ACCESS.get(access, 'uses')} {address:#010x}, where the board has no such memory"
        if trapped or error.errno == unicorn.UC_ERR_INSN_INVALID:
            return f"{at} is no instruction of this core"
        return f"{at}: {error}"

    def _invalid(self, uc: unicorn.Uc, access: int, address: int, size: int, value: int, data: Any) -> bool:
        self._access = access, address
        return False

    def _semihost(self, uc: unicorn.Uc, address: int, size: int, data: Any) -> None:
        machine = self._machine
        operation, block = uc.reg_read(machine.result), uc.reg_read(machine.argument)
        result = 0
        if operation == _WRITE0:
            self.text += self._text_at(block)
        elif operation == _EXIT:
            self._ended = True
        else:
            first, where, length = struct.unpack("<3I", uc.mem_read(block, 12))
            if operation == _OPEN:
                result = 1 if bytes(uc.mem_read(first, length)) == b"to_board" else 2
            elif operation == _WRITE:
                self._from_board += uc.mem_read(where, length)
            elif operation == _READ:
                self._waits = not self._to_board
                part = bytes(self._to_board[:length])
                del self._to_board[:length]
                uc.mem_write(where, part)
                result = length - len(part)
        if self._waits or self._ended:  # goes on with this same call
            uc.emu_stop()
            return
        uc.reg_write(machine.result, result)
        uc.reg_write(machine.pc, uc.reg_read(machine.link))

    def _text_at(self, address: int) -> bytes:
        text = bytearray()
        while (byte := self._uc.mem_read(address + len(text), 1)[0]) and len(text) < _PAGE:
            text.append(byte)
        return bytes(text)


class InProcessDevice(Device):
    """A core in this process; boots at once."""

    channel_type: type[SemihostingChannel] = SemihostingChannel

    def __init__(self, build: BuildInfo, timeout: float, count: bool):
        super().__init__(build.folder, build.board.name, timeout)
        self.build = build
        if build.image is None:
            raise PilotlightError(f"there is no image of {build.name} to boot", kind="not-runnable")
        self.emulator = VERSION
        self._image = build.image
        machine = self._machine = Machine(build.board, build.image)
        self._channel = self.channel_type(machine, symbols(build.image)["pl_semihost"])
        self._folder = scratch_folder("device-")
        self._counter = self._make_counter(machine, count)
        self._client = self._new_client(self._channel)
        self._greet_or_close()

    def _make_counter(self, machine: Machine, count: bool) -> BlockCounter | None:
        if not count:
            self.counts_reason = "counting was switched off"
            return None
        labels, out = Path(self._folder.name) / "labels.txt", self._counts_file.path
        labels.write_text(labels_text(self.build.folder, self._image), encoding="utf-8", newline="\n")
        try:
            return BlockCounter(machine.uc, machine.code, machine.code_base, machine.arm, labels, out)
        except MissingToolError as error:
            self.counts_reason = error.message
        except OSError as error:
            self.counts_reason = f"the instruction counter cannot be stored: {error}"
        return None

    @cached_property
    def _counts_file(self) -> CountsFile:
        return CountsFile(Path(self._folder.name) / "counts.txt")

    def _collect(self) -> None:
        if self._counter is not None:
            self.counts = self._counts_file.read()

    def _position(self) -> str:
        if self.counts and self.counts.stopped:
            step, block = self.counts.stopped
            address = self._channel.at if self._machine.has_code(self._channel.at) else block
            return f" in {describe_step(self.build, step)}, {name_addresses(self._image, f'pc={address:#010x}')}"
        return ""

    def _output(self) -> str:
        return name_addresses(self._image, self._words(self._channel.text.decode(errors="replace")))

    def _shut(self) -> None:
        self._channel.close()
        if self._counter is not None:
            self._counter.close()
            self._collect()
            self._counter = None
        self._folder.cleanup()
