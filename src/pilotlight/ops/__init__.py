"""The operators: one file per family, a folder where it has forms of several widths."""

import importlib
import pkgutil

from pilotlight.ops.base import Op, get, lowered_names, lowering, moves_data

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)

__all__ = ["Op", "get", "lowered_names", "lowering", "moves_data"]
