"""From a generated folder to images and figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pilotlight.boards import Board, Placement
from pilotlight.errors import DoesNotFitError, MissingToolError, PilotlightError
from pilotlight.toolchain.command import LinkError, run
from pilotlight.toolchain.find import Toolchain, find, reason_without
from pilotlight.toolchain.fit import MemoryUse, check_fit, memory_use
from pilotlight.toolchain.folder import ModelFolder, read_folder
from pilotlight.toolchain.linker import board_script, model_script
from pilotlight.toolchain.objects import (
    SANITIZE,
    STARTUP,
    Unit,
    buffer_flags,
    compile_units,
    marked_units,
    model_units,
    server_units,
    stepped_units,
)
from pilotlight.toolchain.ports import ports_header
from pilotlight.toolchain.sizes import Sizes, flash_bytes, model_sizes
from pilotlight.toolchain.stack import NO_ANALYSIS, stack_bytes

# clang's -O2 unrolls what is assembly anyway: a third more code for the same instructions.
_OPTIMIZE = {
    "gcc": {"speed": "-O2", "size": "-Os", "ram": "-O2"}, "zig": {"speed": "-Os", "size": "-Os", "ram": "-Os"},
}
# What the server and the start-up code use besides the model, with room for a fault's message.
_HARNESS_STACK = 576
WATCH_BYTES = 1024  # that a debug build keeps of a step, unless more are asked for
WINDOW_BYTES = 1024  # of code that a debug build for a board can be given


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
    place: Placement | None = None  # None on host

    @property
    def name(self) -> str:
        return self.folder.name

    def of_entry(self, name: str) -> BuildInfo:
        """The same with one entry point only, for its figures."""
        entries = tuple(entry for entry in self.folder.entries if entry.name == name)
        return dataclasses.replace(self, folder=dataclasses.replace(self.folder, entries=entries))

    @property
    def flash(self) -> dict[str, int | None]:
        """The model's bytes in memories that keep them without power."""
        return {"code": self.sizes.code, "weights": self.sizes.weights - self._weights_in_ram}

    @property
    def ram(self) -> dict[str, int | None]:
        """The model's bytes in memories that it writes; weights are there if they were put there."""
        arena, state = self.folder.arena_bytes, self.folder.state_bytes
        needs = {"arena": arena, "state": state, "static": self.sizes.static, "stack": self.stack}
        return needs | {"weights": self._weights_in_ram}

    @property
    def _weights_in_ram(self) -> int:
        in_ram = self.place is not None and self.board.memory(self.place.weights).kind == "ram"
        return self.sizes.weights - self.sizes.tables if in_ram else 0


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
    compiler: str | None = None,
    harness: bool | None = None,
    debug: bool = False,
    watch: int = WATCH_BYTES,
    figures: bool = True,
    window: int = WINDOW_BYTES,
) -> BuildInfo:
    """Compiles and links a generated folder for a board.

    check=False: a model too large for the board gives its figures (see BuildInfo.memory) and no image.
    need_compiler=False: without one, a board's code size and stack are unknown instead of an error.
    compiler: one of options.TOOLCHAINS; default: GCC where it is installed.
    harness: also make the image that boots; default: for boards that QEMU emulates.
    debug: its server can read what each step leaves in the arena (Device.intermediate) and, on a board, load and call
    code (Device.call); steps are not counted then. watch: how many bytes of a step it keeps in a run; window: how many
    bytes of code it has room for.
    figures=False: only the image that boots, sooner; its steps cannot be counted, and code sizes are unknown.
    """
    if optimize not in _OPTIMIZE["gcc"]:
        raise PilotlightError(f"optimize is {' or '.join(_OPTIMIZE['gcc'])}, not {optimize!r}", kind="usage")
    if sanitize and not board.is_host:
        raise PilotlightError(f"sanitizers run on the host only, not on {board.name}", kind="usage")
    model = read_folder(Path(folder).resolve())
    work = Path(workdir).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if board.is_host:
        found = find(board, compiler)
        if sanitize and found.kind == "zig":
            raise _no_sanitizers(compiler)
        return _Builder(model, board, found, work, optimize, watch if debug else 0).host(sanitize)
    place = board.placement(weights_in, arena_in)
    runs = (board.emulator is not None if harness is None else harness) and not (model.needs or model.fails)
    reason = None if compiler else reason_without(board, need_compiler)
    if reason:
        sizes = Sizes(None, model.weights_bytes, 0, None, 0, reason)
        info = BuildInfo(model, board, None, work, None, None, sizes, None, reason, ())
    else:
        found = find(board, compiler)
        if found.kind == "zig" and model.calls_libc:
            raise PilotlightError(
                f"a part of {model.name} calls the C library, which zig does not have for boards",
                hint="use GCC: --toolchain gcc", kind="unsupported",
            )
        builder = _Builder(model, board, found, work, optimize, watch if debug else 0, window)
        info = builder.bare(place, check, runs) if figures else builder.image_only(place)
    uses = memory_use(board, place, model, info.sizes, info.stack)
    if check:
        check_fit(board, uses)
    return dataclasses.replace(info, memory=uses, place=place)


def _no_sanitizers(wanted: str | None) -> PilotlightError:
    """zig would take the flags and check nothing."""
    if wanted == "zig":
        return PilotlightError("zig has no sanitizers", hint="omit the choice of zig: GCC has them", kind="usage")
    return MissingToolError("gcc", "gcc", "for sanitizers, which zig does not have")


@dataclass(frozen=True)
class _Builder:
    model: ModelFolder
    board: Board
    toolchain: Toolchain
    work: Path
    goal: str
    watch: int = 0  # of a debug build
    window: int = WINDOW_BYTES

    @property
    def optimize(self) -> str:
        return _OPTIMIZE[self.toolchain.kind][self.goal]

    def bare(self, place: Placement, check: bool, harness: bool) -> BuildInfo:
        """The model alone for its figures; with the harness also the image that boots."""
        plain = model_units(self.model, [self.optimize])
        marked: list[Unit] = []
        if harness:
            looked_at = stepped_units if self.watch else marked_units
            marked = [*looked_at(self.model, plain, [self.optimize]), *self._server(place)]
        self._compile([*plain, *marked])
        self._write("model.ld", model_script(self.model.name, self.board, place, self._kept()))
        absent = [f"-Wl,--defsym={name}=0" for name in self.model.needs]
        alone = self._link(f"{self.model.name}.model.elf", "model.ld", self.model.entries[0].function, plain, absent)
        stack = self._stack(alone, plain)
        info = BuildInfo(
            folder=self.model,
            board=self.board,
            toolchain=self.toolchain,
            workdir=self.work,
            image=None,
            model_image=alone,
            sizes=model_sizes(alone),
            stack=stack,
            stack_reason=self._no_stack() if stack is None else None,
            memory=(),
        )
        if not marked:
            return info
        try:
            return self._board_image(info, marked, place)
        except DoesNotFitError:
            if check:
                raise
            return info

    def image_only(self, place: Placement) -> BuildInfo:
        """The image that boots and nothing else: linked once to find its stack, and once with room for that."""
        model = model_units(self.model, [self.optimize])
        units = [*(stepped_units(self.model, model, [self.optimize]) if self.watch else model), *self._server(place)]
        self._compile(units)
        stack = self._stack(self._link_image(units, place, 0), units)
        image = self._link_image(units, place, stack)
        sizes = Sizes(None, self.model.weights_bytes, 0, None, 0, "only the image that boots was built")
        reason = NO_ANALYSIS if stack is None else None
        return BuildInfo(
            self.model, self.board, self.toolchain, self.work, image, None, sizes, stack, reason, ()
        )

    def _server(self, place: Placement) -> list[Unit]:
        buffers = buffer_flags(self.board.memory(place.stack).size)
        return server_units(self.model, self._with_ports(), self._startup(), buffers, self.watch, self.window)

    def _link_image(self, units: list[Unit], place: Placement, stack: int | None) -> Path:
        self._write("board.ld", board_script(self.model.name, self.board, place, (stack or 0) + _HARNESS_STACK))
        try:
            return self._link(f"{self.model.name}.elf", "board.ld", "pl_reset", units)
        except DoesNotFitError as error:
            error.where = f"board {self.board.name}"
            raise

    def _board_image(self, info: BuildInfo, units: list[Unit], place: Placement) -> BuildInfo:
        """Adds the image that boots; the stack bound holds for both, and what it adds is harness."""
        image = self._link_image(units, place, info.stack)
        stack = self._stack(image, units)
        harness = flash_bytes(image) - (info.sizes.code or 0) - info.sizes.weights
        return dataclasses.replace(
            info,
            image=image,
            sizes=dataclasses.replace(info.sizes, harness=harness),
            stack=None if stack is None or info.stack is None else max(stack, info.stack),
        )

    def host(self, sanitize: bool) -> BuildInfo:
        """An ordinary program that speaks the protocol on its standard input and output."""
        extra = SANITIZE if sanitize else []
        plain = model_units(self.model, [self.optimize, *extra])
        server = server_units(self.model, self._with_ports(), None, extra, self.watch)
        used = stepped_units(self.model, plain, [self.optimize, *extra]) if self.watch else plain
        self._compile([*plain, *used, *server])
        image = self.work / f"{self.model.name}.host"
        objects = [unit.object for unit in (*used, *server)]
        run([*self.toolchain.command, *extra, *objects, "-o", str(image)], cwd=self.work)
        alone, sizes = None, Sizes(None, self.model.weights_bytes, 0, None, 0, "built with sanitizers")
        if not sanitize:
            static = ["-static", "-Wl,--build-id=none", *(f"-Wl,-u,{name}" for name in self._kept()[1:])]
            alone = self._link(f"{self.model.name}.model.elf", None, self._kept()[0], plain, static)
            sizes = model_sizes(alone)
        return BuildInfo(
            folder=self.model,
            board=self.board,
            toolchain=self.toolchain,
            workdir=self.work,
            image=image,
            model_image=alone,
            sizes=sizes,
            stack=None,
            stack_reason="the stack is worked out for boards only",
            memory=(),
            sanitize=sanitize,
        )

    def _startup(self) -> str:
        name = self.board.startup
        if name in STARTUP:
            return name
        raise PilotlightError(
            f"emulator.startup: unknown start-up {name!r}; known are: {', '.join(STARTUP)}",
            where=str(self.board.path),
            kind="bad-board",
        )

    def _compile(self, units: list[Unit]) -> None:
        compile_units(self.toolchain, self.board, self.work, units)

    def _link(
        self, name: str, script: str | None, entry: str, units: list[Unit], extra: Iterable[str] = ()
    ) -> Path:
        """An image of objects, the compiler's own library, and the C library where a part of the model calls it."""
        args = [*self.toolchain.command, *self.toolchain.flags(self.board), "-nostdlib", "-Wl,--gc-sections"]
        args += [f"-Wl,--entry={entry}", *(["-T", script] if script else []), *extra]
        args += [unit.object for unit in units]
        libc = []
        if self.model.calls_libc:  # a computer's is large, and no part of the model
            libc = ["-Wl,--unresolved-symbols=ignore-all"] if self.board.is_host else ["-lc"]
        libraries = [[], ["-lcompiler_rt"]] if self.toolchain.kind == "zig" else [["-Wl,-n", *libc, "-lgcc"]]
        for library in libraries:
            try:
                run([*args, *library, "-o", name], cwd=self.work)
                break
            except LinkError:  # zig compiles its library for each kind of core, so only if it is needed
                if library == libraries[-1]:
                    raise
        return self.work / name

    def _kept(self) -> list[str]:
        """What nothing in the model refers to: entry points, and its weights, which it reaches through a pointer."""
        weights = [f"{self.model.name}_weights"] if self.model.weights_bytes else []
        return [*(entry.function for entry in self.model.entries), *weights]

    def _stack(self, elf: Path, units: list[Unit]) -> int | None:
        if self.model.needs:
            return None
        usage = [path for unit in units if (path := self.work / unit.usage).exists()]
        functions = [entry.function for entry in self.model.entries]
        return stack_bytes(self.toolchain, elf, functions, usage, self.model.asm_stack)

    def _no_stack(self) -> str:
        """Why the stack is not known."""
        if self.model.needs:
            return f"the stack of {self.model.needs[0]} and of what it calls is not known"
        return NO_ANALYSIS

    def _with_ports(self) -> Path:
        self._write("pl_ports.h", ports_header(self.model))
        return self.work

    def _write(self, name: str, text: str) -> None:
        (self.work / name).write_text(text, encoding="utf-8", newline="\n")
