"""Pilotlight puts PyTorch models on microcontrollers.

    import pilotlight as pl

    graph = pl.capture(module, example_inputs)
    graph = pl.quantize(graph, calibration=samples)        # int8; leave it out for float32
    build = pl.compile(graph, board="mps2-an386")
    y = build.run(x, on="host")
    with pl.open_board("mps2-an386", build) as dev:
        y = dev(x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pilotlight.errors import PilotlightError
from pilotlight.version import __version__ as __version__

if TYPE_CHECKING:
    from pilotlight.capture import capture, load_model
    from pilotlight.compiler import Build, compile, open_board
    from pilotlight.options import Options
    from pilotlight.quantize import quantize

_WHERE = {
    "capture": "pilotlight.capture", "load_model": "pilotlight.capture", "Build": "pilotlight.compiler",
    "Options": "pilotlight.options", "compile": "pilotlight.compiler", "open_board": "pilotlight.compiler",
    "quantize": "pilotlight.quantize",
}

__all__ = ["Build", "Options", "PilotlightError", "capture", "compile", "load_model", "open_board", "quantize"]


def __getattr__(name: str) -> Any:
    """Load the parts that need PyTorch only when they are used, so that `pilotlight boards` starts at once."""
    if name not in _WHERE:
        raise AttributeError(f"module 'pilotlight' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_WHERE[name]), name)
