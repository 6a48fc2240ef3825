"""What C passes to the Thumb-1 blocks: conv_thumb1_s8.h, row_thumb1_s8.h, depthwise_thumb1_s8.h."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct

CONV = ArgumentStruct("pl_thumb1_conv_t", ("x", "x_end", "w_end", "y", "oc", "zy", "lo", "hi", "w"))
ROW = ArgumentStruct("pl_thumb1_row_t", ("x_end", "count", "w", "w_end", "y", "zy", "lo", "hi"))
DEPTHWISE = ArgumentStruct(
    "pl_thumb1_depthwise_t",
    ("x", "row", "ic", "w", "w_end", "y", "pixels", "zy", "lo", "hi", "rows", "x_row", "y_row"),
)
