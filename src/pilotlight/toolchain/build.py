"""From a generated folder to images and figures."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from pilotlight.boards import Board, Placement
from pilotlight.errors import PilotlightError
from pilotlight.toolchain.command import in_parallel, run
from pilotlight.toolchain.find import Toolchain, find, reason_without
from pilotlight.toolchain.fit import MemoryUse, check_fit, memory_use
from pilotlight.toolchain.folder import ModelFolder, read_folder
from pilotlight.toolchain.linker import board_script, model_script
from pilotlight.toolchain.ports import ports_header
from pilotlight.toolchain.sizes import Sizes, flash_bytes, model_sizes
from pilotlight.toolchain.stack import stack_bytes

DEVICE_SOURCES = Path(__file__).parent.parent / "csrc" / "device"

_OPTIMIZE = {"speed": "-O2", "size": "-Os"}
# Contraction off: the kernels say which multiplications and additions are fused, never the compiler.
_FLAGS = [
    *("-std=c99", "-ffp-contract=off", "-fno-common", "-fstack-usage"),
    *("-ffunction-sections", "-fdata-sections", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
]
_BARE_FLAGS = ["-ffreestanding"]
_SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g"]
_STARTUP = {
    "cortex-m": ("start_cortex_m.S", "fault_cortex_m.c"),
    "riscv": ("start_riscv.S",),
}
_BARE = ("server.c", "model.c", "io_semihosting.c", "fault.c")
_HOST = ("server.c", "model.c", "io_host.c")
# What the server and the start-up code use below the model, with room for a fault's message.
_HARNESS_STACK = 512


@dataclass(frozen=True)
class BuildInfo:
    """What a build gave. image boots (or runs, on host) and is None for a board that cannot be run here;
    model_image is the model alone, from which sizes are taken. Unknown figures are None with a reason."""

    folder: ModelFolder
    board: Board
    toolchain: Toolchain | None
    workdir: Path
    image: Path | None
    model_image: Path | None
    sizes: Sizes
    stack: int | None
    stack_reason: str | None
    memory: tuple[MemoryUse, ...]
    sanitize: bool = False

    @property
    def name(self) -> str:
        return self.folder.name


def build_model(
    folder: Path | str,
    board: Board,
    workdir: Path | str,
    optimize: str = "speed",
    weights_in: str | None = None,
    arena_in: str | None = None,
    sanitize: bool = False,
    check: bool = True,
    need_compiler: bool = True,
) -> BuildInfo:
    """Compiles and links a generated folder for a board.

    check=False lets a real board's overflow pass (see BuildInfo.memory); images that boot are always checked.
    need_compiler=False: without one, a board's code size and stack are unknown instead of an error.
    """
    if optimize not in _OPTIMIZE:
        raise PilotlightError(f"optimize is {' or '.join(_OPTIMIZE)}, not {optimize!r}", kind="usage")
    if sanitize and not board.is_host:
        raise PilotlightError(f"sanitizers run on the host only, not on {board.name}", kind="usage")
    model = read_folder(Path(folder).resolve())
    work = Path(workdir).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if board.is_host:
        return _Builder(model, board, find(board), work, _OPTIMIZE[optimize]).host(sanitize)
    place = board.placement(weights_in, arena_in)
    reason = reason_without(board, need_compiler)
    if reason:
        return _without_compiler(model, board, place, work, reason, check)
    return _Builder(model, board, find(board), work, _OPTIMIZE[optimize]).bare(place, check)


def _without_compiler(
    model: ModelFolder, board: Board, place: Placement, work: Path, reason: str, check: bool
) -> BuildInfo:
    sizes = Sizes(None, model.weights_bytes, 0, None, 0, reason)
    uses = memory_use(board, place, model, sizes, None)
    if check:
        check_fit(board, uses)
    return BuildInfo(model, board, None, work, None, None, sizes, None, reason, uses)


@dataclass(frozen=True)
class _Builder:
    model: ModelFolder
    board: Board
    toolchain: Toolchain
    work: Path
    optimize: str

    def bare(self, place: Placement, check: bool) -> BuildInfo:
        """The model alone for its figures; with an emulator also the image that boots."""
        emulator = self.board.emulator
        marked = emulator is not None
        plain, marks = self._model_objects(marked)
        alone = self._link_alone(plain, place)
        sizes = model_sizes(alone)
        stack = self._stack(alone, plain)
        image = None
        if emulator is not None:
            image, stack, harness = self._link_board(marks, place, stack, emulator.startup, sizes)
            sizes = dataclasses.replace(sizes, harness=harness)
        uses = memory_use(self.board, place, self.model, sizes, stack)
        if check:
            check_fit(self.board, uses)
        return BuildInfo(
            self.model, self.board, self.toolchain, self.work, image, alone, sizes, stack, None, uses
        )

    def host(self, sanitize: bool) -> BuildInfo:
        """An ordinary program that speaks the protocol on its standard input and output."""
        extra = _SANITIZE if sanitize else []
        plain, _ = self._model_objects(False, extra)
        self._write("pl_ports.h", ports_header(self.model))
        server = self._compile("server", [DEVICE_SOURCES / s for s in _HOST], [*extra, *self._include()])
        image = self.work / f"{self.model.name}.host"
        run([self.toolchain.gcc, *extra, *plain, *server, "-o", str(image)], cwd=self.work)
        alone, sizes = None, Sizes(None, self.model.weights_bytes, 0, None, 0, "built with sanitizers")
        if not sanitize:
            alone = self.work / f"{self.model.name}.model.elf"
            entry = [
                f"-Wl,-e,{self.model.name}_run",
                "-u",
                f"{self.model.name}_weights",
                "-Wl,--build-id=none",
            ]
            run(
                [self.toolchain.gcc, "-nostdlib", "-static", "-Wl,--gc-sections", *entry, *plain, "-lgcc"]
                + ["-o", str(alone)],
                cwd=self.work,
            )
            sizes = model_sizes(alone)
        reason = "the stack is worked out for boards only"
        return BuildInfo(
            self.model, self.board, self.toolchain, self.work, image, alone, sizes, None, reason, (), sanitize
        )

    def _model_objects(self, marked: bool, extra: list[str] | None = None) -> tuple[list[str], list[str]]:
        """Objects of the model as users compile it, and with step labels for counting where wanted.

        Only NAME.c has labels, so only it is compiled twice.
        """
        flags = [self.optimize, *(extra or [])]
        sources = [self.model.path / source for source in self.model.sources]
        plain = self._compile("model", sources, flags)
        if not marked:
            return plain, plain
        main = f"{self.model.name}.c"
        marks = self._compile("marks", [self.model.path / main], [*flags, "-DPILOTLIGHT_MARKS"])
        return plain, [*marks, *(o for o in plain if Path(o).name != f"{main}.o")]

    def _compile(self, group: str, sources: list[Path], flags: list[str]) -> list[str]:
        """Object files, relative to the work folder; each is compiled from its own folder, for .incbin."""
        (self.work / group).mkdir(exist_ok=True)
        objects = [f"{group}/{source.name}.o" for source in sources]
        bare = [] if self.board.is_host else _BARE_FLAGS

        def job(source: Path, target: str) -> None:
            args = [self.toolchain.gcc, *self.board.flags, *_FLAGS, *bare, *flags, "-c", str(source)]
            run([*args, "-o", str(self.work / target)], cwd=source.parent)

        in_parallel([lambda s=s, o=o: job(s, o) for s, o in zip(sources, objects, strict=True)])  # type: ignore[misc]
        return objects

    def _link_alone(self, objects: list[str], place: Placement) -> Path:
        name = self.model.name
        self._write("model.ld", model_script(name, self.board, place))
        return self._link(f"{name}.model.elf", "model.ld", [*objects, "-u", f"{name}_weights"])

    def _link_board(
        self, objects: list[str], place: Placement, stack: int, startup: str, sizes: Sizes
    ) -> tuple[Path, int, int]:
        """The image that boots, its stack bound (never below the model's alone) and its harness bytes."""
        if startup not in _STARTUP:
            raise PilotlightError(
                f"emulator.startup: unknown start-up {startup!r}; known are: {', '.join(_STARTUP)}",
                where=str(self.board.path),
                kind="bad-board",
            )
        name = self.model.name
        self._write("pl_ports.h", ports_header(self.model))
        sources = [DEVICE_SOURCES / source for source in (*_BARE, *_STARTUP[startup])]
        flags = ["-Os", "-DPL_BARE", f"-DPL_RUN={name}_run", *self._include()]
        objects = [*objects, *self._compile("server", sources, flags)]
        self._write("board.ld", board_script(name, self.board, place, stack + 64 + _HARNESS_STACK))
        try:
            image = self._link(f"{name}.elf", "board.ld", objects)
        except PilotlightError as error:
            error.where = error.where or f"board {self.board.name}"
            raise
        stack = max(stack, self._stack(image, objects))
        return image, stack, flash_bytes(image) - (sizes.code or 0) - sizes.weights

    def _link(self, name: str, script: str, objects: list[str]) -> Path:
        args = [
            self.toolchain.gcc,
            *self.board.flags,
            "-nostdlib",
            "-nostartfiles",
            "-Wl,--gc-sections",
            "-Wl,-n",
        ]
        run([*args, "-T", script, *objects, "-lgcc", "-o", name], cwd=self.work)
        return self.work / name

    def _stack(self, elf: Path, objects: list[str]) -> int:
        usage = [path for o in objects if (path := self.work / f"{o.removesuffix('.o')}.su").exists()]
        return stack_bytes(self.toolchain, elf, f"{self.model.name}_run", usage, self.model.asm_stack)

    def _include(self) -> list[str]:
        return ["-I", str(DEVICE_SOURCES), "-I", str(self.work), "-I", str(self.model.path)]

    def _write(self, name: str, text: str) -> None:
        (self.work / name).write_text(text)
