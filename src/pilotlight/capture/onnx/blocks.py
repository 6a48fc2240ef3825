"""ONNX Runtime's MatMulNBits: weights of 2, 4 or 8 bits with a scale for each output and block of inputs.

Each block is a linear layer of its own whose weights stay integers; the results are added. Inputs and outputs are
float.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.integers import QuantizedNode, real_weights
from pilotlight.capture.onnx.module import Argument, Held, Live, OnnxNode
from pilotlight.capture.onnx.registry import MICROSOFT
from pilotlight.errors import PilotlightError

NAME = "MatMulNBits"
_BITS = (2, 4, 8)


def is_block_product(node: onnx.NodeProto) -> bool:
    return node.domain == MICROSOFT and node.op_type == NAME


def full_accuracy(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without leave to round its inputs to 8 bits, which ONNX Runtime would make use of."""
    if not any(map(is_block_product, model.graph.node)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in filter(is_block_product, copy.graph.node):
        for attribute in node.attribute:
            attribute.i = 0 if attribute.name == "accuracy_level" else attribute.i
    return copy


def _refuse(message: str) -> PilotlightError:
    return PilotlightError(message, hint="quantize the model again, in blocks with zero points that are whole numbers",
                           kind="unsupported")


def _unpacked(data: np.ndarray, bits: int) -> np.ndarray:
    """The last axis of bytes as numbers of fewer bits, the lowest first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((data[..., None] >> shifts) & ((1 << bits) - 1)).reshape(*data.shape[:-1], -1)


def block_product(node: onnx.NodeProto, values: Sequence[Any]) -> QuantizedNode:
    """The node as linear layers with integer weights, one for each block of inputs."""
    given = {a.name: a.i for a in node.attribute}
    bits = int(given.get("bits", 4))
    size, inputs, outputs = (int(given.get(key, 0)) for key in ("block_size", "K", "N"))
    x, packed, scales, zeros, order, bias = [*values, *[None] * (6 - len(values))][:6]
    if bits not in _BITS or size < 16 or size & (size - 1) or inputs < 1 or outputs < 1:
        raise _refuse(f"it has {bits} bits, blocks of {size}, K={inputs} and N={outputs}; expected 2, 4 or 8 bits and "
                      "blocks of 16, 32, 64 or more")
    if given.get("weight_prepacked"):
        raise _refuse("its weights are packed for one kind of processor")
    if order is not None:
        raise _refuse("its inputs are in another order (g_idx)")
    if any(isinstance(v, Tensor) for v in (packed, scales, zeros, bias)):
        raise _refuse("its weights, scales, zero points or bias are computed while the model runs")
    if not isinstance(x, Tensor) or x.dtype != torch.float32 or np.asarray(scales).dtype != np.float32:
        raise _refuse("it is not a product of float32")
    blocks = -(-inputs // size)
    if packed.size != outputs * blocks * size * bits // 8 or scales.size != outputs * blocks:
        raise _refuse("its weights or scales do not have the size that K and N ask for")
    middle = np.full((outputs, blocks), 1 << (bits - 1), np.float64)
    if zeros is not None and zeros.dtype == np.uint8:
        middle = _unpacked(zeros.reshape(outputs, -1), bits)[:, :blocks].astype(np.float64)
    elif zeros is not None:
        middle = zeros.reshape(outputs, blocks).astype(np.float64)
    steps = _unpacked(packed.reshape(outputs, blocks, -1), bits) - middle[:, :, None]
    if (steps != np.rint(steps)).any() or steps.min() < -128 or steps.max() > 127:
        raise _refuse("its zero points are no whole numbers, or move weights out of 8 bits")
    whole = steps.astype(np.int8).reshape(outputs, -1)[:, :inputs]
    grid = scales.reshape(outputs, blocks)
    constants: dict[str, Tensor] = {}
    for k in range(blocks):
        constants[f"data_{k}"] = torch.from_numpy(whole[:, k * size : (k + 1) * size].copy())
        constants[f"scales_{k}"] = torch.from_numpy(grid[:, k].copy())
    if bias is not None:
        constants["bias"] = torch.from_numpy(np.array(bias).reshape(-1))
    arguments: list[Argument] = [Live(0), *map(Held, constants)]
    return QuantizedNode(OnnxNode(_product, arguments, {"blocks": blocks, "size": size}, constants))


def _product(x: Tensor, *constants: Tensor, blocks: int, size: int) -> Tensor:
    bias = constants[2 * blocks] if len(constants) > 2 * blocks else None
    total: Tensor | None = None
    for k in range(blocks):
        part = x[..., k * size : (k + 1) * size]
        y = F.linear(part, real_weights(constants[2 * k], constants[2 * k + 1], axis=0), bias if k == 0 else None)
        total = y if total is None else total + y
    assert total is not None
    return total
