"""Options that several commands share, and how they lead to a build."""

from __future__ import annotations

import ast
import contextlib
import functools
import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pilotlight import boards
from pilotlight.cli.placing import note_placement
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError
from pilotlight.options import CMSIS_NN, EMULATORS, TOOLCHAINS

if TYPE_CHECKING:
    import torch

    from pilotlight.compiler import Build
    from pilotlight.graph import Graph, Program
    from pilotlight.programs import ProgramBuild

STREAMED = 4  # calibration samples that are streamed if no recordings are given
DIFFERENT = 1  # exit code: the result is not what it should be
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
_TIMES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Size(click.ParamType):
    """Bytes: 65536, 64K, 1M; K is 1024."""

    name = "size"

    def __init__(self, least: int = 0, most: int | None = None):
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+)([kKmM]?)(?:i?[bB])?", value.strip())
        if match is None:
            self.fail(f"{value!r} is not a size; write bytes, or 64K or 1M", param, ctx)
        size = int(match[1]) * _UNITS[match[2].lower()]
        if size < self.least or (self.most is not None and size > self.most):
            self.fail(f"{value!r} is outside {self.least:,} to {self.most:,} bytes", param, ctx)
        return size


class Seconds(click.ParamType):
    """A positive time; inf means no limit."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not seconds > 0:
            self.fail(f"{value!r} is not a time; write seconds, such as 120 or 0.5", param, ctx)
        return seconds


class Period(click.ParamType):
    """A time with its unit: 1s, 250ms, 5min, 1h, 1d."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|h|d)", str(value).strip())
        seconds = float(match[1]) * _TIMES[match[2]] if match else 0.0
        if not seconds > 0:
            self.fail(f"{value!r} is not a time; write such as 1s, 250ms, 5min, 1h or 1d", param, ctx)
        return seconds


class Charge(click.ParamType):
    """Of a battery, in milliampere-hours: 220mAh, 1.2Ah."""

    name = "charge"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(m?)Ah", str(value).strip(), re.IGNORECASE)
        charge = float(match[1]) * (1 if match[2] else 1000) if match else 0.0
        if not charge > 0:
            self.fail(f"{value!r} is not the charge of a battery; write such as 220mAh or 1.2Ah", param, ctx)
        return charge


class Percent(click.ParamType):
    """A share: 0.5% or 0.005."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not a share; write 0.5% or 0.005", param, ctx)
        return share


class Argument(click.ParamType):
    """KEY=VALUE: numbers, True, None, tuples and quoted text as Python writes them; anything else is text."""

    name = "argument"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or not key.strip().isidentifier():
            self.fail(f"{value!r} is not KEY=VALUE, such as hidden=32", param, ctx)
        try:
            return key.strip(), ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            return key.strip(), text.strip()


@dataclass(frozen=True)
class Graphs:
    """The captured graph, the one to compile (the same unless quantized), and the calibration data."""

    real: Graph
    compiled: Graph
    samples: list[list[torch.Tensor]]
    labels: torch.Tensor | None


@dataclass(frozen=True)
class Request:
    """What to compile, and how."""

    model: str
    board: str
    inputs: tuple[str, ...]
    name: str | None
    choices: dict[str, Any]  # fields of Options
    init: tuple[tuple[str, Any], ...] = ()
    weights: Path | None = None
    bake: tuple[str, ...] = ()
    quantize: str | None = None
    calibrate: Path | None = None
    observer: str = "minmax"
    numerics: str | None = None
    min_weights: int | None = None
    group: int | None = None
    wide: tuple[str, ...] = ()
    max_loss: float | None = None
    stream: str | None = None
    rate: float | None = None
    kernels: tuple[Path, ...] = ()
    source: str | None = None  # how the files name the model; default: as it was typed

    def compile(self, talk: Talk, *, to_run: bool = False) -> Build | ProgramBuild:
        found = self.compile_graphs(talk, to_run=to_run)
        return found[0] if isinstance(found, tuple) else found

    def compile_graphs(self, talk: Talk, *, to_run: bool = False) -> tuple[Build, Graphs] | ProgramBuild:
        """Compile, and say what a file of measurements decided about memories."""
        found = self._compiled(talk, to_run)
        note_placement(talk, found[0] if isinstance(found, tuple) else found)
        return found

    def _compiled(self, talk: Talk, to_run: bool) -> tuple[Build, Graphs] | ProgramBuild:
        """Capture, quantize if asked to, and plan; what has several entry points is not quantized."""
        # A wrong name is reported before PyTorch is loaded.
        if self.choices.get("npu"):
            self._check_npu(to_run)
        board = runnable_board(self.board) if to_run else boards.load(self.board)
        model = self._captured(talk)
        from pilotlight.compiler import compile
        from pilotlight.graph import Program
        from pilotlight.programs import compile_program
        from pilotlight.quantize import not_quantized

        if isinstance(model, Program):
            if self.quantize is not None:
                raise not_quantized(model)
            self._streamed(model)
            with talk.stage(f"planning for {board.name}"):
                return compile_program(model, board, source=self.source or self.model, **self.choices)
        graphs = self._quantized(talk, model)
        step = self._streamed(graphs.compiled)
        with talk.stage(f"planning for {board.name}"):
            build = compile(step, board=board, source=self.source or self.model, **self.choices)
        return build, graphs

    def _check_npu(self, to_run: bool) -> None:
        from pilotlight.npu.vela import check_configuration

        npu = check_configuration(self.choices["npu"])
        if to_run:
            from pilotlight.compiler import not_run

            raise not_run(npu)

    def _streamed(self, graph: Any) -> Any:
        """The step of a streaming model, if that is asked for."""
        if self.stream is None and self.rate is None:
            return graph
        if self.stream is None:
            raise PilotlightError("--rate is for streaming models", hint="add --stream hop=320", kind="usage")
        from pilotlight.cli.streaming import StreamOption

        return StreamOption.read(self.stream).apply(graph, self.rate)

    def graphs(self, talk: Talk) -> Graphs:
        """The captured graph and the quantized one."""
        model = self._captured(talk, need_quantization=True)
        from pilotlight.graph import Program
        from pilotlight.quantize import not_quantized

        if isinstance(model, Program):
            raise not_quantized(model)
        return self._quantized(talk, model)

    def _captured(self, talk: Talk, need_quantization: bool = False) -> Graph | Program:
        self._refuse_idle_options()
        optional = (self.quantize or "").startswith("weights-")  # such models need no ranges of activations
        alone = (self.quantize is None) != (self.calibrate is None) and not optional
        if alone or (need_quantization and (self.quantize is None or self.calibrate is None)):
            raise PilotlightError(
                "--quantize and --calibrate go together",
                hint="give both: --quantize int8 --calibrate data.npz, with one array per input", kind="usage",
            )
        with talk.loading_pytorch():
            from pilotlight.capture import load_model
        with talk.stage(f"capturing {self.model}"):
            try:
                if self.kernels:
                    from pilotlight.capture.kernels import load_kernels

                    for file in self.kernels:
                        load_kernels(file)
                return load_model(
                    self.model, self.inputs, self.name, init=dict(self.init), weights=self.weights, bake=self.bake)
            except SystemExit as error:
                raise PilotlightError(
                    f"{self.model}: the file ended the program with exit code {error.code}",
                    hint='put what runs it as a script under if __name__ == "__main__"',
                    kind="user-code",
                ) from error

    def _quantized(self, talk: Talk, graph: Graph) -> Graphs:
        if self.quantize is None:
            return Graphs(graph, graph, [], None)
        told = f"quantizing with {self.calibrate.name}" if self.calibrate else "quantizing weights"
        with talk.stage(told) as stage:
            from pilotlight.quantize import quantize
            from pilotlight.session import read_inputs

            samples, labels = read_inputs(self.calibrate, graph.inputs) if self.calibrate else ([], None)
            names = ("min_weights", "group", "max_loss", "numerics")
            choices = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
            quantized = quantize(
                graph, samples, self.quantize, observer=self.observer, wide=self.wide, labels=labels,
                progress=stage.done, **choices,
            )
            return Graphs(graph, quantized, samples, labels)

    def _refuse_idle_options(self) -> None:
        """An option that would do nothing is a misunderstanding."""
        mode = self.quantize or ""
        for option, given, modes in (
            ("--wide", self.wide, ("int8",)),
            ("--numerics", self.numerics is not None, ("int8",)),
            ("--float-io", self.choices.get("float_io"), ("int8", "int16x8", "auto")),
            ("--min-weights", self.min_weights is not None, ("weights-int8", "weights-int4")),
            ("--group", self.group is not None, ("weights-int4",)),
        ):
            if given and mode not in modes:
                raise PilotlightError(
                    f"{option} does nothing {f'in {mode}' if mode else 'in a float model'}",
                    hint=f"it is for --quantize {', '.join(modes[:-1])}{' or ' if modes[1:] else ''}{modes[-1]}",
                    kind="usage",
                )


def chosen_inputs(
    talk: Talk, build: Build, graphs: Graphs, data: Path | None
) -> tuple[list[list[torch.Tensor]] | None, torch.Tensor | None]:
    """What a model is run on, with labels where they are known: the file's samples, or those of the calibration; None
    for its example."""
    from pilotlight.session import read_inputs
    from pilotlight.session.inputs import calibration_runs

    if data is not None:
        return read_inputs(data, build.graph.streaming.model.inputs if build.graph.streaming else build.graph.inputs)
    if not graphs.samples:
        return None, None
    if build.graph.streaming is not None:
        return graphs.samples[:STREAMED], None
    inputs, labels = calibration_runs(graphs.samples, graphs.labels)
    if labels is not None and len(labels) < len(graphs.samples):
        talk.note(f"accuracy is that of the first {len(labels)} of {len(graphs.samples):,} samples; --inputs runs all")
    return inputs, labels


def runnable_board(name: str) -> boards.Board:
    """A board that a model can be run on from here."""
    board = boards.load(name)
    if not board.runnable:
        alike = [b.name for b in boards.all_boards() if b.runnable and b.cpu == board.cpu]
        raise PilotlightError(
            f"{board.name} is not emulated, so nothing can be run on it from here",
            hint=f"choose an emulated board{' with the same core' if alike else ''}: "
            f"{', '.join(alike or [boards.default_board()])}",
            kind="not-runnable",
        )
    return board


def check_writable(file: Path, option: str) -> None:
    """Report a page that cannot be written before the work, not after it."""
    there = next(path for path in (file, *file.absolute().parents) if path.exists())
    if file == Path() or not os.access(there, os.W_OK) or (there != file and not there.is_dir()):
        raise PilotlightError(
            f"the report cannot be written to {str(file)!r}", hint=f"give another file with {option}", kind="file"
        )


def common(function: _Function) -> _Function:
    """--json and -v: Talk reads both from the arguments; here they get their help."""
    json = click.option("--json", is_flag=True, expose_value=False, help="Print one JSON object instead of tables.")
    verbose = click.option(
        "-v", "--verbose", count=True, expose_value=False,
        help="Say more: -v each stage, -vv tracebacks, -vvv the commands that are run.",
    )
    return json(verbose(function))


def _own_kernels(kernels: tuple[Path, ...], folder: Path | None) -> tuple[Path, ...]:
    """Files of kernels; those of CMSIS-NN are in its folder."""
    own = tuple(file for file in kernels if str(file) != CMSIS_NN)
    if len(own) < len(kernels) and folder is None:
        raise PilotlightError(
            "the kernels of CMSIS-NN need a copy of it", hint="name its folder: --cmsis-nn DIR", kind="usage")
    return own


def model_command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command on a MODEL: calls it with (talk, request, its own options)."""

    @click.pass_obj
    @functools.wraps(function)
    def command(
        talk: Talk, /, model: str, board: str, inputs: tuple[str, ...], name: str | None,
        init: tuple[tuple[str, Any], ...], weights: Path | None, bake: tuple[str, ...], kernels: tuple[Path, ...],
        **rest: Any,
    ) -> int | None:
        choices = {key: rest.pop(key) for key in _CHOICES}
        quantization = {key: rest.pop(key) for key in (*_QUANTIZATION, *_STREAM)}
        kernels = _own_kernels(kernels, choices["cmsis_nn"])
        with contextlib.redirect_stdout(sys.stderr):  # what the model's own code prints
            return function(talk, Request(
                model, board, inputs, name, choices, init, weights, bake, kernels=kernels, **quantization), **rest)

    for decorate in reversed((*_MODEL, *_QUANTIZATION.values(), *_STREAM.values(), *_CHOICES.values(), common)):
        command = decorate(command)
    return command


_MODEL: tuple[Callable[[Any], Any], ...] = (
    click.argument("model"),
    click.option(
        "--board", default=boards.default_board(), show_default=True, metavar="NAME",
        help="A board of `pilotlight boards`, or a .toml file.",
    ),
    click.option(
        "--input", "inputs", multiple=True, metavar="SHAPE",
        help="Shape of an example input, such as 1x3x96x96, 1x16:int64 or, for an input that is given by keyword, "
        "mask=1x16:bool; once per input.",
    ),
    click.option("--name", metavar="NAME", help="The model's name in C; default: the name in MODEL."),
    click.option(
        "--init", multiple=True, type=Argument(), metavar="KEY=VALUE",
        help="An argument of the class or function in MODEL, such as hidden=32 or act=relu; may be repeated.",
    ),
    click.option(
        "--weights", type=click.Path(path_type=Path), metavar="FILE",
        help="The module's weights: a state_dict from torch.save (.pt), or a .safetensors file.",
    ),
    click.option(
        "--bake", multiple=True, metavar="NAME=VALUE",
        help="Of an .onnx file: the value of an input, such as axes=1 or sizes=sizes.npy, which becomes part of the "
        "model; may be repeated.",
    ),
    click.option(
        "--kernels", multiple=True, type=click.Path(path_type=Path), metavar=f"FILE.py|{CMSIS_NN}",
        help="A file with kernels of your own, which are checked before they are used, or those of --cmsis-nn; may be "
        "repeated.",
    ),
)
_QUANTIZATION: dict[str, Callable[[Any], Any]] = {
    "quantize": click.option(
        "--quantize", metavar="MODE",
        help="int8 and int16x8 compute in integers, auto chooses between them; they need --calibrate. weights-int8 "
        "and weights-int4 store only the weights of large layers as integers and compute in float.",
    ),
    "calibrate": click.option(
        "--calibrate", type=click.Path(path_type=Path), metavar="FILE.npz",
        help="Sample inputs to find ranges with: one array per input, samples along the first axis.",
    ),
    "observer": click.option(
        "--observer", type=click.Choice(["minmax", "moving-average", "percentile", "mse"]), default="minmax",
        show_default=True, help="How ranges are found in the calibration data.",
    ),
    "numerics": click.option(
        "--numerics", type=click.Choice(["pilotlight", "tflm"]),
        help="int8: whose arithmetic; tflm gives the bytes of TensorFlow Lite for Microcontrollers, and refuses what "
        "it has no int8 form of.",
    ),
    "wide": click.option(
        "--wide", multiple=True, metavar="MODULE",
        help="int8: use 16 bits for the results of this module, or for this input; may be repeated.",
    ),
    "max_loss": click.option(
        "--max-loss", type=Percent(), metavar="PERCENT",
        help="auto: how much accuracy may be lost on the labels of --calibrate (default: 0.5%); without labels, the "
        "error of an output as a share of its size. `run` exits with 1 if the board loses more on the labels.",
    ),
    "min_weights": click.option(
        "--min-weights", type=click.IntRange(min=1), metavar="N",
        help="weights-int8, weights-int4: layers with fewer weights stay float; default: 1024.",
    ),
    "group": click.option(
        "--group", type=click.IntRange(min=4), metavar="N",
        help="weights-int4: weights per scale: 4, 8, 16 or a multiple of 32; default: 32.",
    ),
}
TOOLCHAIN = click.option(
    "--toolchain", type=click.Choice(TOOLCHAINS), help="The compiler; default: gcc where it is installed."
)
EMULATOR = click.option(
    "--emulator", type=click.Choice(EMULATORS), help="What runs the board; default: qemu where it is installed."
)
_STREAM: dict[str, Callable[[Any], Any]] = {
    "stream": click.option(
        "--stream", metavar="hop=N[,axis=N][,buffer=N][,exact]",
        help="Make a step with state of a model over time: it takes N new samples on the last dimension, or on axis. "
        "exact computes each window of the model as the model does, where padding or pooling make that differ.",
    ),
    "rate": click.option(
        "--rate", type=float, metavar="HZ", help="With --stream: samples a second, where the model does not say."
    ),
}
_CHOICES: dict[str, Callable[[Any], Any]] = {
    "float_io": click.option("--float-io", is_flag=True, help="Quantized models: float inputs and outputs in C."),
    "optimize": click.option(
        "--optimize", type=click.Choice(["speed", "size", "ram"]), default="speed", show_default=True,
        help="What matters most: few instructions, little code, or little RAM even if parts are computed twice.",
    ),
    "keep_inputs": click.option("--keep-inputs", is_flag=True, help="A run does not overwrite its inputs."),
    "torch_layout": click.option(
        "--torch-layout", is_flag=True, help="Inputs and outputs in PyTorch's order, not channels last."
    ),
    "weights_in": click.option("--weights-in", metavar="MEM", help="The board's memory for the weights."),
    "arena_in": click.option("--arena-in", metavar="MEM", help="The board's memory for the arena."),
    "max_ram": click.option(
        "--max-ram", type=Size(), help="Fail if arena, state, static data and stack need more than this, such as 64K."
    ),
    "max_flash": click.option(
        "--max-flash", type=Size(), help="Fail if code and weights need more than this; spend the rest on speed."
    ),
    "tuned": click.option(
        "--tuned", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
        help="Choose kernels by the measurements in a file of `pilotlight tune`; may be repeated.",
    ),
    "toolchain": TOOLCHAIN,
    "emulator": EMULATOR,
    "backends": click.option(
        "--backend", "backends", multiple=True, metavar="NAME",
        help="An engine that computes what it takes of the model; may be repeated, the first one chooses first.",
    ),
    "npu": click.option(
        "--npu", metavar="CONFIG",
        help="An Ethos-U that computes what it takes of an int8 model, such as ethos-u55-128, on a board that has one.",
    ),
    "cmsis_nn": click.option(
        "--cmsis-nn", type=click.Path(path_type=Path), metavar="DIR",
        help="A copy of Arm's CMSIS-NN, whose kernels compute what they can; what is needed of it becomes part of the "
        "generated folder.",
    ),
}
