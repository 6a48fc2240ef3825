"""The steps of the int16 transform, which rfft_s16.h calls, as blocks under one name, `fft_s16`: C for any core."""

from __future__ import annotations

NAME = "fft_s16"
STEPS = {"load": "points", "radix4": "4", "radix2": "2", "split": "apart"}  # what the driver calls: its C


def dispatch() -> str:
    """C text that defines the steps."""
    return "\n".join(
        f"static inline void pl_fft_{step}_s16(pl_fft_s16_t *t)\n{{\n    pl_fft{_name(c)}_s16(t);\n}}\n"
        for step, c in STEPS.items()
    )


def _name(c: str) -> str:
    return c if c.isdigit() else f"_{c}"
