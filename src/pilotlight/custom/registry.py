"""Which kernels were added, and for which operators."""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.custom.kernel import Kernel
from pilotlight.custom.op import UserOp, graph_name
from pilotlight.custom.signature import bad
from pilotlight.errors import PilotlightError
from pilotlight.ops import base
from pilotlight.ops.forms import form
from pilotlight.ops.quantizing import OWN, quantized

_OPS: dict[str, UserOp] = {}  # by the user's name of the operator
_INTEGER: set[str] = set()  # operators whose int8 form is registered


def add_kernel(kernel: Kernel) -> Kernel:
    """Make a kernel known: from now on models use it, once it has passed its check. One of the same name goes."""
    _check_type(kernel)
    try:
        op = _operator(kernel)
        _check_schema(kernel, op)
    except PilotlightError as error:
        error.where = error.where or f"kernel {kernel.name}"
        raise
    withdraw_kernel(kernel.name)
    op.kernels[kernel.name] = kernel
    if kernel.quantized and op.title not in _INTEGER:
        _INTEGER.add(op.title)
        quantized(OWN, f"{graph_name(op.title)}.default")
        form(graph_name(op.title), width=8)(op.integer_form)
    return kernel


def withdraw_kernel(name: str) -> None:
    """Forget a kernel; nothing happens if there is none of that name."""
    for op in _OPS.values():
        op.kernels.pop(name, None)


def added_kernels() -> list[Kernel]:
    return [kernel for op in _OPS.values() for kernel in op.kernels.values()]


def patterns() -> list[tuple[UserOp, Kernel]]:
    """Kernels that compute what their reference does wherever it is written out."""
    return [(op, kernel) for op in _OPS.values() if op.schema is None for kernel in op.kernels.values()]


def operator_of(kernel: Kernel) -> UserOp:
    return _OPS[_title(kernel)]


def _title(kernel: Kernel) -> str:
    return kernel.op or f"kernel::{kernel.name}"


def _operator(kernel: Kernel) -> UserOp:
    title = _title(kernel)
    schema = _schema(kernel.op) if kernel.op else None
    if title not in _OPS:
        _OPS[title] = op = UserOp(title, schema)
        base.add_op(graph_name(title), op)
        if schema is not None:
            base.lowers(f"{graph_name(title)}.default")(op.lower)
    _OPS[title].schema = schema  # the file that defines it may have been loaded again
    return _OPS[title]


def _schema(op: str) -> Any:
    namespace, _, name = op.partition("::")
    if namespace == "aten":
        raise bad(f"{op} is PyTorch's own operator", "leave op= out: what the reference does is found in models")
    try:
        return getattr(getattr(torch.ops, namespace), name).default._schema
    except AttributeError as error:
        raise bad(f"there is no operator {op}",
                  "define it with torch.library.custom_op before the kernel is added") from error


def _check_type(kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise bad(f"expected a Kernel, got {type(kernel).__name__}", "create one: pilotlight.Kernel(...)")


def _check_schema(kernel: Kernel, op: UserOp) -> None:
    types = op.types
    if op.schema is not None:
        if op.schema.is_mutable:
            raise bad(f"{op.title} changes its arguments", "return the result, and give mutates_args=()")
        tensors = sum(str(a.type) == "Tensor" for a in op.schema.arguments)
        if tensors != len(kernel.inputs):
            raise bad(f"it takes {len(kernel.inputs)} tensors; {op.title} has {tensors}")
        returned = [str(r.type) for r in op.schema.returns]
        if returned != ["Tensor"] * len(kernel.outputs):
            raise bad(f"it gives {len(kernel.outputs)} tensors; {op.title} returns {', '.join(returned) or 'nothing'}")
    if set(kernel.parameters) != set(types):
        names = ", ".join(types) or "none"
        raise bad(f"parameters has values of {', '.join(kernel.parameters) or 'nothing'}; "
                  f"the operator's arguments that are no tensors are: {names}",
                  "give for each some values to check the kernel with")
    both = [name for name in types if name in kernel.dims]
    if both:
        raise bad(f"{both[0]!r} is an argument of {op.title} and a size", "give the size another name")
    for name, values in kernel.parameters.items():
        if not isinstance(values, tuple | list) or not values:
            raise bad(f"parameters has {values!r} for {name}; expected a tuple of values to check it with")
    kernel.check_prototype(types)
