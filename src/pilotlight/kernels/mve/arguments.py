"""What C passes to the Helium blocks: blocks_mve_s8.h."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct

_REQUANTIZE = ("q.zy", "q.shift", "q.lo", "q.hi")
DOT = ArgumentStruct(
    "pl_dot_mve_t",
    ("x0", "x1", "y0", "y1", "w", "bias", "end", "depth", "x_pixel", "last", "pairs", "pixels", "step", *_REQUANTIZE),
)
DW = ArgumentStruct(
    "pl_dw_mve_t", ("x", "y", "w", "pixels", "x_pixel", "y_pixel", "blocks", "rest", "taps", *_REQUANTIZE)
)
ROWS = ArgumentStruct(
    "pl_rows_mve_t", ("y", "x", "bytes", "pixels", "x_pixel", "y_pixel", "rows", "x_row", "y_row")
)
WINDOW = ArgumentStruct(
    "pl_window_mve_t",
    ("taps", "x", "padding", "at", "top", "left", "ih", "iw", "kh", "kw", "x_row", "x_col", "dh", "dw"),
)
