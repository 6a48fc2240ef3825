"""The operators: one file per family; pointwise operators, reductions and views as table rows."""

import importlib
import pkgutil

from pilotlight.ops.base import Op, get, integer_form, lowered_names, lowering, moves_data

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["Op", "get", "integer_form", "lowered_names", "lowering", "moves_data"]
