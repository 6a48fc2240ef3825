"""What measuring kernels found, as plain data."""

from __future__ import annotations

from typing import Any

from pilotlight.tune.costs import Costs
from pilotlight.tune.layers import TunableLayer


def layer_row(layer: TunableLayer, costs: Costs, usual: str, chosen: str) -> dict[str, Any]:
    """A layer: its kernels, best first, which one is used now and which one was before."""
    found = costs.of(layer.key)
    kernels = []
    for candidate in layer.offered:
        cost = found.get(candidate.name)
        kernels.append({
            "name": candidate.name, "instructions": None if cost is None or cost.failure else cost.instructions,
            "cycles": cost.cycles if cost else None, "flash": candidate.flash, "scratch": candidate.scratch,
            "failure": cost.failure if cost else "not measured",
        })
    kernels.sort(key=lambda row: (row["failure"] is not None, row["cycles"] or row["instructions"] or 0))
    before, after = found.get(usual), found.get(chosen)
    known = before is not None and after is not None and not before.failure and not after.failure
    gain = 1 - after.value / before.value if known and before and after and before.value else None
    return {
        "what": layer.key, "module": layer.node.place.module, "default": usual, "chosen": chosen, "gain": gain,
        "kernels": kernels,
    }


def whole_row(instructions: int, cycles: int | None, figures: dict[str, Any]) -> dict[str, Any]:
    """A model as a whole."""
    flash, ram = figures["flash"], figures["ram"]
    return {
        "instructions": instructions, "cycles_estimate": cycles, "code": flash["code"], "weights": flash["weights"],
        "ram": ram["arena"] + ram["state"] + ram["static"],
    }
