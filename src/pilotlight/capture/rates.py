"""What a module says about the rate of its samples."""

from __future__ import annotations

import torch

from pilotlight.nn import MelScale, Resample


def sample_rate(module: torch.nn.Module) -> int | None:
    """Samples a second that all mel filters of a module were made for; None if there are none, or if another rate is
    made on the way."""
    parts = list(module.modules())
    rates = {part.sample_rate for part in parts if isinstance(part, MelScale)}
    if len(rates) != 1 or any(isinstance(part, Resample) for part in parts):
        return None
    return rates.pop()
