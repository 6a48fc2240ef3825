"""PyTorch and saved files → Graph; `pilotlight.capture(module, example_inputs)`."""

import sys

from pilotlight.callable_module import CallableModule
from pilotlight.capture.source import capture, load_model

__all__ = ["capture", "load_model"]

sys.modules[__name__].__class__ = CallableModule
