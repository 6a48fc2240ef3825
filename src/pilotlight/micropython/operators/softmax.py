"""softmax; a kernel's number is 1 for the schema without a dtype."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    "softmax.int": CFunction("pt_softmax", 0),
    "log_softmax.int": CFunction("pt_log_softmax", 0),
    "_softmax.default": CFunction("pt_softmax", 1),
    "_log_softmax.default": CFunction("pt_log_softmax", 1),
}
