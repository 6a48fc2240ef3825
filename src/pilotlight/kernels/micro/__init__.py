"""Micro-kernels, the inner blocks of dense layers.

`mac_f32_PxF` computes P pixels by F filters, `dw_f32_PxF` P pixels by F channels of a depthwise layer.
`pilotlight.kernels.pack_f32.micro_kernels` tells which ones a layer needs.
"""

from __future__ import annotations

from pilotlight.kernels.micro.assembly import assembly
from pilotlight.kernels.micro.dispatch import dispatch

__all__ = ["assembly", "dispatch"]
