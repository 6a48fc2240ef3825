"""What C passes to the RISC-V blocks: conv_rv_s8.h, depthwise_rv_s8.h."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct

CONV = ArgumentStruct("pl_rv_conv_t", ("x", "step", "x_end", "w", "w_end", "y", "oc", "zy", "lo", "hi"))
DEPTHWISE = ArgumentStruct("pl_rv_depthwise_t", ("x", "row", "ic", "w", "w_end", "y", "pixels", "zy", "lo", "hi"))
