"""Element types that are stored but not computed with: 16-bit floats, and float64 constants.

PyTorch's kernels compute float16 and bfloat16 in float32 and round once, at the end of each operator. So does a
captured operator: halves are cast to float32 before its lowering and its results are cast back. Operators that
only move data (`ops.base.moves`) see the 16 bits as they are. Constants become float32 where they are computed with:
a cast while the model runs would need RAM, and kernels pack weights as float32 anyway.

Nothing computes in float64. What is float64 and depends on constants alone is computed by PyTorch during capture,
and may then meet float32 tensors, where PyTorch's promotion makes it float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from pilotlight.capture import complexes
from pilotlight.graph import FLOAT32, DType, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import convert, to_torch
from pilotlight.graph.ports import as_complex
from pilotlight.ops.base import Lowering
from pilotlight.ops.complex.base import Complex


def lower(b: Builder, lowering: Lowering, moves: bool, arguments: dict[str, Any]) -> Any:
    """Call a lowering in float32 where its operands or results are halves."""
    expected = b.results
    leaves = pytree.tree_leaves(arguments)
    halves = any(isinstance(x, Value) and x.dtype.kind == "h" for x in leaves)
    moves = moves and not arguments.get("accumulate")  # index_put and put may add
    if moves or not (halves or any(dtype.kind == "h" for dtype, _ in expected)):
        return lowering(b, **arguments)
    b.results = [(FLOAT32 if dtype.kind == "h" else dtype, shape) for dtype, shape in expected]
    given = {name: pytree.tree_map(lambda x: _wide(b, x), item) for name, item in arguments.items()}
    result: Any = lowering(b, **given)
    b.results = expected
    if isinstance(result, Value):
        return _narrow(b, result, expected[0][0])
    if isinstance(result, list | tuple):
        present = iter(expected)
        return [v if v is None else _narrow(b, v, next(present)[0]) for v in result]
    return result


def _wide(b: Builder, x: Any) -> Any:
    if not isinstance(x, Value) or x.dtype.kind != "h":
        return x
    if x.data is not None:
        return b.constant(convert(x.data, FLOAT32), hint=x.name)
    return b.cast(x, FLOAT32)


def _narrow(b: Builder, x: Value, dtype: DType) -> Value:
    return b.cast(x, dtype) if dtype.kind == "h" else x


def is_float64(item: Any) -> bool:
    """Float64 and complex128 constants stay PyTorch's tensors during capture; all else is a value of the graph."""
    return isinstance(item, torch.Tensor)


def is_wide(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float64, torch.complex128)


def evaluated(b: Builder, node: torch.fx.Node, values: dict[torch.fx.Node, Any]) -> Any:
    """What PyTorch says a node gives whose operands are all known, or None."""
    def known(item: Any) -> Any:
        if not isinstance(item, torch.fx.Node):
            return item
        value = values.get(item)
        if isinstance(value, Value | Complex):
            data = b.known(complexes.value_of(value))
            known = None if data is None else to_torch(data)
            value = as_complex(known) if known is not None and isinstance(value, Complex) else known
        if value is None:
            raise LookupError
        return value

    try:
        args, kwargs = torch.fx.node.map_aggregate((node.args, node.kwargs), known)
    except LookupError:
        return None
    with torch.no_grad():
        result = node.target(*args, **kwargs)  # type: ignore[operator]
    return pytree.tree_map(lambda t: t if is_wide(t) else complexes.constant(b, t), result)
