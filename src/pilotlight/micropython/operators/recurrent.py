"""Recurrent cells; a kernel's number is the kind: 0 tanh, 1 relu, 2 GRU, 3 LSTM."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_KINDS = ("rnn_tanh", "rnn_relu", "gru", "lstm")

KERNELS: dict[str, CFunction] = {
    **{f"{name}_cell.default": CFunction("pt_recurrent_cell", kind) for kind, name in enumerate(_KINDS)},
}
