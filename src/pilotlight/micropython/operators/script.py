"""What `torch.jit.load` needs from C: source code out of an archive."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    "_jit_inflate.default": CFunction("pt_do_jit_inflate"),
    "_jit_source.default": CFunction("pt_do_jit_source"),
}
