"""The model as plain data."""

from pilotlight.graph.dtypes import BOOL, BY_NAME, FLOAT32, INT8, INT16, INT32, INT64, DType
from pilotlight.graph.graph import Graph, Node, Place, Port, Quant, Quantization, Shape, State, Value
from pilotlight.graph.verify import verify

__all__ = [
    "BOOL", "BY_NAME", "FLOAT32", "INT8", "INT16", "INT32", "INT64", "DType", "Graph", "Node", "Place", "Port",
    "Quant", "Quantization", "Shape", "State", "Value", "verify",
]
