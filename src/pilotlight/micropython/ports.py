"""The ports of MicroPython that builds are made for: what make is told, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError

BOARDS = Path(__file__).parent / "boards"
HOST = "host"
_UNIX = {
    "VARIANT": "standard", "MICROPY_PY_SSL": "0", "MICROPY_SSL_MBEDTLS": "0", "MICROPY_PY_BTREE": "0",
    "MICROPY_PY_FFI": "0",  # these need libraries that are not in the source package
    "MICROPY_PY_THREAD": "0",  # the port's threads run C at the same time, unlike any board's: tensors have no locks
    # Tables of addresses for the loader and for unwinding, which nothing here does, would be a third of the program.
    "CFLAGS_EXTRA": "-DPT_RECORD -fno-pie -fno-asynchronous-unwind-tables", "LDFLAGS_EXTRA": "-no-pie",
}
_SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"


@dataclass(frozen=True)
class Port:
    """`folder` is of MicroPython's ports, `product` the file that make leaves in its BUILD folder."""

    name: str
    folder: str
    product: str
    compiler: str
    package: str  # that brings the compiler
    board: Board | None = None
    variables: dict[str, str] = field(default_factory=dict)


def unix(sanitize: bool = False) -> Port:
    """This computer; with the sanitizers, only the module's own C is checked by the undefined-behaviour one."""
    variables = dict(_UNIX)
    if sanitize:
        variables |= {
            "PT_CFLAGS": _SANITIZE, "LDFLAGS_EXTRA": f"-no-pie {_SANITIZE}", "STRIP": ":",
            # a jump that the sanitizer knows: it leaves frames behind
            "CFLAGS_EXTRA": f"{_UNIX['CFLAGS_EXTRA']} -DMICROPY_NLR_SETJMP=1 -Wno-clobbered",
        }
    return Port("unix-sanitized" if sanitize else "unix", "unix", "micropython", "gcc", "gcc", None, variables)


def names() -> list[str]:
    """Boards with a definition for MicroPython."""
    return [HOST, *sorted(path.name for path in BOARDS.glob("*/") if (path / "mpconfigboard.mk").exists())]


def port(board: str, heap: int | None = None) -> Port:
    """The port of a board of Pilotlight's."""
    if board in (HOST, "unix"):
        return unix()
    if board not in names():
        boards.load(board)  # says what is wrong with a name that is none
        raise PilotlightError(
            f"there is no MicroPython build for the board {board}",
            hint=f"boards with one: {', '.join(names())}; `pilotlight micropython export` writes the module for others",
            kind="not-runnable",
        )
    found = boards.load(board)
    prefix = {"arm-none-eabi": "arm-none-eabi-", "riscv64-unknown-elf": "riscv64-unknown-elf-"}[found.toolchain]
    variables = {"BOARD": board, "BOARD_DIR": str(BOARDS / board)}
    if heap is not None:
        variables["MICROPY_HEAP_SIZE"] = str(heap)
    return Port(board, "qemu", "firmware.elf", f"{prefix}gcc", f"gcc-{found.toolchain}", found, variables)
