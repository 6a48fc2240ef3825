"""The operators, by family; importing this package registers them."""

from pilotlight.capture.onnx.operators import (
    activation,
    arithmetic,
    cast,
    create,
    dense,
    index,
    norm,
    pool,
    reduce,
    shape,
    unary,
)
from pilotlight.capture.onnx.registry import find

__all__ = [
    "activation", "arithmetic", "cast", "create", "dense", "find", "index", "norm", "pool", "reduce", "shape", "unary",
]
