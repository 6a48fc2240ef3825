"""Recurrent cells; a kernel's number is the kind: 0 tanh, 1 relu, 2 GRU, 3 LSTM."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_KINDS = ("rnn_tanh", "rnn_relu", "gru", "lstm")

KERNELS: dict[str, Kernel] = {
    **{f"{name}_cell.default": Kernel("pt_recurrent_cell", kind) for kind, name in enumerate(_KINDS)},
}
