"""Between PyTorch's tensors and a model's memory: the order of dimensions, and integers for real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph.dtypes import to_numpy, to_torch
from pilotlight.graph.graph import Port


def describe_port(port: Port) -> str:
    dtype = "complex64" if port.is_complex else "float32" if port.quant else port.value.dtype.name
    bounded = [axis for axis, _ in port.sizes]
    sizes = ", ".join(f"at most {n}" if axis in bounded else str(n) for axis, n in enumerate(port.shape))
    return f"{port.name}: {dtype}[{sizes}]"


def as_floats(x: torch.Tensor) -> torch.Tensor:
    """A complex tensor as pairs in a last dimension; others as they are."""
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def as_complex(pairs: torch.Tensor) -> torch.Tensor:
    """Pairs in a last dimension, of any strides, as a complex tensor."""
    return torch.complex(pairs[..., 0], pairs[..., 1])


def to_memory(port: Port, given: Any) -> np.ndarray:
    """A tensor in PyTorch's order as the bytes that the model reads; wrong shapes and types are refused.

    Where the model reads integers, float tensors are quantized as PT2E does; integers are taken as they are.
    """
    x = torch.as_tensor(given).detach()
    accepted = {torch.complex64} if port.is_complex else {port.value.dtype.torch}
    accepted |= {torch.float32} if port.quant else set()
    if tuple(x.shape) != port.shape or x.dtype not in accepted:
        raise PilotlightError(
            f"expected input {describe_port(port)}, got {str(x.dtype).removeprefix('torch.')}{list(x.shape)}",
            hint="give the shape and dtype that the model was captured with",
            kind="wrong-input",
        )
    x = as_floats(x)
    if port.quant is not None and x.is_floating_point():
        limits = torch.iinfo(port.value.dtype.torch)
        steps = torch.round(x * (1.0 / port.quant.scale)) + port.quant.zero_point
        x = steps.clamp(limits.min, limits.max).to(port.value.dtype.torch)
    if port.perm is not None:
        x = x.permute(port.perm)
    return to_numpy(x).reshape(port.value.shape)


def from_memory(port: Port, array: np.ndarray) -> torch.Tensor:
    """What the model wrote as a tensor in PyTorch's order; integers that stand for real numbers become float."""
    y = to_torch(np.array(array))
    if port.perm is not None:
        y = y.permute([port.perm.index(i) for i in range(len(port.perm))]).contiguous()
    y = y.reshape(port.real_shape)
    if port.is_complex:
        y = as_complex(y)
    if port.quant is not None:
        y = (y.to(torch.float32) - port.quant.zero_point) * port.quant.scale
    return y


def visible(ports: Sequence[Port], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What PyTorch would give: outputs cut to the sizes that this run decided, the sizes themselves left out."""
    found = []
    for port, tensor in zip(ports, tensors, strict=True):
        for axis, where in port.sizes:
            tensor = tensor.narrow(axis, 0, int(tensors[where]))
        if not port.is_size:
            found.append(tensor)
    return found
