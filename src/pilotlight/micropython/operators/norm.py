"""Normalization."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    "layer_norm.default": CFunction("pt_layer_norm", 0),
    "native_layer_norm.default": CFunction("pt_layer_norm", 1),
    "rms_norm.default": CFunction("pt_rms_norm"),
    "group_norm.default": CFunction("pt_group_norm"),
    "batch_norm.default": CFunction("pt_batch_norm", 0),
    "instance_norm.default": CFunction("pt_batch_norm", 1),
    "native_batch_norm.default": CFunction("pt_batch_norm", 2),
}
