"""Layers as data: the types that kernels are registered for."""

from pilotlight.kernels.layers.float32 import FloatLayer
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int16 import Int16Layer
from pilotlight.kernels.layers.tflm_int16 import TflmInt16Layer
from pilotlight.kernels.layers.transform import TransformLayer
from pilotlight.kernels.layers.transposed import TransposedLayer
from pilotlight.kernels.layers.weight_only import WeightLayer

__all__ = [
    "FloatLayer", "Int8Layer", "Int16Layer", "TflmInt16Layer", "TransformLayer", "TransposedLayer", "WeightLayer",
]
