"""PyTorch and saved files → Graph.

The package carries the name of what it does, and `pilotlight.capture(module, example_inputs)` does it: the module
object is callable.
"""

import sys
from types import ModuleType
from typing import Any

from pilotlight.capture.source import capture, load_model

__all__ = ["capture", "load_model"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
