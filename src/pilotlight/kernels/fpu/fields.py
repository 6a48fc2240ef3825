"""The layout of `pl_mac_t` on a 32-bit core, in the order of mac_f32.h."""

from __future__ import annotations

NAMES = (
    "x", "w", "bias", "y", "rows", "cols", "len", "x_col", "x_row", "x_pixel", "w_row", "w_block", "y_pixel",
    "blocks", "groups", "relu",
)  # fmt: skip
OFFSET = {name: 4 * i for i, name in enumerate(NAMES)}
