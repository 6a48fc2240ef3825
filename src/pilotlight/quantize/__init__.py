"""Float graph and sample inputs → integer graph, through PT2E; `pilotlight.quantize(graph, calibration=samples)`.

Weight-only modes need no samples: `pilotlight.quantize(graph, mode="weights-int8")`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from pilotlight.callable_module import CallableModule
from pilotlight.capture.exported import capture_exported
from pilotlight.capture.reference import example_inputs, functionalize, one_thread
from pilotlight.capture.repetition import done_once
from pilotlight.errors import PilotlightError
from pilotlight.fixed import PILOTLIGHT, TFLM
from pilotlight.graph import Graph, Program, Quantization
from pilotlight.quantize import weights
from pilotlight.quantize.choice import Predicate, among, every, named
from pilotlight.quantize.far import far_tensors
from pilotlight.quantize.flat import flat_module, states_of
from pilotlight.quantize.samples import read_samples, run_sample
from pilotlight.quantize.weights import GROUP, MIN_WEIGHTS

MODES = ("int8", "int16x8", "auto")
LIMIT = 512  # samples
MAX_LOSS = 0.005  # of the accuracy, or of each output's size where there are no labels
Progress = Callable[[int, int], None]


def quantize(
    graph: Graph | Program, calibration: Iterable[Any] = (), mode: str = "int8", *, observer: str = "minmax",
    limit: int = LIMIT, min_weights: int = MIN_WEIGHTS, group: int = GROUP, wide: Sequence[str] = (),
    keep_float: Sequence[str] = (), labels: torch.Tensor | None = None, max_loss: float = MAX_LOSS,
    progress: Progress | None = None, numerics: str = PILOTLIGHT,
) -> Graph:
    """Quantize a captured graph with sample inputs: an iterable of inputs or of batches of them, such as a DataLoader
    (`quantize/samples.py`); at most `limit` samples are used.

    `wide` names modules (and inputs) whose results have 16 bits in a mode that is int8 otherwise; those of
    `keep_float` are not quantized at all. `labels` and `max_loss` are for the mode "auto", which chooses both.
    `min_weights` and `group` are for the weight-only modes: layers with fewer than `min_weights` weights
    stay float, and `group` is the number of int4 weights per scale.
    `numerics="tflm"`, for "int8", computes every operator as TensorFlow Lite for Microcontrollers does
    (`pilotlight.fixed`); one that it has no int8 form of is refused when the graph is compiled.
    """
    if isinstance(graph, Program):
        raise not_quantized(graph)
    _refuse_lengths(graph)
    _check_weights(graph)
    _check_numerics(numerics, mode, wide, keep_float)
    if mode in weights.MODES:
        return weights.quantize_weights(graph, mode, min_weights=min_weights, group=group)
    if mode not in MODES:
        raise PilotlightError(
            f"unknown quantization {mode!r}", hint=f"known: {', '.join((*MODES, *weights.MODES))}", kind="usage"
        )
    samples = read_samples(graph, calibration, limit)
    _need_torchao()
    if mode == "auto":
        with _quiet():
            from pilotlight.quantize.auto import search
        return search(graph, samples, _checked(labels, samples, limit), max_loss, observer, progress)
    functional = functionalize(graph.torch_program)
    module = flat_module(functional)
    chosen = every if mode == "int16x8" else among(named(module, wide))
    return quantize_pt2e(
        graph, functional, samples, mode, observer, chosen, among(named(module, keep_float)), numerics)


def _check_numerics(numerics: str, mode: str, wide: Sequence[str], keep_float: Sequence[str]) -> None:
    if numerics not in (PILOTLIGHT, TFLM):
        raise PilotlightError(
            f"unknown numerics {numerics!r}", hint=f"known: {PILOTLIGHT}, {TFLM}", kind="usage")
    odd = mode if mode != "int8" else "wide modules" if wide else "modules in float" if keep_float else None
    if numerics == TFLM and odd:
        raise PilotlightError(
            f"the numerics of TFLM are for int8 throughout, not for {odd}",
            hint='quantize to "int8" without exceptions, or omit the numerics', kind="unsupported",
        )


def not_quantized(program: Program) -> PilotlightError:
    """What has several entry points is compiled in float."""
    return PilotlightError(
        f"{program.name} has the entry points {', '.join(program.entries)}: they are compiled in float, and quantizing "
        "them is not supported",
        hint="omit the quantization, or quantize a model with one entry point", kind="unsupported",
    )


def _refuse_lengths(graph: Graph) -> None:
    lengths = [port.name for port in graph.inputs if port.is_size]
    if lengths:
        raise PilotlightError(
            f"{graph.name} has a dimension that is given at run time ({lengths[0]}); quantizing it is not supported",
            hint="capture it with fixed shapes", kind="unsupported",
        )


def _check_weights(graph: Graph) -> None:
    """What is not finite has no scale; buffers may hold infinities, as masks do."""
    for name, tensor in graph.torch_program.named_parameters():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise PilotlightError(
                f"the weights {name} hold NaN or infinity", hint="train the model again, or load other weights",
                kind="calibration",
            )


def quantize_pt2e(
    graph: Graph, functional: ExportedProgram, samples: list[list[torch.Tensor]], mode: str, observer: str,
    wide: Predicate, keep_float: Predicate, numerics: str = PILOTLIGHT,
) -> Graph:
    """The graph with observers inserted, calibrated, converted and captured again; `functional` is its program, and the
    two predicates select among its nodes."""
    with _quiet(), torch.no_grad(), one_thread(), done_once():
        converted = _convert(functional, samples, observer, wide, keep_float, numerics)
        exported = torch.export.export(converted, tuple(example_inputs(functional)), strict=False)
    quantized = capture_exported(exported, graph.name)
    quantized.stand_for(graph)
    quantized.numerics = numerics
    quantized.quantization = Quantization(mode, exported)
    return quantized


def _convert(
    functional: ExportedProgram, samples: list[list[torch.Tensor]], observer: str, wide: Predicate,
    keep_float: Predicate, numerics: str,
) -> torch.nn.Module:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from pilotlight.quantize.quantizer import Int8Quantizer

    module = flat_module(functional)
    initial = {name: state.clone() for name, state in states_of(module).items()}
    quantizer = Int8Quantizer(observer, keep_float, wide, far_tensors(module, samples), numerics)
    prepared = prepare_pt2e(module, quantizer)
    for number in range(len(samples)):
        run_sample(prepared, samples, number)
    # not folded: PT2E would take buffers that the model changes for constants
    with _untrained():
        converted = convert_pt2e(prepared, fold_quantize=False)
    for name, state in states_of(converted).items():
        state.copy_(initial[name])
    return converted


@contextlib.contextmanager
def _untrained() -> Iterator[None]:
    """For a batch norm that was not folded, PT2E looks for a hundred patterns that only training leaves; this takes
    15 seconds, and nothing was trained here."""
    from torchao.quantization.pt2e import quantize_pt2e as torchao

    before = torchao._fold_conv_bn_qat
    torchao._fold_conv_bn_qat = lambda model: model
    try:
        yield
    finally:
        torchao._fold_conv_bn_qat = before


def _need_torchao() -> None:
    if importlib.util.find_spec("torchao") is None:
        raise PilotlightError(
            "torchao was not found; it is needed to quantize",
            hint="install it with: pip install --no-deps torchao==0.18.0",
            kind="missing-tool",
        )


def _checked(labels: torch.Tensor | None, samples: Sequence[Any], limit: int) -> torch.Tensor | None:
    """The labels of the samples that are used."""
    if labels is None or len(labels) == len(samples) or (len(labels) > limit == len(samples)):
        return None if labels is None else labels[: len(samples)]
    raise PilotlightError(
        f"there are {len(labels)} labels for {len(samples)} calibration samples",
        hint="give one label for each sample, -1 where it is unknown", kind="calibration",
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torchao reports libraries for other processors that it cannot load."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


sys.modules[__name__].__class__ = CallableModule
