"""PyTorch and saved files → Graph."""

from pilotlight.capture.source import capture, load_model

__all__ = ["capture", "load_model"]
