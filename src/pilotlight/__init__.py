"""Pilotlight puts PyTorch models on microcontrollers.

    import pilotlight as pl

    session = pl.run("net.py:net", board="mps2-an386")     # as the command line does
    session.match, session.figures, session.operators, session.accuracy

    graph = pl.capture(module, example_inputs)              # or pl.load("net.py:net")
    graph = pl.quantize(graph, calibration=samples)         # int8; omit it for float32
    graph = pl.stream(graph, hop=320)                       # 320 new samples a call, the rest is state
    build = pl.compile(graph, board="mps2-an386")
    y = build.run(x, on="host")
    build.profile(), build.report("report.html")
    with pl.open_board("mps2-an386", build) as dev:
        y = dev(x)
    pl.connect("/dev/ttyACM0").run([array])                 # a board on which the device server runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pilotlight.errors import PilotlightError
from pilotlight.version import __version__ as __version__

if TYPE_CHECKING:
    from pilotlight.api import (
        Build,
        ProgramBuild,
        compile,
        connect,
        default_passes,
        emit_c,
        load,
        lower,
        make_plan,
        run,
        select,
    )
    from pilotlight.backends import Backend, Extern, Refused, add_backend
    from pilotlight.capture import capture
    from pilotlight.check import KernelError, check_kernel
    from pilotlight.compiler import open_board
    from pilotlight.custom import Kernel, add_kernel
    from pilotlight.options import Options
    from pilotlight.quantize import quantize
    from pilotlight.session import ProgramSession, Session
    from pilotlight.stream import stream

_WHERE = {
    **dict.fromkeys(
        (
            "Build", "ProgramBuild", "compile", "connect", "default_passes", "emit_c", "load", "lower", "make_plan",
            "run", "select",
        ),
        "pilotlight.api",
    ),
    **dict.fromkeys(("Backend", "Extern", "Refused", "add_backend"), "pilotlight.backends"),
    **dict.fromkeys(("ProgramSession", "Session"), "pilotlight.session"),
    "Options": "pilotlight.options", "capture": "pilotlight.capture",
    **dict.fromkeys(("KernelError", "check_kernel"), "pilotlight.check"),
    **dict.fromkeys(("Kernel", "add_kernel"), "pilotlight.custom"),
    "open_board": "pilotlight.compiler", "quantize": "pilotlight.quantize", "stream": "pilotlight.stream",
}

__all__ = [
    "Backend", "Build", "Extern", "Kernel", "KernelError", "Options", "PilotlightError", "ProgramBuild",
    "ProgramSession", "Refused", "Session", "add_backend", "add_kernel", "capture", "check_kernel", "compile",
    "connect", "default_passes", "emit_c", "load", "lower", "make_plan", "open_board", "quantize", "run", "select",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Load the parts that need PyTorch only when they are used, so that `pilotlight boards` starts at once."""
    if name not in _WHERE:
        raise AttributeError(f"module 'pilotlight' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_WHERE[name]), name)
