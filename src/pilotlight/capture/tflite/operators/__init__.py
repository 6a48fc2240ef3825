"""The operators of TensorFlow Lite, one short function each, by family."""

import importlib
import pkgutil

from pilotlight.capture.tflite.operators.integers import shifted

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)

__all__ = ["shifted"]
