"""Float32 convolution, depthwise convolution and linear layers: conv2d_f32.h, linear_f32.h over blocks of pixels by
filters, which are assembly on cores with an FPU and C elsewhere."""

from __future__ import annotations

from pilotlight.codegen.target import Target
from pilotlight.kernels import pack_f32
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.estimate import Rate, float_rate
from pilotlight.kernels.layers import FloatLayer
from pilotlight.kernels.registry import offers

CONV_RATE, LINEAR_RATE = Rate(1.85, 15), Rate(2.15, 8)  # of blocks in assembly


@offers(FloatLayer)
def float32(layer: FloatLayer, target: Target) -> list[Candidate]:
    """The one kernel of a layer."""
    s = layer.shape
    linear = isinstance(s, pack_f32.LinearShape)
    rate = float_rate(target, LINEAR_RATE if linear else CONV_RATE)
    return [
        Candidate(
            name=f"{'fpu' if target.float_assembly else 'portable'}.{'linear' if linear else 'conv2d'}",
            headers=(s.header.removesuffix(".h"),),
            ctype=s.struct,
            table=lambda reverse: pack_f32.table(s, layer.lo, layer.hi, reverse),
            driver=s.driver,
            pack=lambda: (pack_f32.pack(s, layer.w), layer.bias),
            distance=pack_f32.overlap_distance(s),
            reverse=pack_f32.reverse_distance(s),
            micro=frozenset(pack_f32.micro_kernels(s)),
            instructions=rate.conv(s.as_conv2d() if isinstance(s, pack_f32.LinearShape) else s),
            hint="linear" if linear else "conv",
        )
    ]
