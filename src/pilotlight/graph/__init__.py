"""The model as plain data."""

from pilotlight.graph.dtypes import BFLOAT16, BOOL, BY_NAME, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, UINT8, DType
from pilotlight.graph.graph import Graph, Node, Place, Port, Quant, Quantization, Shape, State, Value
from pilotlight.graph.program import Program, SharedReference
from pilotlight.graph.reference import Answers, CoarseReference, LayeredAnswers, LayeredReference, Reference
from pilotlight.graph.verify import verify

__all__ = [
    "BFLOAT16", "BOOL", "BY_NAME", "FLOAT16", "FLOAT32", "INT8", "INT16", "INT32", "INT64", "UINT8", "Answers",
    "CoarseReference", "DType", "Graph", "LayeredAnswers", "LayeredReference", "Node", "Place", "Port", "Program",
    "Quant", "Quantization", "Reference", "Shape", "SharedReference", "State", "Value", "verify",
]
