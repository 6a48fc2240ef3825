"""Elements in another order."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "pixel_shuffle.default": Kernel("pt_pixel_shuffle", 0),
    "pixel_unshuffle.default": Kernel("pt_pixel_shuffle", 1),
    "channel_shuffle.default": Kernel("pt_channel_shuffle"),
    "im2col.default": Kernel("pt_im2col"),
    "col2im.default": Kernel("pt_col2im"),
}
