"""What scripts and notebooks use: load, compile, run, and look at the result.

The stages can also be called one by one: `load` and `capture` return a `Graph`, `quantize` another one, `lower` runs
the passes, `select` chooses kernels, `make_plan` places every byte, `emit_c` writes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, overload

import torch
from torch.utils import _pytree as pytree

from pilotlight import boards, compiler, device, programs
from pilotlight.boards import Board
from pilotlight.capture import load_model
from pilotlight.codegen.target import Target
from pilotlight.compiler import Image
from pilotlight.emit.module import Module, emit_module
from pilotlight.errors import PilotlightError
from pilotlight.figures.build import figures
from pilotlight.figures.record import hardware
from pilotlight.graph import Graph, Program
from pilotlight.measure.profile import Profile
from pilotlight.options import Options
from pilotlight.passes.pipeline import Pass, Passes, optimize
from pilotlight.passes.pipeline import passes as pipeline
from pilotlight.plan import Plan
from pilotlight.plan import make_plan as place
from pilotlight.quantize import LIMIT, not_quantized, quantize
from pilotlight.quantize.samples import read_samples
from pilotlight.quantize.weights import MODES as WEIGHTS_ONLY
from pilotlight.report.notebook import as_html
from pilotlight.report.summary import run_title, summary_table
from pilotlight.selection import Offers, Selection, prepare, select_usual
from pilotlight.session import (
    LayerComparison,
    ProgramSession,
    Session,
    compare_layers,
    read_inputs,
    run_program,
    run_session,
)
from pilotlight.session.inputs import calibration_runs
from pilotlight.session.program import Call
from pilotlight.toolchain.folder import read_folder

Progress = Callable[[int, int], None]
__all__ = [
    "Build", "ProgramBuild", "compile", "connect", "default_passes", "emit_c", "load", "lower", "make_plan", "run",
    "select",
]


def load(
    model: str, inputs: Sequence[str] = (), *, name: str | None = None, init: Mapping[str, Any] | None = None,
    weights: Path | str | None = None, bake: Sequence[str] | Mapping[str, Any] = (),
) -> Graph | Program:
    """The graph of `file.py:name`, `package.module:name`, `file.pt2`, a TorchScript `file.pt` or `file.onnx`, as the
    command line reads it; the program of a dictionary of entry points.

    `inputs` are shapes such as "1x3x96x96:int8" or "mask=1x96" where the file has no example inputs, `init` are
    arguments of the class or function, `weights` is a file with the module's state_dict, `bake` are values of inputs
    that become part of an ONNX model: `{"axes": [1]}`.
    """
    return load_model(model, inputs, name, init=init, weights=weights, bake=bake)


class Build(compiler.Build):
    """A compiled model: its files, its plan, and images of it for boards."""

    def session(
        self, inputs: Iterable[Any] | Path | str | None = None, *, labels: torch.Tensor | None = None,
        timeout: float = 120.0, progress: Progress | None = None,
    ) -> Session:
        """Boot the board, run the example and seven variations or the given inputs, and compare with PyTorch."""
        rows, found = _rows(inputs, self.graph)
        return run_session(self, rows, labels=found if labels is None else labels, timeout=timeout, progress=progress)

    def profile(self, board: str | Board | None = None) -> Profile:
        """Instructions (and estimated cycles) of every operator in one run of the example on an emulated board."""
        build = self if board is None else compile(self.graph, board, options=self.options, passes=self.passes)
        found = run_session(build, [build.graph.truth.example])
        return _counted(found)

    def compare(
        self, inputs: Iterable[Any] | Path | str | None = None, *, timeout: float = 120.0,
        progress: Progress | None = None,
    ) -> LayerComparison:
        """Every layer on the board next to PyTorch's, as `pilotlight compare` does: `.match`, `.layers`, `.parted`."""
        return compare_layers(self, _rows(inputs, self.graph)[0], timeout=timeout, progress=progress)

    def report(self, path: Path | str, title: str | None = None) -> Path:
        """Run on the board and write the page of that run."""
        return self.session().report(path, title)

    def _repr_html_(self) -> str:
        """For notebooks: the facts that are known without a run."""
        facts = {"name": self.name, "board": self.board.name, "hardware": hardware(self.board)}
        return as_html(run_title(facts), summary_table(facts | figures(self, self.info)))


class ProgramBuild(programs.ProgramBuild):
    """A compiled program: its files, its entry points, and images of it for boards."""

    def session(
        self, calls: Iterable[tuple[str, Any]] | None = None, *, timeout: float = 120.0,
        progress: Progress | None = None,
    ) -> ProgramSession:
        """Boot the board, call the entry points in turns or as given, `("decode", token)`, and compare with PyTorch."""
        return run_program(self, _calls(calls), timeout=timeout, progress=progress)

    def profile(self, board: str | Board | None = None) -> dict[str, Profile]:
        """Instructions (and estimated cycles) of every operator in the first call of each entry point."""
        build = self if board is None else compile(self.program, board, options=self.options, passes=self.passes)
        found = run_program(build)
        return {name: _counted(session) for name, session in found.entries.items()}

    def _repr_html_(self) -> str:
        """For notebooks: the facts that are known without a run."""
        facts = {"board": self.board.name, "hardware": hardware(self.board)}
        rows = [{"name": e.name, **facts, **figures(e, e.info)} for e in self.entries.values()]
        return as_html(*(part for row in rows for part in (run_title(row), summary_table(row))))


@overload
def compile(graph: Graph, board: str | Board = "host", **choices: Any) -> Build: ...


@overload
def compile(graph: Program, board: str | Board = "host", **choices: Any) -> ProgramBuild: ...


@overload
def compile(graph: Graph | Program, board: str | Board = "host", **choices: Any) -> Build | ProgramBuild: ...


def compile(
    graph: Graph | Program, board: str | Board = "host", *, name: str | None = None, options: Options | None = None,
    source: str = "", passes: Passes | None = None, **choices: Any,
) -> Build | ProgramBuild:
    """Plan and write a captured graph, or a program, for a board; `choices` are fields of `Options`.

    `passes` replace the default ones: a list made with `default_passes()`, with your own passes inserted. A pass is a
    function from a `Graph` to a `Graph`; the graph is checked after each.
    """
    if isinstance(graph, Program):
        whole = programs.compile_program(
            graph, board, name=name, options=options, source=source, passes=passes, **choices
        )
        return ProgramBuild(**{field.name: getattr(whole, field.name) for field in fields(whole)})
    made = compiler.compile(graph, board, name=name, options=options, source=source, passes=passes, **choices)
    return Build(**{field.name: getattr(made, field.name) for field in fields(made)})


@overload
def run(model: Graph | compiler.Build, inputs: Any = None, **choices: Any) -> Session: ...


@overload
def run(model: Program | programs.ProgramBuild, inputs: Any = None, **choices: Any) -> ProgramSession: ...


@overload
def run(model: str, inputs: Any = None, **choices: Any) -> Session | ProgramSession: ...


def run(
    model: str | Graph | Program | Image, inputs: Iterable[Any] | Path | str | None = None, *,
    board: str | Board = "mps2-an386", quantize: str | None = None, calibration: Any = (),
    labels: torch.Tensor | None = None, timeout: float = 120.0, progress: Progress | None = None, **choices: Any,
) -> Session | ProgramSession:
    """Build a model, boot the board, run it and compare with PyTorch, as `pilotlight run` does.

    `model` is what `load` takes, a graph, a program, or a build (then `board`, `quantize` and `choices` are not used).
    `inputs` are samples, each a tensor or the arguments of forward, or an .npz file with one array for each input and,
    if there are labels, one called label; without `inputs` the example and seven variations are run, or calibration
    samples of a quantized model (16, up to 512 where they have labels). `calibration` is an .npz file too, or any
    iterable that `quantize` takes. Inputs of a program are calls: `("decode", token)`.
    """
    build = model
    if not isinstance(build, Image):
        graph = load(build) if isinstance(build, str) else build
        if quantize is not None:
            graph, inputs, labels = _quantized(graph, quantize, calibration, inputs, labels)
        build = compile(graph, board, source=model if isinstance(model, str) else "", **choices)
    if isinstance(build, programs.ProgramBuild):
        return run_program(build, _calls(inputs), timeout=timeout, progress=progress)
    assert isinstance(build, compiler.Build)
    rows, found = _rows(inputs, build.graph)
    return run_session(build, rows, labels=found if labels is None else labels, timeout=timeout, progress=progress)


def connect(where: str, build: Image | None = None, *, timeout: float = 10.0, baud: int = 115200) -> device.Device:
    """A device that answers: `dev.run([array])`, numpy in and out in the layout of the board's memory.

    `where` is a serial port ("/dev/ttyACM0"), "tcp://HOST:PORT", the name of an emulated board, which is booted with
    `build`, or of a real one, which is looked for by its USB id. A board on a line says itself which model it holds;
    with `build` it must be that one.
    """
    board = next((b for b in boards.all_boards() if b.name == where), None)
    if board is not None and (board.emulator or board.is_host):
        if build is None:
            raise PilotlightError(
                f"{where} is emulated and needs a model to boot", hint='give a build: pl.connect("mps2-an386", build)',
                kind="usage",
            )
        return device.open(board, build.runnable_info, timeout, emulator=build.options.emulator)
    model = None if build is None else read_folder(build.folder)
    return device.connect(where if board is None else device.port_of(board), model, timeout, baud)


def default_passes() -> list[tuple[str, Pass]]:
    """Names and passes in the order in which they run."""
    return pipeline()


def lower(graph: Graph, passes: Passes | None = None) -> Graph:
    """Run the passes on a graph and return the result; the graph itself does not change."""
    return optimize(graph.clone(), check=True, chosen=passes)


def select(
    lowered: Graph, board: str | Board = "host", *, options: Options | None = None, **choices: Any
) -> Selection:
    """Which kernel computes each node of a lowered graph, and why: `selection[node].candidate`, `.reason`, `.offered`.

    `choices` are fields of `Options`: `optimize`, `max_flash` and `max_ram` decide. The graph itself does not change;
    `compile(optimize="ram")` also computes stages in patches, which is a change of the graph.
    """
    return compiler.select(lowered, board, options=options, **choices)


def make_plan(lowered: Graph, board: str | Board = "host", selection: Selection | None = None) -> Plan:
    """Order and offsets of a lowered graph with the selected kernels, or with the usual ones of a board."""
    target = _target(board)
    chosen = select_usual(lowered, Offers(target)) if selection is None else selection
    return place(prepare(lowered, target, chosen))


def emit_c(plan: Plan, board: str | Board = "host") -> Module:
    """The C files of a plan for the board it was made for; `write(folder)` writes them."""
    return emit_module(plan, _target(board))


def _target(board: str | Board) -> Target:
    return Target.of(boards.load(board) if isinstance(board, str) else board)


def _counted(found: Session) -> Profile:
    if found.profile is None:
        raise PilotlightError(
            f"nothing was counted on {found.build.board.name}: {found.counts_reason}",
            hint="choose an emulated board of `pilotlight boards`", kind="not-countable",
        )
    return found.profile


def _calls(calls: Any) -> list[Call] | None:
    """Calls of a program with flat tensors."""
    if calls is None:
        return None
    pairs = [] if isinstance(calls, str | Path) else list(calls)
    if not pairs or not all(isinstance(c, tuple) and len(c) == 2 and isinstance(c[0], str) for c in pairs):
        raise PilotlightError(
            "the inputs of a model with several entry points are calls of them",
            hint='give a list such as [("prefill", tokens), ("decode", token)]', kind="usage",
        )
    return [(name, pytree.tree_leaves(inputs)) for name, inputs in pairs]


def _quantized(
    graph: Graph | Program, mode: str, calibration: Any, inputs: Any, labels: torch.Tensor | None
) -> tuple[Graph, Any, torch.Tensor | None]:
    """The quantized graph, and what to run where no inputs are given."""
    if isinstance(graph, Program):
        raise not_quantized(graph)
    samples: list[list[torch.Tensor]] = []
    known = None
    if isinstance(calibration, str | Path):
        samples, known = read_inputs(Path(calibration), graph.inputs)
    elif mode not in WEIGHTS_ONLY:
        samples = read_samples(graph, calibration, LIMIT)
    if inputs is None and samples:
        inputs, known_runs = calibration_runs(samples, known)
        labels = known_runs if labels is None else labels
    return quantize(graph, samples, mode, labels=known), inputs, labels


def _rows(inputs: Any, graph: Graph) -> tuple[list[list[torch.Tensor]] | None, torch.Tensor | None]:
    """Samples as flat tensors, and labels where a file has them."""
    if inputs is None:
        return None, None
    if isinstance(inputs, str | Path):
        return read_inputs(Path(inputs), graph.inputs)
    return [pytree.tree_leaves(item) for item in inputs], None
