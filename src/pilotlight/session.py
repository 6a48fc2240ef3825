"""One boot of a board: run a model on many inputs, compare with PyTorch, and gather every figure."""

from __future__ import annotations

import contextlib
import platform
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pilotlight.capture.agreement import departure
from pilotlight.capture.exported import capture_exported
from pilotlight.capture.reference import Reference, example_inputs, functionalize, one_thread, variations
from pilotlight.compiler import Build
from pilotlight.errors import DoesNotFitError, PilotlightError, no_file
from pilotlight.figures.build import figures
from pilotlight.figures.network import network
from pilotlight.figures.record import FORMAT, hardware, layer_text
from pilotlight.graph import Graph, Port
from pilotlight.graph.arithmetic import Arithmetic, arithmetic
from pilotlight.graph.dtypes import convert, to_torch
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.installed import named_version
from pilotlight.measure.compare import OutputMatch, Truth, identical, nearly_same_numbers, same_numbers
from pilotlight.measure.profile import Profile, profile
from pilotlight.quantize.fallbacks import fallback_costs
from pilotlight.quantize.layers import worst_layers
from pilotlight.toolchain import BuildInfo
from pilotlight.version import __version__

INTEGER_REFERENCE = "the integer reference"
LOW_DB = 10.0  # a quantized model with less signal over noise gets a warning
ROUNDING = 1e-5  # of the largest: how far a float result may be from the reference on the host
FLOOR_DB = -200.0  # noise without any signal


@dataclass(frozen=True)
class Accuracy:
    """Classes against labels: how many PyTorch and the board have right, and where the two differ.

    `pt2e` is PyTorch's own quantized model, None for a float one. Samples labelled -1 do not count.
    """

    samples: int
    pytorch: int
    board: int
    different: int
    pt2e: int | None = None

    @property
    def loss(self) -> float | None:
        """How much of PyTorch's accuracy the board loses, as a share of all samples."""
        return (self.pytorch - self.board) / self.samples if self.samples else None

    def as_dict(self) -> dict[str, Any]:
        """Counts, and the same as shares of the samples."""
        shares = {"float": self.pytorch, "pt2e": self.pt2e, "board": self.board}
        return {
            "samples": self.samples, "right": shares, "different": self.different,
            **{k: None if v is None or not self.samples else v / self.samples for k, v in shares.items()},
        }


@dataclass
class Session:
    """What a run on a board showed."""

    build: Build
    info: BuildInfo  # of what ran
    outputs: list[list[torch.Tensor]]
    truth: Truth
    matches: list[OutputMatch]
    repeated: bool  # stateful models: the same outputs again after a reset
    profile: Profile | None
    counts_reason: str | None
    painted_stack: int | None
    figures: dict[str, Any] = field(default_factory=dict)
    accuracy: Accuracy | None = None  # where labels were given
    snr_db: list[float | None] | None = None  # of a quantized model against float, per output
    agreement: list[float | None] | None = None  # of its integer outputs
    worst_layers: list[dict[str, Any]] | None = None  # where it loses most, where that was asked for
    reasons: list[str] = field(default_factory=list)  # of outputs that differ, where the board is not to blame
    command: str | None = None  # that was typed, if any
    date: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def match(self) -> bool:
        return self.repeated and all(m.match for m in self.matches)

    @property
    def compared_with(self) -> str:
        """What `match` speaks of."""
        quantization = self.build.lowered.quantization
        if quantization is None:
            return "PyTorch"
        return "PyTorch with the same integer weights" if quantization.weights_only else INTEGER_REFERENCE

    @property
    def snr_against(self) -> str:
        """What the noise is measured against; a model that came quantized has no float form."""
        quantization = self.build.lowered.quantization
        own = quantization is not None and quantization.program is self.build.graph.origin
        return "PyTorch's quantized model" if own else "the float model"

    @property
    def warnings(self) -> list[str]:
        """Why a match may show less than it seems to."""
        found = [*self.reasons, *(text for m in self.matches for text in m.warnings)]
        if not self.matches:
            found.append("the model gives no tensor: nothing was compared")
        for match, decibels in zip(self.matches, self.snr_db or (), strict=False):
            if decibels is not None and decibels < LOW_DB:
                worst = "".join(f"; {layer_text(row)} loses most" for row in (self.worst_layers or ())[:1])
                found.append(f"output {match.name} has {decibels:.1f} dB of signal over noise against "
                             f"{self.snr_against}, less than {LOW_DB:g} dB{worst}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """The object that `run --json` prints."""
        return {
            "format": FORMAT,
            "name": self.build.name,
            "board": self.build.board.name,
            "target": self.build.board.cpu,
            "match": self.match,
            "compared_with": self.compared_with,
            "warnings": self.warnings,
            "max_abs_error": max((m.max_abs_error for m in self.matches), default=0.0),
            **self.figures,
            "accuracy": self.accuracy.as_dict() if self.accuracy else None,
            "snr_db": self.snr_db,
            "agreement": self.agreement,
            "snr_against": self.snr_against,
            "worst_layers": self.worst_layers,
            "fallbacks": fallback_costs(self.build.lowered),
            "runs": len(self.outputs),
            "outputs": [vars(m) for m in self.matches],
            "operators": [vars(r) for r in self.profile.rows] if self.profile else None,
            "counts_reason": self.counts_reason,
            "stack_painted": self.painted_stack,
            "memory": [{**vars(use), "free": use.size - use.used} for use in self.info.memory],
            "hardware": hardware(self.build.board),
            "network": network(self.build.plan, self.build.module.metadata),
            "made": self.made,
        }

    @property
    def made(self) -> dict[str, Any]:
        """When and how: the command, the options of the build, and the versions of what took part."""
        build, quantization = self.build, self.build.lowered.quantization
        tools = self.info.toolchain.gcc if self.info.toolchain else None, build.board.emulator
        return {
            "date": self.date.isoformat(timespec="seconds"), "command": self.command,
            "options": {"quantize": quantization.mode if quantization else None, **asdict(build.options)},
            "versions": {
                "pilotlight": __version__, "torch": str(torch.__version__), "Python": platform.python_version(),
                "compiler": named_version(tools[0]) if tools[0] else None,
                "emulator": named_version(tools[1].program) if tools[1] else None,
            },
        }


def read_inputs(path: Path, ports: list[Port]) -> tuple[list[list[torch.Tensor]], torch.Tensor | None]:
    """Samples from an .npz: one array per model input, in order; `label`, if there, is each one's class."""
    if not path.is_file():
        raise no_file(path)
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("an .npz file is a zip archive, this is none")
        with np.load(path) as data:
            arrays = [data[k] for k in data.files if k != "label"]
            label = data["label"] if "label" in data.files else None
    except (OSError, ValueError, TypeError, AttributeError, EOFError, RuntimeError, zlib.error,
            zipfile.BadZipFile) as error:
        raise PilotlightError(
            f"{path} cannot be read: {error}", hint="write it with numpy.savez", kind="broken-file"
        ) from error
    if len(arrays) != len(ports):
        raise PilotlightError(
            f"{path} holds {len(arrays)} arrays; the model has {len(ports)} inputs",
            hint="give one array per input, in order, with the samples along the first axis",
            kind="wrong-input",
        )
    columns = [_samples(path, array, port) for array, port in zip(arrays, ports, strict=True)]
    counts = {len(c) for c in columns}
    if counts == {0} or len(counts) != 1:
        raise PilotlightError(f"{path}: the arrays hold {sorted(counts)} samples; expected one number, not 0",
                              kind="wrong-input")
    if label is not None and (label.shape != (len(columns[0]),) or label.dtype.kind not in "iu"):
        raise PilotlightError(
            f"{path}: label is {label.dtype} of shape {list(label.shape)}; expected one whole number, the class, for "
            f"each sample: [{len(columns[0])}]", kind="wrong-input",
        )
    labels = None if label is None else torch.from_numpy(label.astype(np.int64))
    return [list(row) for row in zip(*columns, strict=True)], labels


def _samples(path: Path, array: np.ndarray, port: Port) -> list[torch.Tensor]:
    """Sample i is a[i], or a[i:i+1] where the model's own first dimension is 1 and the array has none."""
    shape, dtype = port.shape, port.value.dtype
    if array.dtype != dtype.numpy and array.dtype.kind == "f" and dtype.kind in "fh":
        array = convert(array, dtype)
    if array.dtype != dtype.numpy:
        raise PilotlightError(
            f"{path}: input {port.name} is {array.dtype}; expected {dtype}", kind="wrong-input"
        )
    tensor = to_torch(np.ascontiguousarray(array))
    if array.shape[1:] == shape:
        return list(tensor)
    if shape and shape[0] == 1 and array.shape[1:] == shape[1:]:
        return [tensor[i : i + 1] for i in range(len(tensor))]
    raise PilotlightError(
        f"{path}: input {port.name!r} has samples of shape {list(array.shape[1:])}; expected {list(shape)}",
        hint="the first axis of each array numbers the samples",
        kind="wrong-input",
    )


def run_session(
    build: Build, inputs: list[list[torch.Tensor]] | None = None, *, labels: torch.Tensor | None = None,
    timeout: float = 120.0, count: bool = True, progress: Callable[[int, int], None] | None = None,
) -> Session:
    """Run the example and seven variations, or the given inputs, in one boot, and compare with PyTorch.

    `progress` is told the number of runs done and to do.
    """
    if inputs is None:
        example = example_inputs(build.graph.origin)
        inputs = [example, *variations(example)]
    truth = Truth(build.graph, inputs)
    stateful = bool(build.graph.states)
    repeated = True
    with build.open(timeout=timeout, count=count) as running:
        if stateful:
            running.reset()
        passes = 2 if stateful else 1

        def run_all(done: int) -> list[list[torch.Tensor]]:
            results = []
            for number, row in enumerate(inputs, done + 1):
                results.append(running.flat(row))
                if progress is not None:
                    progress(number, passes * len(inputs))
            return results

        outputs = run_all(0)
        if stateful:
            running.reset()
            again = run_all(len(inputs))
            repeated = all(
                identical(a, b) for left, right in zip(outputs, again, strict=True)
                for a, b in zip(left, right, strict=True)
            )
    names = [p.name for p in build.graph.outputs if not p.is_size]
    quantization = build.lowered.quantization
    if quantization is None:
        matches = truth.compare(outputs, names)
    elif quantization.weights_only:
        matches = Truth(quantization.program, inputs).compare(outputs, names)
    else:
        matches = same_bits(build, evaluate_runs(build.lowered, inputs), outputs, names)
    dev = running.device
    info = build.info
    measured = profile(info, dev.counts) if dev.counts is not None and dev.counts.runs else None
    before = instructions_for_speed(build, inputs[0], timeout) if build.saving is not None and measured else None
    session = Session(build, info, outputs, truth, matches, repeated, measured, dev.counts_reason, dev.stack)
    session.figures = figures(build, info, measured, before)
    session.accuracy = accuracy(session, inputs, labels) if labels is not None else None
    if quantization is None and not all(m.match for m in matches):
        session.reasons = late_departure(build.graph, truth, inputs, names)
    if quantization is not None:
        session.snr_db, session.agreement = snr_db(session), agreement(session)
        if any(d is not None and d < LOW_DB for d in session.snr_db):
            session.worst_layers = lossy_layers(build, inputs)
    return session


def late_departure(graph: Graph, truth: Truth, inputs: list[list[torch.Tensor]], names: list[str]) -> list[str]:
    """Whether torch.export's program itself leaves the module, later than capture looked."""
    if graph.eager is None:
        return []
    program = Reference(functionalize(graph.origin))
    with one_thread():
        place = departure([program(*row) for row in inputs], truth.single)
    if place is None:
        return []
    return [f"output {names[place[1]]} of call {place[0] + 1} is not what the module itself gives: torch.export "
            "captured what it does at the first call; keep what changes between calls in registered buffers"]


def lossy_layers(build: Build, inputs: list[list[torch.Tensor]]) -> list[dict[str, Any]]:
    """The layers that lose most against the float model, as far as there is one."""
    with contextlib.suppress(PilotlightError):
        real = capture_exported(build.graph.origin, build.name)
        return [vars(row) for row in worst_layers(real, build.graph, inputs)]
    return []


def instructions_for_speed(build: Build, inputs: list[torch.Tensor], timeout: float) -> int | None:
    """What one run takes when the same model is compiled for speed; None where that does not fit the board."""
    fast = build.for_speed()
    try:
        with fast.open(timeout=timeout) as running:
            running.reset()
            running.flat(inputs)
    except DoesNotFitError:
        return None
    counts = running.device.counts
    return profile(fast.info, counts).instructions if counts is not None and counts.runs else None


def same_bits(
    build: Build, want: list[list[torch.Tensor]], outputs: list[list[torch.Tensor]], names: list[str]
) -> list[OutputMatch]:
    """A quantized model matches when the board's bytes are those of the integer reference on the host.

    An output that the model computes in float may differ by rounding, and one that it computes from floats which were
    quantized by what such a rounding makes of an integer.
    """
    kinds = arithmetic(build.lowered)
    rows = []
    for k, (name, port) in enumerate(zip(names, [p for p in build.lowered.outputs if not p.is_size], strict=True)):
        got, expected = ([row[k] for row in runs] for runs in (outputs, want))
        kind = kinds.get(port.value, Arithmetic.EXACT)
        if kind is Arithmetic.QUANTIZED_FLOAT:
            rows.append(nearly_same_numbers(name, got, expected, ROUNDING))
        else:
            rows.append(same_numbers(name, got, expected, ROUNDING if kind is Arithmetic.FLOAT else 0.0))
    return rows


def snr_db(session: Session) -> list[float | None]:
    """Per output: how far the quantized model is from the float one, as signal over noise; None where it is no float,
    or where there is no noise at all. A run whose data decide for another size counts as noise alone."""
    result: list[float | None] = []
    for k in range(len(session.matches)):
        signal = noise = 0.0
        for row, board in zip(session.truth.exact, session.outputs, strict=True):
            exact, got = row[k].double(), board[k].double()
            known = exact.isfinite()
            signal += float((exact[known] ** 2).sum())
            noise += float(((got - exact if got.shape == exact.shape else exact)[known] ** 2).nan_to_num(np.inf).sum())
        counts = session.truth.exact[0][k].is_floating_point() and noise > 0
        result.append(max(10 * float(np.log10(signal / noise)), FLOOR_DB) if counts and signal else
                      FLOOR_DB if counts else None)
    return result


def agreement(session: Session) -> list[float | None]:
    """Per integer output of a quantized model: the share of elements that are as the float model has them."""
    result: list[float | None] = []
    for k in range(len(session.matches)):
        pairs = [(row[k], got[k]) for row, got in zip(session.truth.exact, session.outputs, strict=True)]
        if pairs[0][0].is_floating_point():
            result.append(None)
            continue
        same = sum(int((want == got).sum()) for want, got in pairs if want.shape == got.shape)
        count = sum(want.numel() for want, _ in pairs)
        result.append(same / count if count else None)
    return result


def accuracy(session: Session, inputs: list[list[torch.Tensor]], labels: torch.Tensor) -> Accuracy:
    """The largest element of the first output is the class."""
    known = labels >= 0

    def classes(rows: list[list[torch.Tensor]]) -> torch.Tensor:
        return torch.stack([row[0].reshape(-1).argmax() for row in rows])

    def right(found: torch.Tensor) -> int:
        return int((found[known] == labels[known]).sum())

    board, pytorch = classes(session.outputs), classes(session.truth.single)
    quantization = session.build.graph.quantization
    pt2e = None
    if quantization is not None and not quantization.weights_only:
        reference = Reference(functionalize(quantization.program))
        with one_thread():
            pt2e = right(classes([reference(*row) for row in inputs]))
    return Accuracy(int(known.sum()), right(pytorch), right(board), int((board != pytorch).sum()), pt2e)
