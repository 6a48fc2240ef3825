"""The operators, by family; importing this package registers them."""

from pilotlight.capture.onnx.operators import (
    activation,
    arithmetic,
    cast,
    create,
    dense,
    detection,
    index,
    norm,
    optimizer,
    pool,
    quantized,
    recurrent,
    reduce,
    resize,
    sequence,
    shape,
    signal,
    unary,
    vision,
)
from pilotlight.capture.onnx.registry import find

__all__ = [
    "activation", "arithmetic", "cast", "create", "dense", "detection", "find", "index", "norm", "optimizer", "pool",
    "quantized", "recurrent", "reduce", "resize", "sequence", "shape", "signal", "unary", "vision",
]
