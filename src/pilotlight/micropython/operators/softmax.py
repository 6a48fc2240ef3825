"""softmax; a kernel's number is 1 for the schema without a dtype."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "softmax.int": Kernel("pt_softmax", 0),
    "log_softmax.int": Kernel("pt_log_softmax", 0),
    "_softmax.default": Kernel("pt_softmax", 1),
    "_log_softmax.default": Kernel("pt_log_softmax", 1),
}
