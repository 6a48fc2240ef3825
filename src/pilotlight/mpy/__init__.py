"""A compiled model as a native module of MicroPython: code in NAME.mpy, weights in NAME.bin."""

from pilotlight.mpy.architectures import Architecture, choose
from pilotlight.mpy.native import NativeModule, native_module

__all__ = ["Architecture", "NativeModule", "choose", "native_module"]
