"""Float micro-kernels, the inner blocks of dense layers, for Cortex-M with single-precision hardware.

`mac_f32_PxF` computes P pixels by F filters, `dw_f32_PxF` P pixels by F channels of a depthwise layer.
`pilotlight.kernels.pack_f32.micro_kernels` tells which ones a layer needs.
"""

from __future__ import annotations

from pilotlight.kernels.fpu.assembly import assembly
from pilotlight.kernels.fpu.dispatch import dispatch
from pilotlight.kernels.fpu.names import is_block
from pilotlight.kernels.fpu.rfft_f32 import rfft

__all__ = ["assembly", "dispatch", "is_block", "rfft"]
