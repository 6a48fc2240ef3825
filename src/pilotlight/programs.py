"""Program → ProgramBuild: entry points in one arena, with one block of state, one of weights, and one set of files."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pilotlight import boards, device, toolchain
from pilotlight.backends import backends_on
from pilotlight.boards import Board
from pilotlight.check import check_chosen
from pilotlight.codegen.target import Target
from pilotlight.compiler import (
    Build,
    Image,
    Running,
    check_taken,
    costs_for,
    flash_room,
    memories,
    most_arena,
    place_for,
    placed,
    planned,
    request,
)
from pilotlight.emit.metadata import entry_metadata
from pilotlight.emit.module import Module, emit_program
from pilotlight.errors import PilotlightError
from pilotlight.graph import DType, Graph, Node, Program
from pilotlight.graph.names import model_name
from pilotlight.options import Options
from pilotlight.passes.pipeline import Passes
from pilotlight.passes.pipeline import optimize as run_passes
from pilotlight.plan import Plan, share_states
from pilotlight.selection import Choice, Offers, Selection
from pilotlight.tune import flash
from pilotlight.tune.costs import Costs
from pilotlight.tune.entries import solve_entries
from pilotlight.tune.network import Network, Room
from pilotlight.tune.places import Place
from pilotlight.tune.ram import Saving

Part = tuple[Graph, Selection, Plan, Saving | None]  # an entry point: lowered, with kernels, planned


@dataclass
class EntryBuild(Build):
    """One entry point of a program: its own graph and plan, in the files, arena, state and weights of the whole."""

    entry: str = ""
    whole: ProgramBuild | None = None

    @property
    def folder(self) -> Path:
        return self._whole.folder

    def build_for(
        self, board: Board, *, sanitize: bool = False, check: bool = True, need_compiler: bool = True,
        harness: bool | None = None, watch: int = 0, figures: bool = True,
    ) -> toolchain.BuildInfo:
        usual = board == self.board and not sanitize and check and need_compiler and not harness and figures
        found = self._whole.info if usual else self._whole.build_for(
            board, sanitize=sanitize, check=check, need_compiler=need_compiler, harness=harness, watch=watch,
            figures=figures,
        )
        return found.of_entry(self.entry)

    @cached_property
    def runnable_info(self) -> toolchain.BuildInfo:
        return self._whole.runnable_info.of_entry(self.entry)

    @contextlib.contextmanager
    def open(
        self, on: str | Board | None = None, *, sanitize: bool = False, timeout: float = 120.0, count: bool = True
    ) -> Iterator[Running]:
        with self._whole.open(on, sanitize=sanitize, timeout=timeout, count=count) as running:
            yield running.entry(self.entry)

    @property
    def _whole(self) -> ProgramBuild:
        assert self.whole is not None
        return self.whole


class RunningProgram:
    """A program on a booted board: `running.entry("decode")(token)`."""

    def __init__(self, dev: device.Device, graphs: Mapping[str, Graph]):
        self.device = dev
        self._entries = {name: Running(dev, graph, k) for k, (name, graph) in enumerate(graphs.items())}

    def entry(self, name: str) -> Running:
        """An entry point, to be called as the method that it was captured from; all work on one state."""
        if name not in self._entries:
            raise PilotlightError(
                f"there is no entry point {name!r}", hint=f"there are: {', '.join(self._entries)}", kind="usage"
            )
        return self._entries[name]

    def reset(self) -> None:
        """The state starts over."""
        self.device.reset()


@dataclass
class ProgramBuild(Image):
    """A compiled program: its entry points, its files, and images of it for boards."""

    program: Program  # as captured
    entries: dict[str, EntryBuild]
    module: Module
    board: Board
    options: Options
    passes: Passes | None = None  # instead of the default ones
    place: Place | None = None  # what a file of measurements says about its memories, if that is heeded
    written: dict[str, str | bytes] = field(default_factory=dict)  # the files as `write` wrote them
    _folder: Path | None = None
    _temporary: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for entry in self.entries.values():
            entry.whole = self

    @property
    def largest(self) -> Plan:
        return max((entry.plan for entry in self.entries.values()), key=lambda plan: plan.arena.size)

    @property
    def lowered_graphs(self) -> list[Graph]:
        return [entry.lowered for entry in self.entries.values()]

    @cached_property
    def choices(self) -> dict[Node, Choice]:
        return {node: choice for entry in self.entries.values() for node, choice in entry.selection.choices.items()}

    @contextlib.contextmanager
    def open(
        self, on: str | Board | None = None, *, sanitize: bool = False, timeout: float = 120.0, count: bool = True
    ) -> Iterator[RunningProgram]:
        """Boot a board with this program on it."""
        board = self.board if on is None else boards.load(on) if isinstance(on, str) else on
        build = self if board == self.board or board.is_host else self.recompiled(board)
        with build.boot(board, sanitize, timeout, count) as dev:
            yield RunningProgram(dev, {name: entry.lowered for name, entry in build.entries.items()})

    def recompiled(self, board: Board) -> ProgramBuild:
        """The same for another board."""
        elsewhere = replace(self.options, weights_in=None, arena_in=None, tuned=())
        return compile_program(self.program, board, options=elsewhere, passes=self.passes)


def compile_program(
    program: Program, board: str | Board = "host", *, name: str | None = None, options: Options | None = None,
    source: str = "", passes: Passes | None = None, **choices: Any,
) -> ProgramBuild:
    """Plan and write the entry points of a program for a board; arguments are those of `compiler.compile`."""
    chosen, target_board = request(board, options, choices)
    named = program if name is None else program.renamed(model_name(name))
    offers = Offers(Target.of(target_board, small=chosen.optimize == "size"))
    lowered_entries = _lowered(named, target_board, chosen, passes)
    check_taken(chosen, list(lowered_entries.values()))

    def build(parts: Mapping[str, Part], place: Place | None = None) -> ProgramBuild:
        where = chosen if place is None else replace(chosen, weights_in=place.weights or None)
        plans = {entry: plan for entry, (_, _, plan, _) in parts.items()}
        for plan in plans.values():
            check_chosen(plan, target_board, chosen)
        share_states(list(plans.values()))
        module = emit_program(
            named.name, plans, offers.target, keep_inputs=chosen.keep_inputs, source=source,
            memories=memories(target_board, where), build_files=toolchain.toolchain_files(target_board),
        )
        entries = {}
        for entry, (lowered, selection, plan, saving) in parts.items():
            own = Module(plan.graph.name, module.files, entry_metadata(module.metadata, entry))
            entries[entry] = EntryBuild(
                named.entries[entry], lowered, selection, plan, own, target_board, where, saving, None, passes, place,
                entry=entry,
            )
        return ProgramBuild(named, entries, module, target_board, where, passes, place)

    parts: Mapping[str, Part] = {
        entry: planned(graph, offers, chosen) for entry, graph in lowered_entries.items()
    }
    built = build(parts)
    if chosen.has_budget:
        built.check_budget()
    if not chosen.tuned:
        return built
    costs = costs_for(chosen, target_board)
    best, parts = _measured(built, parts, costs, build)
    place = place_for(costs, chosen, target_board, named.name, list(lowered_entries.values()))
    return best if place is None else placed(best, lambda: build(parts, place))


def _measured(
    usual: ProgramBuild, parts: Mapping[str, Part], costs: Costs, build: Callable[[Mapping[str, Part]], ProgramBuild]
) -> tuple[ProgramBuild, Mapping[str, Part]]:
    """With the kernels that were measured to be best for each entry point, as far as budgets and board allow."""
    options = usual.options
    offers = Offers(Target.of(usual.board, measured=True))
    most = most_arena(usual)
    arena = flash.arena_limit(usual.largest) if most is None else most
    room = max(0, flash_room(usual))
    for part in (room, room // 2, 0):
        networks = {
            entry: Network(lowered, offers, costs, selection, options.keep_inputs)
            for entry, (lowered, selection, _, _) in parts.items()
        }
        spent = sum(network.flash(network.default) for network in networks.values())
        found = solve_entries(networks, Room(arena, spent + part))
        chosen = {
            entry: (lowered, found[entry].selection, found[entry].plan, saving)
            for entry, (lowered, _, _, saving) in parts.items()
        }
        with contextlib.suppress(PilotlightError):
            best = build(chosen)
            if options.has_budget:
                best.check_budget()
            return best, chosen
    return usual, parts


def _lowered(program: Program, board: Board, options: Options, passes: Passes | None) -> dict[str, Graph]:
    """The entry points after the passes; a state has the same order of dimensions in all of them."""
    def lower(keep_states: bool) -> dict[str, Graph]:
        return {
            entry: run_passes(
                graph.clone(), keep_io=options.torch_layout, keep_states=keep_states, check=passes is not None,
                chosen=passes, backends=backends_on(board, options),
            )
            for entry, graph in program.entries.items()
        }

    graphs = lower(keep_states=False)
    if _differing_state(graphs) is not None:
        graphs = lower(keep_states=True)
    name = _differing_state(graphs)
    if name is not None:
        raise PilotlightError(
            f"the passes give the state {name} another shape in one entry point than in another", kind="usage",
            hint="leave states as they are in your own passes",
        )
    return graphs


def _differing_state(graphs: Mapping[str, Graph]) -> str | None:
    """A state that has another type, shape or beginning in one entry point than in another."""
    known: dict[str, tuple[DType, tuple[int, ...], bytes]] = {}
    for state in (state for graph in graphs.values() for state in graph.states):
        now = state.value.dtype, state.initial.shape, state.initial.tobytes()
        if known.setdefault(state.name, now) != now:
            return state.name
    return None
