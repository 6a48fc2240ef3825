"""Complex tensors in capture: complex64 becomes pairs of float32 (`ops/complex/base.py`).

The type of each tensor is that of torch.export's metadata. An operator that reads or gives a complex tensor, or takes
a complex number, is lowered by its rule for complex tensors; one without such a rule is refused by the name that the
user wrote. complex128 is refused, as float64 is, unless it depends on constants alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from pilotlight.capture import rows
from pilotlight.capture.structure import written_name
from pilotlight.capture.symbols import Symbols
from pilotlight.errors import PilotlightError
from pilotlight.graph import FLOAT32, DType, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import from_torch
from pilotlight.ops.base import Lowering
from pilotlight.ops.complex.base import Complex, lacks_complex, rule

BY_NUMBER = ("index", "index_put", "index_copy", "take", "put", "slice", "select")  # read or write rows by number


def is_involved(arguments: Mapping[str, Any], results: list[torch.Tensor]) -> bool:
    """Whether an operator has to do with complex numbers."""
    given = pytree.tree_leaves(arguments)
    return any(isinstance(x, Complex | complex) for x in given) or any(t.is_complex() for t in results)


def expected(tensor: torch.Tensor, shape: Shape, what: str) -> tuple[DType, Shape]:
    """Type and shape in the graph of a tensor that PyTorch gives."""
    return (FLOAT32, (*shape, 2)) if tensor.dtype == torch.complex64 else (from_torch(tensor.dtype, what), shape)


def pairs(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as the graph has it."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.dtype == torch.complex64 else tensor.resolve_neg()


def constant(b: Builder, tensor: torch.Tensor, hint: str = "const") -> Value | Complex:
    value = b.constant(pairs(tensor), hint=hint)
    return Complex(value) if tensor.is_complex() else value


def lowering_of(node: torch.fx.Node, symbols: Symbols, arguments: Mapping[str, Any]) -> Lowering:
    """The rule of an operator on complex tensors. torch.export also captures products of real and complex tensors,
    which PyTorch itself refuses."""
    name = str(node.target).removeprefix("aten.")
    found = rule(name)
    if found is None:
        raise PilotlightError(
            f"operator {written_name(node)} is not supported for complex tensors",
            hint="compute with z.real and z.imag, or with z.abs() and z.angle(), where that is possible",
            kind="unsupported",
        )
    if rows.varies(node) and (name.split(".")[0] in BY_NUMBER or not rows.keeps_rows_apart(node, symbols)):
        raise PilotlightError(
            f"operator {written_name(node)} mixes rows of complex numbers whose number is only known at run time",
            hint="choose with torch.where instead of a mask, or take z.real and z.imag first", kind="unsupported",
        )
    if lacks_complex(found, arguments):
        raise PilotlightError(
            f"operator {written_name(node)} is not supported for real tensors together with complex ones; "
            "expected both to be complex",
            hint="convert the real one: x.to(torch.complex64), or layer.to(torch.complex64) for a layer's weights",
            kind="unsupported",
        )
    return found


def told(is_complex: bool, dtype: DType, shape: Shape) -> str:
    """A type and a shape of the graph, for people."""
    return f"complex64{list(shape[:-1])}" if is_complex else f"{dtype}{list(shape)}"


def value_of(item: Any) -> Any:
    """The value in the graph of a captured tensor, complex or real."""
    return item.pair if isinstance(item, Complex) else item
