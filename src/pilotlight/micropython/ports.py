"""The ports of MicroPython that can be built: the variables for make, and what it produces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.toolchain.find import compilers

BOARDS = Path(__file__).parent / "boards"
HOST = "host"
RP2 = "rp2"
_EMULATED = "qemu"
_UNIX = {
    "VARIANT": "standard", "MICROPY_PY_SSL": "0", "MICROPY_SSL_MBEDTLS": "0", "MICROPY_PY_BTREE": "0",
    "MICROPY_PY_FFI": "0",  # needs a library that is not in the source package
    "MICROPY_PY_THREAD": "0",  # the port's threads run C in parallel, unlike any board's, and tensors have no locks
    # Relocation and unwind tables, which nothing here uses, would be a third of the program.
    "CFLAGS_EXTRA": "-DPT_RECORD -fno-pie -fno-asynchronous-unwind-tables", "LDFLAGS_EXTRA": "-no-pie",
}
_SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"


@dataclass(frozen=True)
class MicroPythonPort:
    """A port with its options: `folder` is one of MicroPython's ports, `product` the file that make leaves in its BUILD
    folder."""

    name: str
    folder: str
    product: str
    compiler: str
    package: str  # that has the compiler
    board: Board | None = None
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def is_emulated(self) -> bool:
        return self.folder == _EMULATED


def unix(sanitize: bool = False) -> MicroPythonPort:
    """This computer; with the sanitizers, only the module's own C is checked by the undefined-behaviour one."""
    variables = dict(_UNIX)
    if sanitize:
        variables |= {
            "PT_CFLAGS": _SANITIZE, "LDFLAGS_EXTRA": f"-no-pie {_SANITIZE}", "STRIP": ":",
            # a jump that the sanitizer understands: it abandons frames
            "CFLAGS_EXTRA": f"{_UNIX['CFLAGS_EXTRA']} -DMICROPY_NLR_SETJMP=1 -Wno-clobbered",
        }
    name = "unix-sanitized" if sanitize else "unix"
    return MicroPythonPort(name, "unix", "micropython", "gcc", "gcc", None, variables)


def names() -> list[str]:
    """Boards that MicroPython runs on here."""
    return [HOST, *(board.name for board in boards.all_boards() if board.micropython)]


def built_names() -> list[str]:
    """Boards that firmware is built for, but that are not emulated."""
    return [board.name for board in boards.all_boards() if _rp2_board(board) and not board.micropython]


def _rp2_board(board: Board) -> str | None:
    """The name of a board in the port rp2."""
    folder, _, name = (board.names.micropython or "").partition("/")
    return name if folder == RP2 else None


def port(board: str, heap: int | None = None, runnable: bool = True) -> MicroPythonPort:
    """The port of a board: by its name, or by its TOML file. `runnable`: on this computer."""
    if board in (HOST, "unix"):
        return unix()
    found = boards.load(board)
    if found.is_host:
        return unix()
    compiler, package = compilers()[found.toolchain]
    of_rp2 = _rp2_board(found)
    if found.micropython is None and of_rp2 is not None and runnable:
        raise PilotlightError(
            f"MicroPython for {found.name} is built, but cannot be run here: no emulator has this board",
            hint=f"`pilotlight micropython build --board {found.name} -o DIR` writes firmware.uf2 for the board "
            f"itself; boards that run here: {', '.join(names())}",
            kind="not-runnable",
        )
    if found.micropython is None and of_rp2 is not None:
        if heap is not None:
            raise PilotlightError(f"the heap of {found.name} is all the memory that is left", hint="leave out --heap",
                                  kind="usage")
        return MicroPythonPort(
            found.name, RP2, "firmware.elf", compiler, package or found.toolchain, found, {"MICROPY_BOARD": of_rp2}
        )
    if found.micropython is None or found.emulator is None:
        raise PilotlightError(
            f"there is no MicroPython build for the board {found.name}",
            hint=f"boards with one: {', '.join([*names(), *built_names()])}; `pilotlight micropython export` writes "
            "the module for others",
            kind="not-runnable",
        )
    variables = {"BOARD": found.name}
    if heap is not None:
        variables["MICROPY_HEAP_SIZE"] = str(heap)
    return MicroPythonPort(
        found.name, _EMULATED, "firmware.elf", compiler, package or found.toolchain, found, variables
    )


def board_files(board: Board) -> dict[str, str]:
    """What MicroPython's makefiles read about a board, from its TOML file: file names and contents."""
    assert board.micropython and board.emulator and board.place and board.uart
    memories = {"FLASH": board.place.code, "RAM": board.place.stack, "HEAP": board.micropython.heap}
    values = {
        "QEMU_MACHINE": board.emulator.machine, "PT_NAME": board.cpu, "PT_CPU": " ".join(board.flags),
        "PT_UART": f"{board.uart.base:#x}", "PT_IRQ": board.micropython.irq,
        "PT_CLOCK": board.clock_hz,
    }
    lines = [f"{name} = {value}" for name, value in values.items()]
    regions = [(region, board.memory(name)) for region, name in memories.items()]
    return {
        "mpconfigboard.mk": "\n".join([*lines, f"include $(PT_BOARDS)/{board.emulator.startup}.mk", ""]),
        "memory.ld": "MEMORY\n{\n" + "".join(
            f"    {region} : ORIGIN = {memory.base:#010x}, LENGTH = {memory.size:#x}\n" for region, memory in regions
        ) + "}\n",
    }
