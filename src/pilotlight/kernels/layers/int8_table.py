"""The C table `pl_conv_s8_t` of a layer (patch_s8.h)."""

from __future__ import annotations

from dataclasses import asdict

from pilotlight.codegen.step import Fields
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape

PATCH_BYTES = 1024  # how large a patch may grow so that neighbouring pixels share columns


def fields(layer: Int8Layer, pixels: int, reverse: bool) -> Fields:
    """A `pl_conv_s8_t`; `layer.shape` is already flattened."""
    s = layer.shape
    return asdict(s) | {
        "icg": s.ic // s.groups, "ocg": s.oc // s.groups, "pixels": pixels, "in_row": -(-s.ow // pixels),
        "step": column_step(s), "reverse": int(reverse), "zx": layer.zx, "q": requantize(layer),
    }


def requantize(layer: Int8Layer) -> Fields:
    """A `pl_requantize_t`."""
    return {"zy": layer.zy, "shift": layer.shift, "lo": layer.lo, "hi": layer.hi}


def column_step(s: Conv2dShape) -> int:
    """Columns of a patch from one pixel's window to the next: they share columns where they can."""
    return s.sw if s.dw == 1 and s.sw < s.kw else s.kw


def columns(s: Conv2dShape, pixels: int) -> int:
    """Columns of a patch for `pixels` pixels."""
    return (pixels - 1) * column_step(s) + s.kw


def pixels_at_once(s: Conv2dShape, block: int, column_bytes: int) -> int:
    """How many pixels share a patch: whole blocks of pixels, more than one only where windows share columns."""
    pixels = min(block, s.ow)
    if column_step(s) == s.kw:
        return pixels
    while pixels < s.ow and columns(s, pixels + block) * column_bytes <= PATCH_BYTES:
        pixels += block
    return min(pixels, s.ow)
