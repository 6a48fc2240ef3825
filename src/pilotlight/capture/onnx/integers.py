"""QuantizeLinear and DequantizeLinear with known scales, as PyTorch's operators for quantized models.

Activations have one scale. uint8 is int8 moved by 128: what is quantized stays int8 up to the DequantizeLinear that
reads it. Weights are symmetric, with a scale for each output; they keep their integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
import torch.nn.functional as F
from torch import Tensor, nn

from pilotlight.capture.onnx.module import Argument, Fixed, Held, Live, OnnxNode
from pilotlight.capture.onnx.types import TORCH
from pilotlight.errors import PilotlightError

_LIMITS = {"int8": (-128, 127, torch.int8), "uint8": (-128, 127, torch.int8), "int16": (-32768, 32767, torch.int16)}
_NARROW = ("int8", "uint8", "int4", "uint4", "int2", "uint2")
_MIDDLE = {"uint8": 128, "uint4": 8, "uint2": 2}


@dataclass(frozen=True)
class QuantizedNode:
    """A node's module; `shifted` if its results are int8 where the file has uint8."""

    module: nn.Module
    shifted: bool = False


@dataclass(frozen=True)
class QuantizedWeight:
    """Integers with a scale for each slice along an axis, and the module that gives their numbers."""

    data: np.ndarray
    scales: np.ndarray
    axis: int
    per_tensor: bool

    @property
    def module(self) -> nn.Module:
        constants = {"data": torch.from_numpy(self.data), "scales": torch.from_numpy(self.scales)}
        return OnnxNode(real_weights, [Held("data"), Held("scales")], {"axis": self.axis}, constants)


@dataclass
class Quants:
    """By the names of values: int8 next to uint8, and weights."""

    bytes: dict[str, str] = field(default_factory=dict)
    weights: dict[str, QuantizedWeight] = field(default_factory=dict)

    def rename(self, old: str, new: str) -> None:
        if old in self.bytes:
            self.bytes[new] = self.bytes[old]
        if old in self.weights:
            self.weights[new] = self.weights[old]


def real_weights(data: Tensor, scales: Tensor, *, axis: int) -> Tensor:
    zeros = torch.zeros(scales.shape[0], dtype=torch.int64)
    return torch.ops.quantized_decomposed.dequantize_per_channel(data, scales, zeros, axis, -128, 127, torch.int8)


def from_int8(x: Tensor) -> Tensor:
    return (x.to(torch.int16) + 128).to(torch.uint8)


def to_int8(x: Tensor) -> Tensor:
    return (x.to(torch.int16) - 128).to(torch.int8)


TO_INT8 = OnnxNode(to_int8, [Live(0)], {}, {})


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def _scale(node: onnx.NodeProto, values: Sequence[Any]) -> tuple[float, int] | None:
    """The one scale and zero point of an activation, if they are known."""
    scale, zero = values[1], values[2] if len(values) > 2 else np.zeros(1, np.uint8)
    zero = np.zeros(1, np.uint8) if zero is None else zero
    if isinstance(scale, Tensor) or isinstance(zero, Tensor) or scale is None or _attribute(node, "block_size", 0):
        return None
    if np.size(scale) != 1 or np.size(zero) != 1 or np.asarray(scale).dtype != np.float32:
        return None
    return float(np.asarray(scale).reshape(())), int(np.asarray(zero).reshape(()))


def quantizer(node: onnx.NodeProto, values: Sequence[Any]) -> QuantizedNode | None:
    """A float tensor as int8, uint8 or int16 of one scale."""
    found = _scale(node, values)
    if found is None or values[0].dtype != torch.float32:
        return None
    scale, zero = found
    kind = _attribute(node, "output_dtype", 0)
    given = values[2] if len(values) > 2 else None
    name = np.asarray(given).dtype.name if given is not None else \
        str(TORCH[kind]).removeprefix("torch.") if kind in TORCH else "uint8" if not kind else "other"
    if name not in _LIMITS:
        return None
    low, high, dtype = _LIMITS[name]
    shift = 128 if name == "uint8" else 0
    arguments: list[Argument] = [Live(0), *map(Fixed, (scale, zero - shift, low, high, dtype))]
    return QuantizedNode(OnnxNode(torch.ops.quantized_decomposed.quantize_per_tensor, arguments, {}, {}), bool(shift))


def dequantizer(node: onnx.NodeProto, values: Sequence[Any], shifted: bool) -> QuantizedNode | None:
    """The numbers of an integer tensor of one scale; `shifted` if it is given as int8 where the file has uint8."""
    found, dtype = _scale(node, values), str(values[0].dtype).removeprefix("torch.")
    if found is None or dtype not in _LIMITS or _attribute(node, "output_dtype", 0) not in (0, onnx.TensorProto.FLOAT):
        return None
    scale, zero = found
    low, high, stored = _LIMITS[dtype]
    shift = 128 if dtype == "uint8" else 0

    def real(x: Tensor) -> Tensor:
        x = to_int8(x) if shift and not shifted else x
        return torch.ops.quantized_decomposed.dequantize_per_tensor(x, scale, zero - shift, low, high, stored)

    return QuantizedNode(OnnxNode(real, [Live(0)], {}, {}))


def weight(node: onnx.NodeProto, values: Sequence[Any]) -> QuantizedWeight | None:
    """Constants of 8 bits or fewer, with a scale or one for each slice; None for biases, blocks and scalars."""
    data, scale, zero = values[0], values[1], values[2] if len(values) > 2 else None
    name = data.dtype.name
    if name not in _NARROW or isinstance(scale, Tensor) or isinstance(zero, Tensor) or data.ndim < 2 \
            or _attribute(node, "block_size", 0) or scale.dtype != np.float32:
        return None
    middle = _MIDDLE.get(name, 0)
    zeros = np.full(1, 0) if zero is None else np.asarray(zero).astype(np.int64).reshape(-1)
    whole = data.astype(np.int64) - middle
    if (zeros != middle).any():
        shift = int(zeros[0]) - middle
        if (zeros != zeros[0]).any() or not -128 <= whole.min() - shift <= whole.max() - shift <= 127:
            raise PilotlightError(
                f"its weights have the zero point {int(zeros[zeros != middle][0])}; expected symmetric ones, with "
                f"{middle}", hint="quantize the model with symmetric weights", kind="unsupported",
            )
        whole = whole - shift
    axis = _attribute(node, "axis", 1) % data.ndim
    single = scale.size == 1
    axis = 0 if single else axis
    scales = np.broadcast_to(scale.reshape(-1), (data.shape[axis],)).astype(np.float32).copy()
    return QuantizedWeight(whole.astype(np.int8), scales, axis, single)


def linear(node: onnx.NodeProto, values: Sequence[Any], by: QuantizedWeight) -> QuantizedNode | None:
    """A product with quantized weights as a linear layer, whose weights are (outputs, inputs)."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if by.data.ndim != 2 or attributes.get("alpha", 1) != 1 or attributes.get("beta", 1) != 1 \
            or attributes.get("transA") or not isinstance(values[0], Tensor):
        return None
    outputs = 0 if attributes.get("transB") else 1
    if not by.per_tensor and by.axis != outputs:
        return None
    data = by.data if outputs == 0 else np.ascontiguousarray(by.data.T)
    scales = by.scales if not by.per_tensor else np.full(len(data), by.scales[0], np.float32)
    constants = {"data": torch.from_numpy(data), "scales": torch.from_numpy(scales)}
    arguments: list[Argument] = [Live(0), Held("data"), Held("scales")]
    bias = values[2] if len(values) > 2 else None
    if bias is not None:
        if isinstance(bias, Tensor) or np.size(bias) not in (1, len(data)):
            return None
        constants["bias"] = torch.from_numpy(np.broadcast_to(np.reshape(bias, -1), (len(data),)).copy())
        arguments.append(Held("bias"))
    return QuantizedNode(OnnxNode(_linear, arguments, {}, constants))


def _linear(x: Tensor, data: Tensor, scales: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, real_weights(data, scales, axis=0), bias)
