"""A board as plain data: what its TOML file says, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class MemoryNames:
    """What a memory is called where environments put code into it at start-up; None where they do not."""

    zephyr: str | None = None  # region of its linker script
    idf: str | None = None  # scheme of its linker fragments
    arduino: str | None = None  # what the core calls it


@dataclass(frozen=True)
class MemorySpeed:
    """How long a memory lets the core wait, at the board's clock, for each `line` of bytes that no cache holds; bytes
    of the cache (0: none); and whether the next line of code is fetched while one is executed."""

    waits: int
    line: int
    cache: int
    source: str
    prefetch: bool = False


@dataclass(frozen=True)
class Memory:
    """One run of addresses; `kind` is "flash" (read only while the model runs) or "ram"."""

    name: str
    kind: str
    base: int
    size: int
    names: MemoryNames = MemoryNames()
    speed: MemorySpeed | None = None  # where it is published


@dataclass(frozen=True)
class Power:
    """Currents of the chip: while it computes, for each MHz, and while it sleeps with its RAM kept."""

    microamps_per_mhz: float
    sleep_microamps: float
    volts: float
    source: str


@dataclass(frozen=True)
class Placement:
    """Names of the memories that hold each part unless the user says otherwise."""

    code: str
    weights: str
    arena: str
    stack: str


@dataclass(frozen=True)
class RegisterChange:
    """Bits of a register that are cleared and set, and what that does."""

    what: str
    address: int
    set: int
    clear: int = 0


@dataclass(frozen=True)
class Uart:
    """A serial line: where its registers are, and whose they are (UART_KINDS of parse.py)."""

    base: int
    kind: str
    clock_hz: int | None = None  # that its baud rate is divided from; by default the core's
    tx: int | None = None  # pins, where the line has to be told
    rx: int | None = None
    set_up: tuple[RegisterChange, ...] = ()  # the clocks and pins of the line, in order


@dataclass(frozen=True)
class Emulator:
    """How to emulate the board: program, machine, extra arguments, which start-up code."""

    program: str
    package: str
    machine: str
    startup: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class BoardNames:
    """What the board is called elsewhere; None where an environment does not have it."""

    zephyr: str | None = None  # as `west build -b` takes it
    mbed: str | None = None  # target of Mbed CE
    idf: str | None = None  # target of ESP-IDF
    arduino: str | None = None  # fully qualified board name
    platformio: str | None = None
    platformio_platform: str | None = None  # name or address of the platform that has the board; both or none
    micropython: str | None = None  # port of MicroPython and its board, PORT/BOARD


@dataclass(frozen=True)
class Flashing:
    """What each tool that writes a program to the board needs to know; None or empty where it does not."""

    pyocd: str | None = None  # target
    openocd: tuple[str, ...] = ()  # configuration files, in order
    esptool: str | None = None  # chip
    uf2: str | None = None  # the board id in the INFO_UF2.TXT of its volume
    uf2_family: int | None = None  # of the chip
    west: tuple[str, ...] = ()  # runners of Zephyr, the usual one first


@dataclass(frozen=True)
class MicroPython:
    """What a build of MicroPython also needs: the memory of its heap, and the interrupt of the serial line."""

    heap: str
    irq: int


_UNICORN_CORES = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")


@dataclass(frozen=True)
class Board:
    name: str
    title: str
    vendor: str
    cpu: str
    toolchain: str
    flags: tuple[str, ...] = ()
    isa: frozenset[str] = frozenset()
    fused: bool = False  # fused multiply-add is at least as fast as multiply, then add
    hides_loads: bool = False  # loads cost least between products that do not need them, not one after another
    clock_hz: int | None = None
    cycles: str | None = None  # name of a table in measure/cycles/
    power: Power | None = None  # where it is published
    uart: Uart | None = None  # the first serial line, where there is a driver for it
    memories: tuple[Memory, ...] = ()
    place: Placement | None = None
    emulator: Emulator | None = None
    micropython: MicroPython | None = None
    names: BoardNames = BoardNames()
    flashing: Flashing = Flashing()
    npus: tuple[str, ...] = ()  # configurations of an Ethos-U that the board may have, as `--npu` takes them
    usb: tuple[str, ...] = ()  # "vid:pid" of what appears when it is plugged in, in lower-case hex
    default: bool = False  # used if no board is named
    path: Path | None = field(default=None, compare=False)

    @property
    def is_host(self) -> bool:
        """The computer this runs on: no memories to fit, no start-up code, an ordinary process."""
        return not self.memories

    @property
    def runnable(self) -> bool:
        return self.is_host or self.emulator is not None or self.in_process

    @property
    def in_process(self) -> bool:
        """Whether Unicorn emulates the core, with the memories of this board; it does not know Helium."""
        return self.cpu in _UNICORN_CORES or self.cpu.startswith("rv32")

    @property
    def startup(self) -> str | None:
        """The kind of start-up code of an image that boots, where it can."""
        if self.emulator is not None:
            return self.emulator.startup
        return ("riscv" if self.cpu.startswith("rv32") else "cortex-m") if self.in_process else None

    def memory(self, name: str) -> Memory:
        for memory in self.memories:
            if memory.name == name:
                return memory
        names = ", ".join(m.name for m in self.memories) or "none"
        raise PilotlightError(
            f"board {self.name} has no memory named {name!r}; it has: {names}",
            where=str(self.path) if self.path else None,
            kind="unknown-memory",
        )

    def total(self, kind: str) -> int:
        """Bytes of all memories of one kind."""
        return sum(m.size for m in self.memories if m.kind == kind)

    def placement(self, weights_in: str | None = None, arena_in: str | None = None) -> Placement:
        """Where each part goes, with the user's choices; unknown memories and an arena in flash are refused."""
        if self.place is None:
            raise PilotlightError(
                f"board {self.name} has no memories to choose from", hint="omit the choice of a memory",
                kind="unknown-memory",
            )
        place = Placement(
            code=self.place.code,
            weights=self.place.weights if weights_in is None else weights_in,
            arena=self.place.arena if arena_in is None else arena_in,
            stack=self.place.stack,
        )
        self.memory(place.weights)
        if self.memory(place.arena).kind != "ram":
            ram = ", ".join(m.name for m in self.memories if m.kind == "ram")
            raise PilotlightError(
                f"the arena cannot be in {place.arena}, which the program cannot write",
                where=f"board {self.name}",
                hint=f"writable memories: {ram}",
                kind="unknown-memory",
            )
        return place
