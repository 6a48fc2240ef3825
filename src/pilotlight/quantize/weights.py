"""Weight-only quantization: large layers keep float inputs and outputs, their weights become int8 or int4.

int8: one scale for each output, the largest weight at 127. int4: one for each group of inputs and output, chosen from a
few candidates by least squared error. Scales have 16 significant bits at most, so that integer times scale is exact in
float32: PyTorch, run with the numbers that the integers stand for, is the reference.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from pilotlight.capture.exported import capture_exported
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Quantization
from pilotlight.kernels.pack_weights import STEP_BITS, Grid
from pilotlight.passes.weights import REASON

MODES = ("weights-int8", "weights-int4")
MIN_WEIGHTS = 1024  # layers with fewer stay float
GROUP = 32
INT4_TOP = (6.5, 7.0, 7.25, 7.5, 7.75, 8.0)  # where the largest weight of a group may lie
WEIGHT_ARGUMENT = {  # of the operators whose weights are quantized
    "linear.default": 1, "conv1d.default": 1, "conv1d.padding": 1, "conv2d.default": 1, "conv2d.padding": 1,
    "convolution.default": 1, "embedding.default": 0,
}
WEIGHT_INPUT = {"linear": 1, "conv2d": 1, "take": 0}  # of the graph's nodes


@dataclass(frozen=True)
class Steps:
    """Integers (O, I) and the scales they are multiplied with: (O,), or (O, groups) of `group` inputs each."""

    q: np.ndarray
    scale: np.ndarray
    group: int

    @property
    def real(self) -> np.ndarray:
        scale = self.scale[:, None] if self.scale.ndim == 1 else self.scale.repeat(self.group, 1)
        return (self.q * scale[:, : self.q.shape[1]]).astype(np.float32)


def quantize_weights(graph: Graph, mode: str, *, min_weights: int = MIN_WEIGHTS, group: int = GROUP) -> Graph:
    """The graph with int8 or int4 weights in its large linear layers, 1x1 convolutions and embeddings."""
    if not Grid.fits(group):
        raise PilotlightError(f"groups of {group} weights are not supported",
                              hint="give a multiple of 32, or 4, 8 or 16", kind="usage")
    program: ExportedProgram = graph.torch_program
    made: dict[str, Steps] = {}
    for target in _weights(program):
        tensor = _store(program, target)[target]
        if tensor.dtype == torch.float32 and tensor.numel() >= min_weights:
            w = tensor.detach().numpy().reshape(len(tensor), -1)
            if np.isfinite(w).all():
                made[target] = int8_steps(w) if mode == "weights-int8" else int4_steps(w, group)
    replaced = _replaced(program, made)
    quantized = capture_exported(replaced, graph.name)
    quantized.stand_for(graph)
    _annotate(quantized, made.values(), min_weights)
    quantized.quantization = Quantization(mode, replaced)
    return quantized


def int8_steps(w: np.ndarray) -> Steps:
    """(O, I), symmetric, one scale for each output."""
    scale = _rounded(np.abs(w).max(axis=1).astype(np.float64) / 127)
    q = np.clip(np.rint(w / np.where(scale > 0, scale, 1)[:, None]), -127, 127)
    return Steps(q.astype(np.int8), scale, w.shape[1])


def int4_steps(w: np.ndarray, group: int) -> Steps:
    """(O, I), symmetric, one scale for each output and group of inputs: an integer below 2^16 times a power of two."""
    outputs, inputs = w.shape
    groups = -(-inputs // group)
    wide = np.zeros((outputs, groups * group))
    wide[:, :inputs] = w
    wide = wide.reshape(outputs, groups, group)
    most = np.abs(wide).max(axis=2)
    _, exponent = np.frexp(most.max(axis=1) / min(INT4_TOP))
    unit = np.ldexp(1.0, exponent - STEP_BITS)[:, None]
    best, error, q = np.zeros_like(most), np.full(most.shape, np.inf), np.zeros(wide.shape)
    for top in INT4_TOP:
        scale = np.clip(np.rint(most / top / unit), 1, 2**STEP_BITS - 1) * unit
        steps = np.clip(np.rint(wide / scale[..., None]), -8, 7)
        squares = ((steps * scale[..., None] - wide) ** 2).sum(axis=2)
        better = squares < error
        best, error = np.where(better, scale, best), np.where(better, squares, error)
        q = np.where(better[..., None], steps, q)
    return Steps(q.reshape(outputs, -1)[:, :inputs].astype(np.int8), best, group)


def _rounded(scale: np.ndarray) -> np.ndarray:
    """Scales of 16 significant bits; none so small that a float32 could not hold integer times scale."""
    mantissa, exponent = np.frexp(scale)
    return np.ldexp(np.rint(mantissa * 2**16), np.maximum(exponent, -100) - 16)


def _weights(program: ExportedProgram) -> Iterator[str]:
    """The names of parameters that are used only as the weight of a supported layer."""
    targets = {s.arg.name: s.target for s in program.graph_signature.input_specs
               if s.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)}
    changed = set(program.graph_signature.buffers_to_mutate.values())
    for node in program.graph.nodes:
        target = targets.get(node.name) if node.op == "placeholder" else None
        if target and target not in changed and node.users and all(_takes(user, node) for user in node.users):
            yield target


def _takes(user: torch.fx.Node, weight: torch.fx.Node) -> bool:
    """Whether a node multiplies by this weight as a linear layer or 1x1 convolution, or picks rows of it."""
    name = str(user.target).removeprefix("aten.")
    at = WEIGHT_ARGUMENT.get(name)
    if at is None or [k for k, a in enumerate(user.args) if a is weight] != [at]:
        return False
    shape = weight.meta["val"].shape
    return len(shape) == 2 or (len(shape) > 2 and set(shape[2:]) == {1} and _groups(user) == 1)


def _groups(node: torch.fx.Node) -> Any:
    transposed = str(node.target).startswith("aten.convolution.") and node.args[6]
    at = 8 if str(node.target).startswith("aten.convolution.") else 6
    return 0 if transposed else node.args[at] if len(node.args) > at else node.kwargs.get("groups", 1)


def _store(program: ExportedProgram, target: str) -> dict[str, Any]:
    return program.state_dict if target in program.state_dict else program.constants


def _replaced(program: ExportedProgram, made: dict[str, Steps]) -> ExportedProgram:
    """The same program with weights as the integers stand for them; everything else is shared."""
    result = copy.copy(program)
    result._state_dict, result._constants = dict(program.state_dict), dict(program.constants)
    for target, steps in made.items():
        before = _store(program, target)[target]
        real = torch.from_numpy(steps.real).reshape(before.shape)
        parameter = isinstance(before, torch.nn.Parameter)
        _store(result, target)[target] = torch.nn.Parameter(real, requires_grad=False) if parameter else real
    return result


def _annotate(graph: Graph, made: Iterable[Steps], min_weights: int) -> None:
    """Attach its scales to every layer that reads a quantized weight (found by its numbers); to others, the reason."""
    known = {steps.real.tobytes(): steps for steps in made}
    for node in graph.nodes:
        at = WEIGHT_INPUT.get(node.op)
        data = None if at is None else node.inputs[at].data
        if data is None or data.dtype != np.float32:
            continue
        steps = known.get(data.tobytes())
        if steps is not None:
            node.attrs["weight_scale"] = steps.scale
            if steps.scale.ndim == 2:
                node.attrs["weight_group"] = steps.group
        elif data.size < min_weights:
            node.attrs[REASON] = f"it has {data.size:,} weights, fewer than {min_weights:,}"
