"""Python's package `onnx`, which not every installation has."""

from __future__ import annotations

from types import ModuleType

from pilotlight.errors import PilotlightError


def need_onnx() -> ModuleType:
    """The package, or one sentence that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise PilotlightError(
            f"reading .onnx files needs Python's package onnx, which cannot be loaded ({error})",
            hint="install it with: pip install 'pilotlight[onnx]'", kind="missing-tool",
        ) from error
    return onnx
