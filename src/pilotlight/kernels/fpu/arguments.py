"""What C passes to the float blocks: mac_f32.h."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct

MAC = ArgumentStruct(
    "pl_mac_t",
    ("x", "w", "bias", "y", "rows", "cols", "len", "x_col", "x_row", "x_pixel", "w_row", "w_block", "y_pixel", "blocks",
     "groups", "relu"),
)
