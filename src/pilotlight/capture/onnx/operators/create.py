"""Tensors that are made from numbers alone; what is made from constants is computed when the model is read."""

from __future__ import annotations

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import by_definition, operator

_MEL = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")


@operator("Range", fixed=("start", "limit", "delta"))
def numbers(start: float, limit: float, delta: float) -> Tensor:
    return torch.arange(start, limit, delta)


@operator("ConstantOfShape", fixed=("shape",))
def constant_of_shape(shape: list[int], *, value: Tensor | None = None) -> Tensor:
    return torch.zeros(shape) if value is None else value.reshape(()).expand(shape)


by_definition("MelWeightMatrix", _MEL, fixed=_MEL)  # of constants: ONNX's evaluator computes it
for _name in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    by_definition(_name, ["size"], fixed=["size"])
