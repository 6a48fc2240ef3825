"""What `torch.fft` needs from C: transforms of rows of complex numbers."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {"_fft_rows.default": CFunction("pt_do_fft_rows")}
