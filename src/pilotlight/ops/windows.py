"""Window functions: constants, as PyTorch computes them."""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers, unused

OVERLOADS = {
    "hann_window": ("default", "periodic"),
    "hamming_window": ("default", "periodic", "periodic_alpha", "periodic_alpha_beta"),
    "blackman_window": ("default", "periodic"),
    "bartlett_window": ("default", "periodic"),
    "kaiser_window": ("default", "periodic", "beta"),
}


def _lower(name: str, overload: str) -> None:
    function = getattr(getattr(torch.ops.aten, name), overload)

    @lowers(f"{name}.{overload}")
    def window(
        b: Builder, dtype: object = None, layout: object = None, device: object = None, pin_memory: object = None,
        **numbers: Any,
    ) -> Value:
        unused(dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
        return b.constant(function(**numbers, dtype=b.results[0][0].torch), hint="window")


for _name, _overloads in OVERLOADS.items():
    for _overload in _overloads:
        _lower(_name, _overload)
