"""The C table `pl_conv_s8_t` of a layer (patch_s8.h)."""

from __future__ import annotations

from pilotlight.kernels.dense_s8.layer import Layer
from pilotlight.kernels.pack_f32 import Conv2d

PATCH_BYTES = 1024  # as large as a patch grows for the sake of columns shared by neighbouring pixels


def fields(layer: Layer, pixels: int, reverse: bool) -> list[int]:
    """The members of `pl_conv_s8_t` in order; `layer.shape` is already flattened."""
    s = layer.shape
    return [
        s.n, s.ih, s.iw, s.ic, s.oh, s.ow, s.oc, s.kh, s.kw, s.sh, s.sw, s.pt, s.pl, s.dh, s.dw, s.groups,
        s.ic // s.groups, s.oc // s.groups, pixels, -(-s.ow // pixels), column_step(s), int(reverse), layer.zx,
        layer.zy, layer.shift, layer.lo, layer.hi,
    ]  # fmt: skip


def initializer(values: list[int], *more: int | str) -> str:
    """The members before `q`, then q, then those of a struct that begins with this one."""
    text = ", ".join(map(str, values[:-4])) + ", {" + ", ".join(map(str, values[-4:])) + "}"
    return f"{{{{{text}}}, {', '.join(map(str, more))}}}" if more else f"{{{text}}}"


def column_step(s: Conv2d) -> int:
    """Columns of a patch from one pixel's window to the next: they share columns where they can."""
    return s.sw if s.dw == 1 and s.sw < s.kw else s.kw


def columns(s: Conv2d, pixels: int) -> int:
    """Columns of the patch of so many pixels."""
    return (pixels - 1) * column_step(s) + s.kw


def pixels_at_once(s: Conv2d, block: int, column_bytes: int) -> int:
    """How many pixels share a patch: whole blocks of pixels, more than one only where windows share columns."""
    pixels = min(block, s.ow)
    if column_step(s) == s.kw:
        return pixels
    while pixels < s.ow and columns(s, pixels + block) * column_bytes <= PATCH_BYTES:
        pixels += block
    return min(pixels, s.ow)
