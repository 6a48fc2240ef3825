"""How ranges are found in calibration."""

from __future__ import annotations

from typing import Any

import torch
from torchao.quantization.pt2e import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from pilotlight.errors import PilotlightError

SMALLEST = 2.0**-40  # scale


class PercentileObserver(MinMaxObserver):
    """The range that holds all but a few of the values: the mean over batches of the 0.01 % and 99.99 % quantiles."""

    tail = 1e-4

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return x
        values = x.detach().float().flatten().sort().values
        last = values.numel() - 1
        low, high = values[round(self.tail * last)], values[round((1 - self.tail) * last)]
        seen = int(self.batches)
        if seen == 0:
            self.min_val, self.max_val = low, high
        else:
            self.min_val = (self.min_val * seen + low) / (seen + 1)
            self.max_val = (self.max_val * seen + high) / (seen + 1)
        self.batches += 1
        return x


class SamplesObserver(MinMaxObserver):
    """16-bit samples as they are recorded: -1 to 1, or the power of two that calibration reaches beyond that."""

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        largest = torch.maximum(-self.min_val, self.max_val)
        power = torch.ceil(torch.log2(largest.clamp(min=1.0)))
        return torch.exp2(power - 15.0).reshape(1), torch.zeros(1, dtype=torch.int64)


def _finite(observer: Any) -> Any:
    """An observer that does not see infinities, which are at the end of any range, and NaN. A tensor that
    was always zero, such as a ReLU that no sample activates, has no range and gets -1 to 1."""

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        observer.forward(self, torch.where(x.isfinite(), x, 0.0))
        return x

    def calculate_qparams(self: Any) -> tuple[torch.Tensor, torch.Tensor]:
        scale, zero = observer.calculate_qparams(self)
        nothing = self.min_val == self.max_val == 0
        return (torch.full_like(scale, -1 / self.quant_min), torch.zeros_like(zero)) if nothing else (scale, zero)

    methods = {"forward": forward, "calculate_qparams": calculate_qparams}
    return type(f"Finite{observer.__name__}", (observer,), methods)


OBSERVERS: dict[str, Any] = {
    "minmax": _finite(MinMaxObserver),
    "moving-average": _finite(MovingAverageMinMaxObserver),
    "percentile": _finite(PercentileObserver),
    "mse": _finite(HistogramObserver),
}
SAMPLES = _finite(SamplesObserver)


def activation_spec(observer: str, bits: int = 8) -> QuantizationSpec:
    """int8 with a zero point, or int16 around zero."""
    if observer not in OBSERVERS:
        raise PilotlightError(
            f"unknown observer {observer!r}", hint=f"choose one of {', '.join(OBSERVERS)}", kind="usage"
        )
    constructor = OBSERVERS[observer].with_args(eps=SMALLEST)
    if bits == 16:
        return QuantizationSpec(torch.int16, constructor, -32768, 32767, torch.per_tensor_symmetric)
    return QuantizationSpec(torch.int8, constructor, -128, 127, torch.per_tensor_affine)


def samples_spec() -> QuantizationSpec:
    """Sound as it is recorded, whatever the observer of other tensors."""
    return QuantizationSpec(torch.int16, SAMPLES.with_args(eps=SMALLEST), -32768, 32767, torch.per_tensor_symmetric)


def weight_spec(axis: int) -> QuantizationSpec:
    constructor = PerChannelMinMaxObserver.with_args(eps=SMALLEST)
    return QuantizationSpec(torch.int8, constructor, -127, 127, torch.per_channel_symmetric, ch_axis=axis)
