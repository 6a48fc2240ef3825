"""What C passes to the int8 blocks: dsp_s8.h, depthwise_dsp_s8.h, taps_dsp_s8.h, winograd_dsp_s8.h, unfold_dsp_s8.h."""

from __future__ import annotations

from pilotlight.kernels.assembly.arguments import ArgumentStruct
from pilotlight.kernels.assembly.instructions import Core, RegisterList

CONV = ArgumentStruct("pl_dsp_conv_t", ("x", "steps", "x_end", "w", "w_end", "y", "zy", "y_pixel", "lo", "hi"))
ROW = ArgumentStruct("pl_dsp_row_t", ("x", "steps", "x_end", "w", "w_end", "y", "zy", "lo", "hi"))
DEPTHWISE = ArgumentStruct("pl_dsp_depthwise_t", ("x", "w", "y", "pixels", "oc", "y_row", "zy", "lo", "hi"))
PAIRS = ArgumentStruct("pl_dsp_pairs_t", ("a", "b", "to", "columns", "ic", "zx"))
TAPS = ArgumentStruct("pl_dsp_taps_t", ("x", "kh", "kw", "column", "row", "w", "w_end", "y", "zy", "lo", "hi"))
WINOGRAD = ArgumentStruct("pl_dsp_winograd_t", ("v", "w", "w_end", "u", "steps", "zy", "lo", "hi", "y"))
TILES = ArgumentStruct("pl_dsp_tiles_t", ("x", "row", "column", "channels", "v_end", "fours"))
UNFOLD = ArgumentStruct("pl_dsp_unfold_t", ("from", "to"))

BY_KIND = {
    "conv": CONV, "quad": CONV, "point": CONV, "row": ROW, "depthwise": DEPTHWISE, "pairs": PAIRS, "taps": TAPS,
    "winograd": WINOGRAD, "tiles": TILES, "unfold": UNFOLD,
}


def all_fields(struct: ArgumentStruct) -> RegisterList:
    """Registers from r1 on, into which one instruction loads a struct: its first field is in r1."""
    return RegisterList(tuple(Core(n) for n in range(1, 1 + len(struct))))
