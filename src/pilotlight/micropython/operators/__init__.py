"""Which C function computes which of PyTorch's overloads: one module per family, each with a table `KERNELS`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from pilotlight.micropython.rows import row_kernels
from pilotlight.micropython.schemas import CFunction


@cache
def kernels() -> dict[str, CFunction]:
    """Every overload that has a kernel; a family's own entry takes precedence over a row of the compiler's."""
    own: dict[str, CFunction] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        if module == "aliases":
            continue
        added = importlib.import_module(f"{__name__}.{module}").KERNELS
        assert own.keys().isdisjoint(added), f"{module} has entries of another family: {sorted(own.keys() & added)}"
        own |= added
    return row_kernels() | own
