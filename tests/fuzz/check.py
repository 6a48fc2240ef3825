"""A program → a verdict: captured, quantized, compiled, run with sanitizers and on boards, compared with PyTorch."""

from __future__ import annotations

import contextlib
import inspect
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

import pilotlight as pl
from conformance.build import CompilerError, open_strictly
from fuzz.generate import CALLS, FORMS
from fuzz.program import Call, Loaded, load, tensors
from fuzz.several import entries, lengths
from fuzz.truth import Outputs, Truth, decibels, eager, power
from pilotlight.capture.source import capture
from pilotlight.compiler import Build, Running
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Quant
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.session import same_bits
from support.emulators import quickest

# Cortex-M4, RV32, Cortex-M3, Cortex-M55, Cortex-M0; the last one has little memory.
BOARDS = ("mps2-an386", "riscv32-virt", "mps2-an385", "mps3-an547", "microbit")
QUICK = ("",)  # instead of boards: no C at all
SAMPLES = 12
ALLOWED_DB = 6.0  # below PyTorch's own quantized model
# Not judged above that. A 16-bit table may be 24 of 32,767 steps off near a kink, which is 62 dB.
ENOUGH_DB = {"int8": 60.0, "int16x8": 68.0}
STEPS = {"int8": 1, "int16x8": 24}
# PyTorch keeps these float inside, ours are integers throughout: above this level they are not compared with it.
FUSED, FUSED_DB = ("nn.LSTM", "nn.GRU", "nn.RNN", "ttention", "nn.TransformerEncoderLayer"), 25.0 + ALLOWED_DB
# PyTorch's own quantized model, calibrated with samples that are larger by this: its scales, and so its roundings, are
# others. Where a rounding decides much (the sign of a small difference), its noise is the largest of these.
STRETCHES = (1.0, 1.01, 1.03, 1.06, 1.1)
WEAK_DB = 10.0  # a judgement against a signal that is hardly above PT2E's own noise says little
DEPARTS_DB = 25.0  # below that PT2E's own graph, which is made from an export, is compared with the module
WEIGHTS_DB = {"weights-int8": 20.0, "weights-int4": 5.0}
# Kinds that say that the user's model is beyond what is offered; every other error is a failure of ours.
REFUSALS = (
    "unsupported",
    "dtype",
    "dynamic-shape",
    "data-dependent",
    "capture",
    "calibration",
    "does-not-fit",
    "usage",
    "departs",
    "export-differs",
    "not-eager",
)


@dataclass
class Verdict:
    """outcome: right, wrong, crashed or refused; `where` is the stage; figures are signal over noise and the like."""

    outcome: str
    where: str = ""
    reason: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """What stays the same while a failing program is made smaller."""
        words = self.reason.split(":")[0] if self.outcome in ("crashed", "refused") else ""
        return f"{self.outcome} {self.where} {words}"


class _StageError(Exception):
    def __init__(self, verdict: Verdict):
        super().__init__(verdict.reason)
        self.verdict = verdict


@contextlib.contextmanager
def _stage(name: str) -> Iterator[None]:
    """What goes wrong inside is a verdict with the stage's name."""
    try:
        yield
    except _StageError:
        raise
    except CompilerError as error:
        raise _StageError(Verdict("crashed", name, f"C compiler: {error}")) from error
    except PilotlightError as error:
        refused = error.kind in REFUSALS or getattr(error, "kind", "").startswith("unsupported")
        raise _StageError(
            Verdict("refused" if refused else "crashed", name, f"{error.kind}: {_sanitizer(error.message)}")
        ) from error
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "pilotlight" in f.filename]
        frame = ours[-1] if ours else frame
        text = (str(error).strip().splitlines() or [""])[0]
        raise _StageError(
            Verdict("crashed", name, f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}: {text}")
        ) from error


def _sanitizer(text: str) -> str:
    """The line of a sanitizer's report that says what it found, or the first line."""
    for line in text.splitlines():
        if "runtime error" in line or "ERROR: AddressSanitizer" in line:
            return line.strip()
    return " ".join(text.splitlines()[:3])


def check(text: str, mode: str, boards: Sequence[str] = ()) -> Verdict:
    """The verdict for a program's text."""
    with tempfile.TemporaryDirectory(prefix="pilotlight-") as work, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode in FORMS:
                return _in_form(text, mode, boards, Path(work))
            trial = Trial(text, mode, boards, Path(work))
            return trial.float() if mode == "float" else trial.weights() if "weights" in mode else trial.integers()
        except _StageError as error:
            return error.verdict


def _in_form(text: str, mode: str, boards: Sequence[str], work: Path) -> Verdict:
    """A float model with two entry points, or with inputs of every length."""
    found = {"entries": entries, "lengths": lengths}[mode](load(text), boards, work)
    with _stage(mode):
        for where, difference in found:
            if difference is not None:
                return Verdict("wrong", where, difference)
    return Verdict("right")


class Trial:
    """One program on its way."""

    def __init__(self, text: str, mode: str, boards: Sequence[str], work: Path):
        self.text, self.mode, self.boards, self.work = text, mode, boards, work
        self.loaded = load(text)
        calls = [self.loaded.inputs(call) for call in range(CALLS)]
        self.truth = Truth(self.loaded, calls)
        with _stage("capture"):
            self.graph = _capture(self.loaded.model(), self.loaded.inputs(0))
        self.rows = [tensors(call) for call in calls]

    @cached_property
    def departs(self) -> str | None:
        """How torch.export's own idea of the model differs from what the user wrote, if it does."""
        return self.truth.differs(_exported(self.loaded, self.truth.calls))

    def float(self) -> Verdict:
        with _stage("compile"):
            build = pl.compile(self.graph)
        for where, got in self._everywhere(build):
            difference = self.truth.differs(got)
            if difference is not None:
                return Verdict("wrong", "export" if self.departs else where, difference)
        return Verdict("right")

    def weights(self) -> Verdict:
        """Floats between weights of few bits: near enough to the float model everywhere."""
        with _stage("quantize"):
            quantized = pl.quantize(self.graph, mode=self.mode, min_weights=4, group=4)
        with _stage("compile"):
            build = pl.compile(quantized)
        worst = 200.0
        for where, got in self._everywhere(build):
            self._same_shapes(got, where)
            for k, noise in enumerate(self.truth.noise(got)):
                if self.truth.single[0][k].is_floating_point():  # weights of few bits shift an output as a whole too
                    worst = min(worst, decibels(power(self.truth.exact, k), noise))
            if worst < WEIGHTS_DB[self.mode]:
                return Verdict("wrong", where, f"{worst:.1f} dB of signal over noise with {self.mode}")
        return Verdict("right", figures={"db": round(worst, 1)})

    def integers(self) -> Verdict:
        """The same bytes everywhere and as the integer reference, and hardly more noise than PyTorch's own."""
        calls = [*range(CALLS), *range(100, 100 + SAMPLES - CALLS)]
        with _stage("quantize"):
            samples = [_sample(self.loaded.inputs(call)) for call in calls]
            quantized = pl.quantize(self.graph, calibration=samples, mode=self.mode)
        with _stage("compile"):
            build = pl.compile(quantized)
        with _stage("reference"):
            reference = evaluate_runs(build.lowered, self.rows)
        for where, got in self._everywhere(build):
            for row in same_bits(build, reference, got, [str(k) for k in range(len(got[0]))]):
                if not row.match:
                    reason = f"output {row.name} differs from the integer reference by {row.max_abs_error:g}"
                    return Verdict("wrong", f"bytes on {where}", reason)
        self._same_shapes(reference, "quality")
        samples = [self.loaded.inputs(call) for call in calls]
        noise = [0.0] * len(self.truth.single[0])
        for stretch in STRETCHES:  # the others only where the first would call it wrong
            try:
                theirs = _pt2e(self.loaded, _stretched(samples, stretch), self.truth.calls, self.mode)
            except RuntimeError:  # PyTorch's own graph does not run, as where it views what has other strides now
                return self._quality(reference, [s * 10 ** (-WEAK_DB / 10) for s in self.truth.signal()],
                                     [p.quant for p in build.lowered.outputs if not p.is_size])
            noise = [max(pair) for pair in zip(noise, self.truth.noise(theirs), strict=True)]
            verdict = self._quality(reference, noise, [p.quant for p in build.lowered.outputs if not p.is_size])
            if verdict.where != "quality":
                break
        return verdict

    def _quality(self, got: list[Outputs], limits: list[float], grids: list[Quant | None]) -> Verdict:
        """Noise against that of PyTorch's own quantized model, output by output; an output that is nowhere further off
        than STEPS of its own scale is right: PT2E may leave a constant in it, or all of it, float."""
        signal, ours = self.truth.signal(), self.truth.noise(got)
        levels = [decibels(s, n) for s, n in zip(signal, ours, strict=True)]
        wanted = [decibels(s, n) for s, n in zip(signal, limits, strict=True)]
        figures: dict[str, Any] = {"db": [round(x, 1) for x in levels], "pt2e": [round(x, 1) for x in wanted]}
        figures["weak"] = sum(level < WEAK_DB for level in wanted)
        enough = FUSED_DB if any(word in self.text for word in FUSED) else ENOUGH_DB[self.mode]
        for k, (level, want) in enumerate(zip(levels, wanted, strict=True)):
            if not self.truth.single[0][k].is_floating_point():
                if ours[k] > limits[k] + max(3.0, 0.3 * signal[k]):
                    reason = f"output {k}: {ours[k]:.0f} of {signal[k]:.0f} integers differ, with PT2E {limits[k]:.0f}"
                    return Verdict("wrong", "quality", reason, figures)
            elif level < min(enough, want) - ALLOWED_DB and not self._within_steps(got, k, grids[k]):
                return Verdict("wrong", "quality", f"output {k}: {level:.1f} dB, PT2E has {want:.1f} dB", figures)
        if min(wanted, default=200.0) < DEPARTS_DB and self.departs is not None:
            return Verdict("wrong", "export", self.departs, figures)
        return Verdict("right", figures=figures)

    def _within_steps(self, got: list[Outputs], k: int, grid: Quant | None) -> bool:
        if grid is None:
            return False
        limit = STEPS[self.mode] * grid.scale
        return all(bool(((g[k] - e[k]).abs() <= limit).all()) for g, e in zip(got, self.truth.exact, strict=True))

    def _everywhere(self, build: Build) -> Iterator[tuple[str, list[Outputs]]]:
        """Results here and on the boards; with QUICK those of the compiled graph's operators as Python has them."""
        if self.boards == QUICK:
            with _stage("reference"):
                yield "reference", evaluate_runs(build.lowered, self.rows)
            return
        with _stage("host"), open_strictly(build, self.work / "model") as running:
            outputs = _runs(running, self.rows)
        yield "host", outputs
        for board in self.boards:
            with _stage(board):
                found = _on_board(build.graph, board, self.rows)
            if found is not None:
                yield board, found

    def _same_shapes(self, got: list[Outputs], where: str) -> None:
        if [[t.shape for t in row] for row in got] != [[t.shape for t in row] for row in self.truth.single]:
            raise _StageError(Verdict("wrong", where, "shapes differ from PyTorch's"))


def _on_board(graph: Graph, board: str, rows: list[Outputs]) -> list[Outputs] | None:
    """None if the model does not fit there."""
    try:
        build = pl.compile(graph, board, options=quickest(board))
        with contextlib.closing(build), build.open(timeout=60.0, count=False) as running:
            return _runs(running, rows)
    except PilotlightError as error:
        if error.kind != "does-not-fit":
            raise
        return None


def _runs(running: Running, rows: list[Outputs]) -> list[Outputs]:
    """A sequence of calls; after a reset the first has to give the same again."""
    running.reset()
    first = [running.flat(row) for row in rows]
    running.reset()
    again = running.flat(rows[0])
    if not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first[0], again, strict=True)):
        raise _StageError(Verdict("wrong", "reset", "another result for the same inputs after a reset"))
    return first


def _capture(module: torch.nn.Module, call: Call) -> Graph:
    """With keyword inputs as such where capture takes them, else in their places."""
    args, kwargs = call
    name = type(module).__name__
    if not kwargs:
        return capture(module, args, name)
    if "kwargs" in inspect.signature(capture).parameters:
        return capture(module, args, name, kwargs=kwargs)  # type: ignore[call-arg]
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    return capture(module, bound.args, name)


def _sample(call: Call) -> Any:
    """A calibration sample: one tensor, or a tuple of what forward takes."""
    args, kwargs = call
    values = (*args, *kwargs.values())
    return values[0] if len(values) == 1 and isinstance(values[0], torch.Tensor) else values


def _stretched(samples: list[Call], factor: float) -> list[Call]:
    return pytree.tree_map(
        lambda x: x * factor if isinstance(x, torch.Tensor) and x.is_floating_point() else x, samples
    )


def _exported(loaded: Loaded, calls: Sequence[Call]) -> list[Outputs]:
    """torch.export's own idea of the model, run by PyTorch; eager PyTorch's where it has none."""
    try:
        args, kwargs = loaded.inputs(0)
        with torch.no_grad():
            program = torch.export.export(loaded.model(), args, kwargs, strict=False).run_decompositions({})
            module = program.module(check_guards=False)
            return [[t.clone() for t in tensors(module(*a, **k))] for a, k in calls]
    except Exception:
        return eager(loaded.model, calls)


def _pt2e(loaded: Loaded, samples: list[Call], calls: list[Call], mode: str) -> list[Outputs]:
    """PyTorch running the converted PT2E graph of the functionalized model."""
    from torchao.quantization.pt2e import quantize_pt2e as torchao

    from pilotlight.quantize import _quiet
    from pilotlight.quantize.choice import every
    from pilotlight.quantize.expand import expanded
    from pilotlight.quantize.quantizer import Int8Quantizer, never

    with _quiet(), torch.no_grad():
        args, kwargs = loaded.inputs(0)
        program = torch.export.export(loaded.model(), args, kwargs, strict=False).run_decompositions({})
        module = program.module(check_guards=False)
        names = [k for k, _ in module.named_buffers()]
        initial = {k: v.detach().clone() for k, v in module.named_buffers()}
        wide = every if mode == "int16x8" else never
        prepared = torchao.prepare_pt2e(expanded(module), Int8Quantizer("minmax", never, wide))
        for a, k in samples:
            prepared(*a, **k)
        # nothing was trained here, and looking for what training leaves takes seconds
        with mock.patch.object(torchao, "_fold_conv_bn_qat", lambda m: m):
            converted = torchao.convert_pt2e(prepared, fold_quantize=False)
        for name, value in converted.named_buffers():
            if name in names and value.shape == initial[name].shape:
                value.copy_(initial[name])
        return [[t.clone() for t in tensors(converted(*a, **k))] for a, k in calls]


def main(path: str, mode: str) -> None:
    """A reproducer run on its own."""
    torch.set_num_threads(1)
    verdict = check(Path(path).read_text(), mode, BOARDS)
    print(f"{verdict.outcome} {verdict.where}: {verdict.reason or 'as eager PyTorch has it'} {verdict.figures or ''}")
    sys.exit(verdict.outcome in ("wrong", "crashed"))
