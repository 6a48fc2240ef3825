"""Losses; the number of a loss of two tensors is its place in this list, which loss.c has as well."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_OF_TWO = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")

KERNELS: dict[str, Kernel] = {
    **{f"{name}.default": Kernel("pt_loss", number) for number, name in enumerate(_OF_TWO)},
    "kl_div.default": Kernel("pt_kl_div"),
    "binary_cross_entropy.default": Kernel("pt_bce"),
    "binary_cross_entropy_with_logits.default": Kernel("pt_bce_logits"),
    "cross_entropy_loss.default": Kernel("pt_cross_entropy"),
    **{f"{name}.default": Kernel("pt_nll_loss") for name in ("nll_loss", "nll_loss2d", "nll_loss_nd")},
}
