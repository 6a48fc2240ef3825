"""Dense layers of int16 under TFLM's contract: q_tflm_conv_s16.h."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.tflm_int16 import TflmInt16Layer
from pilotlight.kernels.registry import offers

RATE = Rate(8, 90)


@offers(TflmInt16Layer)
def tflm_int16(layer: TflmInt16Layer, target: Target) -> list[Candidate]:
    """The one kernel of a layer."""
    s = layer.shape
    table = {**asdict(s), "wide": int(layer.wide), "lo": layer.lo, "hi": layer.hi}
    constants = (np.ascontiguousarray(layer.w), layer.bias, layer.m, layer.shifts)
    return [
        Candidate(
            name="portable.tflm_s16",
            headers=("q_tflm_conv_s16",),
            ctype="pl_q_tflm_conv_s16_t",
            table=lambda reverse: table,
            driver="pl_q_tflm_conv_s16",
            pack=lambda: constants,
            instructions=RATE.conv(s),
        )
    ]
