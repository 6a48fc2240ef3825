"""Graph → Build: passes, plan, emit, and what a user does with the result."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from pilotlight import boards, device, toolchain
from pilotlight.backends import Backend, add_backend, backends_on
from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.check import check_chosen
from pilotlight.codegen.target import Target
from pilotlight.emit.module import Module, emit_module
from pilotlight.errors import DoesNotFitError, MissingToolError, PilotlightError
from pilotlight.graph import Graph, Node
from pilotlight.graph.lengths import torch_ports, with_lengths
from pilotlight.graph.names import model_name
from pilotlight.graph.ports import describe_port, from_memory, to_memory, visible
from pilotlight.limits import Excess, other_places, over_budget, overflow_text
from pilotlight.npu.vela import check_configuration
from pilotlight.options import CMSIS_NN, Options
from pilotlight.passes.pipeline import Passes
from pilotlight.passes.pipeline import optimize as run_passes
from pilotlight.plan import Plan, make_plan
from pilotlight.quantize.choice import AutoQuantization
from pilotlight.selection import Choice, Offers, Selection, prepare, select_usual
from pilotlight.tune import flash
from pilotlight.tune.costs import Costs, read_costs
from pilotlight.tune.network import Network, Room
from pilotlight.tune.places import Place, place_key
from pilotlight.tune.ram import Saving, save_ram, select_low_scratch

Placed = TypeVar("Placed", bound="Image")


class Image:
    """The files of a model, and what a toolchain makes of them for boards."""

    module: Module
    board: Board
    options: Options
    written: dict[str, str | bytes]
    _folder: Path | None
    _temporary: list[tempfile.TemporaryDirectory[str]]

    @property
    def largest(self) -> Plan:
        """The plan that decides how large the arena is."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self.module.name

    @property
    def folder(self) -> Path:
        """The folder with the model's files for the toolchain; written on first use."""
        if self._folder is None:
            self._folder = self._scratch() / self.name
            self.module.write(self._folder)
        return self._folder

    def write(self, folder: Path | str) -> Path:
        """Write the files into the user's folder; only our own files are overwritten."""
        self.written = self.module.write(Path(folder))
        return Path(folder)

    def _scratch(self) -> Path:
        folder = scratch_folder(f"{self.name}-")
        self._temporary.append(folder)
        return Path(folder.name)

    @cached_property
    def info(self) -> toolchain.BuildInfo:
        """Compiled and linked for the board: sizes, stack, image."""
        return self.build_for(self.board)

    @cached_property
    def runnable_info(self) -> toolchain.BuildInfo:
        """`info` with an image that boots, which it has not where only Unicorn emulates the board."""
        needs = self.info.image is None and self.board.runnable
        return self.build_for(self.board, harness=True) if needs else self.info

    @cached_property
    def _image_only(self) -> toolchain.BuildInfo:
        return self.build_for(self.board, harness=True, figures=False)

    @contextlib.contextmanager
    def boot(self, board: Board, sanitize: bool, timeout: float, count: bool) -> Iterator[device.Device]:
        """A board that was started with this image. If nothing is counted, no figures are worked out for it."""
        if self.options.npu is not None:
            raise not_run(self.options.npu)
        self.refuse_needs("an image that boots")
        plain = not count and not board.is_host
        if board == self.board and not sanitize:
            info = self._image_only if plain and "info" not in vars(self) else self.runnable_info
        else:
            info = self.build_for(board, sanitize=sanitize, harness=True, figures=not plain)
        with device.open(board, info, timeout, count, self.options.emulator) as dev:
            yield dev

    def refuse_needs(self, what: str) -> None:
        """Raise an error if only the user's project makes the model whole: it calls functions that the model has not,
        such as a driver's, or does something about the error that a run returns."""
        needs = self.module.metadata.get("needs")
        if needs or self.module.metadata.get("fails"):
            why = f"calls {needs[0]}, which is no part of it" if needs else "may fail, which nothing here asks about"
            raise PilotlightError(
                f"{self.name} {why}, so {what} cannot be made here",
                hint="write its C with `pilotlight compile`, for a project of your own", kind="unsupported",
            )

    def build_for(
        self, board: Board, *, sanitize: bool = False, check: bool = True, need_compiler: bool = True,
        harness: bool | None = None, watch: int = 0, figures: bool = True,
    ) -> toolchain.BuildInfo:
        """Compiled for a board, with `harness` to run there, and with `watch` such that a run can keep so many bytes of
        what a step leaves; an overflow names the tensors that make it."""
        here = board == self.board
        try:
            return toolchain.build_model(
                self.folder, board, self._scratch(), self.options.optimize,
                self.options.weights_in if here else None, self.options.arena_in if here else None, sanitize,
                check, need_compiler, self.options.toolchain, harness, bool(watch), watch, figures,
            )
        except DoesNotFitError as error:
            raise TooLargeError(error.overflows, self, error.where) from error

    def measured(self) -> toolchain.BuildInfo:
        """`info`, even if the model does not fit the board or cannot be compiled here."""
        try:
            return self.info
        except (DoesNotFitError, MissingToolError):
            return self.build_for(self.board, check=False, need_compiler=False)

    def overflow(self, info: toolchain.BuildInfo) -> TooLargeError | None:
        """The error of a build that was not checked, if it does not fit."""
        overflows = {use.name: use.over for use in info.memory if use.over}
        return TooLargeError(overflows, self) if overflows else None

    def check_budget(self) -> None:
        """Raise an error if the user's limits are exceeded or cannot be checked."""
        excess = over_budget(self.options, self.measured(), self.largest)
        if excess is not None:
            raise BudgetError(excess, self)

    def close(self) -> None:
        for folder in self._temporary:
            folder.cleanup()


@dataclass
class Build(Image):
    """A compiled model: its plan, its files, and images of it for boards."""

    graph: Graph  # as captured
    lowered: Graph  # after the passes
    selection: Selection  # the kernels of the lowered graph's nodes
    plan: Plan
    module: Module
    board: Board
    options: Options
    saving: Saving | None = None  # of optimizing for RAM
    int8: dict[str, Any] | None = None  # metadata of the same model in int8, where a search chose wider results
    passes: Passes | None = None  # instead of the default ones
    place: Place | None = None  # what a file of measurements says about its memories, if that is heeded
    written: dict[str, str | bytes] = field(default_factory=dict)  # the files as `write` wrote them
    _folder: Path | None = None
    _temporary: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list)

    @property
    def largest(self) -> Plan:
        return self.plan

    @property
    def lowered_graphs(self) -> list[Graph]:
        return [self.lowered]

    @property
    def choices(self) -> Mapping[Node, Choice]:
        return self.selection.choices

    def run(
        self, *inputs: Any, on: str | Board | None = None, sanitize: bool = False,
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run once and return what PyTorch would: a tensor, or a tuple of them."""
        with self.open(on, sanitize=sanitize) as running:
            return running(*inputs, **(kwargs or {}))

    @contextlib.contextmanager
    def open(
        self, on: str | Board | None = None, *, sanitize: bool = False, timeout: float = 120.0,
        count: bool = True,
    ) -> Iterator[Running]:
        """Boot a board with this model on it."""
        board = self.board if on is None else boards.load(on) if isinstance(on, str) else on
        build = self if board == self.board or board.is_host else self._recompiled(board)
        with build.boot(board, sanitize, timeout, count) as dev:
            yield Running(dev, build.lowered)

    def _recompiled(self, board: Board) -> Build:
        elsewhere = replace(self.options, weights_in=None, arena_in=None, tuned=())
        return compile(self.graph, board=board, options=elsewhere, passes=self.passes)

    def for_speed(self) -> Build:
        """The same model compiled for speed, whatever it needs."""
        fast = replace(self.options, optimize="speed", max_ram=None)
        return compile(self.graph, self.board, options=fast, passes=self.passes)


def not_run(npu: str) -> PilotlightError:
    return PilotlightError(
        f"no emulator has an Ethos-U NPU, so a model for {npu} cannot be run here",
        hint="compile it for the board, or run it without the NPU, which gives the same integers", kind="not-runnable",
    )


class TooLargeError(DoesNotFitError):
    """A build that does not fit its board: the linker knows only bytes, the plan knows whose they are."""

    def __init__(self, overflows: dict[str, int], build: Image, where: str | None = None):
        super().__init__(overflows, where or f"board {build.board.name}")
        place = build.board.placement(build.options.weights_in, build.options.arena_in)
        self.build = build
        self.others = other_places(overflows, build.module.metadata, build.board, place)
        self.message += overflow_text(overflows, build.largest, place)
        self.hint = "; ".join([*self.others, "make the model smaller"])
        self.args = (self.message,)


class BudgetError(PilotlightError):
    """A limit set by the user that is exceeded or cannot be checked."""

    def __init__(self, excess: Excess, build: Image):
        self.excess, self.build = excess, build
        where = f"board {build.board.name}"
        super().__init__(excess.text(excess.option), where=where, hint=excess.hint, kind=excess.kind)

    def name_option(self, typed: str) -> None:
        """The command line shows the option as it was typed."""
        self.message = self.excess.text(typed)
        self.args = (self.message,)


class Running:
    """A model on a booted board: tensors in, tensors out, in PyTorch's shapes."""

    def __init__(self, dev: device.Device, graph: Graph, entry: int = 0):
        self.device = dev
        self.graph = graph
        self.entry = entry  # its number, of a model that has several entry points

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Inputs as forward takes them; those that were captured by keyword may come in any order."""
        names = self._keywords() if kwargs else []
        if kwargs and set(kwargs) != set(names):
            raise PilotlightError(
                f"{self.graph.name} takes {', '.join(names) or 'nothing'} by keyword, got {', '.join(kwargs)}",
                hint="give an input by keyword if the example did", kind="wrong-input",
            )
        outputs: list[Any] = list(self.flat(pytree.tree_leaves((inputs, [kwargs[name] for name in names]))))
        for place, value in self.graph.fixed:
            outputs.insert(place, value)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _keywords(self) -> list[str]:
        """The inputs that were captured by keyword, in the order of their memory."""
        return list(self.graph.truth.keywords)

    def flat(self, inputs: list[Any]) -> list[torch.Tensor]:
        """The tensors among the results."""
        ports = torch_ports(self.graph.inputs)
        if len(inputs) != len(ports):
            raise PilotlightError(
                f"{self.graph.name} takes {len(ports)} input{'s' if len(ports) != 1 else ''} "
                f"({', '.join(describe_port(p) for p in ports)}), got {len(inputs)}",
                kind="wrong-input",
            )
        given = with_lengths(self.graph.inputs, inputs)
        arrays = [to_memory(port, x) for port, x in zip(self.graph.inputs, given, strict=True)]
        written = self.device.run(arrays, entry=self.entry)
        outputs = [from_memory(port, array) for port, array in zip(self.graph.outputs, written, strict=True)]
        return visible(self.graph.outputs, outputs)

    def reset(self) -> None:
        self.device.reset()


def compile(
    graph: Graph, board: str | Board = "host", *, name: str | None = None, options: Options | None = None,
    source: str = "", passes: Passes | None = None, **choices: Any,
) -> Build:
    """Plan and write a captured graph for a board; `choices` are fields of Options. `passes` replace the default ones;
    the graph is checked after each."""
    if not isinstance(graph, Graph):
        raise PilotlightError(
            f"expected a captured graph, got {type(graph).__name__}",
            hint="capture the module first: pilotlight.capture(module, example_inputs)", kind="usage",
        )
    chosen, target_board = request(board, options, choices)
    lowered = graph.clone()
    if name is not None:
        lowered.name = model_name(name)
    lowered = run_passes(
        lowered, keep_io=chosen.torch_layout, float_io=chosen.float_io, check=passes is not None, chosen=passes,
        backends=backends_on(target_board, chosen),
    )
    check_taken(chosen, [lowered])
    return _build(graph, lowered, target_board, chosen, source, passes)


def check_taken(options: Options, lowered: Sequence[Graph]) -> None:
    """An NPU, or other kernels, that would be given nothing are a misunderstanding."""
    asked = {
        options.npu: "quantize the model: --quantize int8 --calibrate data.npz; or compile it without --npu",
        CMSIS_NN if options.cmsis_nn is not None else None:
            "quantize the model: --quantize int8 --numerics tflm --calibrate data.npz; or omit --cmsis-nn",
    }
    for name, hint in asked.items():
        found = [partition for graph in lowered for partition in graph.partitions if partition.backend == name]
        if name is None or any(partition.taken for partition in found):
            continue
        reasons = Counter(row["reason"] for partition in found for row in partition.refused)
        why = reasons.most_common(1)[0][0] if reasons else "it has no operators"
        raise PilotlightError(f"{name} takes nothing of {lowered[0].name}: {why}", hint=hint, kind="unsupported")


def select(
    lowered: Graph, board: str | Board = "host", *, options: Options | None = None, **choices: Any
) -> Selection:
    """Which kernel computes each node of a lowered graph under the budget of the options; the graph stays whole."""
    chosen, target_board = request(board, options, choices)
    if chosen.optimize == "ram":
        return select_low_scratch(lowered, Target.of(target_board), chosen.keep_inputs)[0]
    return _build(lowered, lowered, target_board, chosen).selection


def request(board: str | Board, options: Options | None, choices: dict[str, Any]) -> tuple[Options, Board]:
    """The options with the choices among them, and the board. A backend may be given itself instead of its name."""
    given = choices.get("backends", ())
    if isinstance(given, str | Backend):
        given = (given,)
    names = tuple(name if isinstance(name, str) else add_backend(name).name for name in given)
    chosen = replace(options or Options(), **choices | ({"backends": names} if "backends" in choices else {}))
    if chosen.npu is not None:
        check_configuration(chosen.npu)
    if chosen.cmsis_nn is not None:
        chosen = replace(chosen, cmsis_nn=str(chosen.cmsis_nn))  # plain data, for reports
    chosen = replace(chosen, tuned=tuple(map(str, chosen.tuned)))
    target_board = boards.load(board) if isinstance(board, str) else board
    if chosen.weights_in is not None or chosen.arena_in is not None:
        target_board.placement(chosen.weights_in, chosen.arena_in)  # refuses unknown memories before any work
    return chosen, target_board


def _build(
    graph: Graph, lowered: Graph, board: Board, options: Options, source: str = "", passes: Passes | None = None
) -> Build:
    """Select, plan and write a graph after the passes."""
    target = Target.of(board, small=options.optimize == "size")
    offers = Offers(target)
    lowered, selection, plan, saving = planned(lowered, offers, options)

    int8 = _in_int8(lowered, board, options)

    def build(selection: Selection, plan: Plan, place: Place | None = None) -> Build:
        check_chosen(plan, board, options)
        where = options if place is None else replace(options, weights_in=place.weights or None)
        module = emit_module(
            plan, target, keep_inputs=options.keep_inputs, source=source, memories=memories(board, where),
            build_files=toolchain.toolchain_files(board),
        )
        return Build(graph, lowered, selection, plan, module, board, where, saving, int8, passes, place)

    built = build(selection, plan)
    if options.has_budget:
        built.check_budget()
    fast = _faster(built, offers, build) if options.optimize == "speed" else built
    if not options.tuned:
        return fast
    costs = costs_for(options, board)
    best = _measured(built, fast, costs, build)
    place = place_for(costs, options, board, lowered.name, [lowered])
    return best if place is None else placed(best, lambda: build(best.selection, best.plan, place))


def planned(lowered: Graph, offers: Offers, options: Options) -> tuple[Graph, Selection, Plan, Saving | None]:
    """A graph with the kernels of a target, every byte in its place, and what optimizing for RAM saved."""
    if options.optimize == "ram":
        saved = save_ram(lowered, offers.target, options.keep_inputs)
        return saved.graph, saved.selection, saved.plan, saved.saving
    selection = select_usual(lowered, offers)
    plan = make_plan(prepare(lowered, offers.target, selection), keep_inputs=options.keep_inputs)
    return lowered, selection, plan, None


def _in_int8(graph: Graph, board: Board, options: Options) -> dict[str, Any] | None:
    """The metadata of the same model in int8, for what a search's wider results cost."""
    quantization = graph.quantization
    if not isinstance(quantization, AutoQuantization) or quantization.int8 is None or graph.streaming is not None:
        return None
    unlimited = replace(options, max_ram=None, max_flash=None, tuned=())
    return compile(quantization.int8, board, name=graph.name, options=unlimited).module.metadata


def _faster(small: Build, offers: Offers, build: Callable[[Selection, Plan], Build]) -> Build:
    """With flash spent on fewer instructions, as far as the budgets and the board allow."""
    options, board = small.options, small.board
    found = flash.bargains(small.lowered, offers)
    if not found or board.is_host:
        return small
    taken = flash.affordable(found, flash_room(small), flash.WORTH if options.max_flash is None else 0)
    most = most_arena(small)
    for count in range(len(taken), -1, -1):
        fast = build(*flash.spend(small.lowered, offers, taken[:count], small.plan, most, options.keep_inputs))
        with contextlib.suppress(PilotlightError):
            if options.has_budget:
                fast.check_budget()
            return fast
    return small


def flash_room(small: Image) -> int:
    """Bytes that are left of the user's budget, or of half the board's memory for weights."""
    options, board = small.options, small.board
    if options.max_flash is not None:
        sizes = small.info.sizes
        return options.max_flash - (sizes.code or 0) - sizes.weights
    memory = board.memory(board.placement(options.weights_in, options.arena_in).weights)
    return memory.size // 2 - int(small.module.metadata["weights_bytes"])


def most_arena(small: Image) -> int | None:
    """What the arena may take under the user's limit, if there is one."""
    if small.options.max_ram is None:
        return None
    besides = sum(size or 0 for part, size in small.info.ram.items() if part != "arena")
    return small.options.max_ram - besides - flash.STACK


def costs_for(options: Options, board: Board) -> Costs:
    """What the files of the options say, for a build for speed."""
    if options.optimize != "speed":
        raise PilotlightError(
            f"--tuned chooses the fastest kernels, not what --optimize {options.optimize} is for",
            hint="omit one of them", kind="usage",
        )
    return read_costs(options.tuned, board, options.toolchain)


def place_for(costs: Costs, options: Options, board: Board, name: str, graphs: Sequence[Graph]) -> Place | None:
    """The memories that files say for this model on this board, unless the user has chosen any."""
    if options.weights_in is not None or options.arena_in is not None:
        return None
    found = costs.places.get(place_key(board, name, graphs))
    names = {memory.name for memory in board.memories}
    return found if found is not None and {found.weights, found.code} - {""} <= names else None


def placed(best: Placed, make: Callable[[], Placed]) -> Placed:
    """With its parts in other memories, if they fit there."""
    with contextlib.suppress(PilotlightError):
        build = make()
        _ = build.info
        if build.options.has_budget:
            build.check_budget()
        return build
    return best


def _measured(small: Build, fast: Build, costs: Costs, build: Callable[[Selection, Plan], Build]) -> Build:
    """With the kernels that were measured to be best, as far as the budgets and the board allow; at least as good as
    what was chosen without measurements."""
    options, board = small.options, small.board
    offers = Offers(Target.of(board, measured=True))
    network = Network(small.lowered, offers, costs, fast.selection, options.keep_inputs)
    most = most_arena(small)
    arena = max(fast.plan.arena.size, flash.arena_limit(small.plan)) if most is None else most
    spent = network.flash(network.default)
    room = max(0, flash_room(fast))
    for part in (room, room // 2, 0):
        found = network.solve(Room(arena, spent + part))
        with contextlib.suppress(PilotlightError):
            best = build(found.selection, found.plan)
            if options.has_budget:
                best.check_budget()
            return best
    return fast


def memories(board: Board, options: Options) -> dict[str, str]:
    """The board's memory for each pool; the host has none."""
    if board.is_host:
        return {}
    place = board.placement(options.weights_in, options.arena_in)
    return {"arena": place.arena, "state": place.arena, "weights": place.weights}


@contextlib.contextmanager
def open_board(board: str | Board, build: Build, *, timeout: float = 120.0) -> Iterator[Running]:
    """Boot `board` with `build` on it: `with open_board("mps2-an386", build) as dev: y = dev(x)`."""
    with build.open(board, timeout=timeout) as running:
        yield running
