"""An exported module in the operators that the quantizer knows, before observers are inserted.

- A weight or bias of a dense layer that is computed from parameters (packed weights, a weight norm) becomes one,
  and a product with a constant matrix is a linear layer.
- Operators of several steps are split, so that each step's result gets a scale: `glu`, vector norms.
- A logarithm of the energies of a filter bank becomes part of the operator that gives them.
- What functionalizing makes of a write (`copy`, `fill`, `zero`) is the tensor that was written, and what it makes of a
  batch norm is one again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from pilotlight.quantize.constants import Constants
from pilotlight.quantize.operators import is_dense, operator_name

aten = torch.ops.aten
Make = Callable[..., Node]


def expanded(model: GraphModule) -> GraphModule:
    constant = Constants(model)
    for node in list(model.graph.nodes):
        name = "getitem" if node.target is operator.getitem else operator_name(node)
        if is_dense(node):
            for at in range(1, min(len(node.args), 3)):
                _parameter_at(constant, node, at)
        elif name in ("matmul.default", "mm.default"):
            _linear(constant, node, *node.args)
        elif name == "addmm.default" and not node.kwargs:
            bias, x, weight = node.args
            _linear(constant, node, x, weight, bias)
        elif name in STEPS:
            _apart(model, node, STEPS[name])
    model.graph.eliminate_dead_code()
    model.recompile()
    return model


def _value(node: Any) -> torch.Tensor | None:
    found = node.meta.get("val") if isinstance(node, Node) else None
    return found if isinstance(found, torch.Tensor) else None


def _parameter(model: GraphModule, node: Node, value: torch.Tensor, at: int = 1) -> Node:
    """A new constant before a node."""
    name = f"_argument_{at}_of_{node.name}"
    model.register_buffer(name, value.contiguous().clone())
    with model.graph.inserting_before(node):
        made = model.graph.get_attr(name)
    made.meta["val"] = value
    return made


def _parameter_at(constant: Constants, node: Node, at: int) -> None:
    """The weight or bias that a dense layer computes, as a constant."""
    found = node.args[at]
    value = constant(found) if isinstance(found, Node) and found.op != "get_attr" else None
    if value is not None:
        node.update_arg(at, _parameter(constant.model, node, value, at))


def _linear(constant: Constants, node: Node, x: Any, weight: Any, bias: Any = None) -> None:
    """x @ constant (I, O) + bias (O)."""
    matrix, rows = constant(weight), _value(x)
    if matrix is None or matrix.ndim != 2 or rows is None or rows.ndim < 2 or constant(x) is not None:
        return
    if bias is not None and (constant(bias) is None or tuple(bias.meta["val"].shape) != (matrix.shape[1],)):
        return
    made = _parameter(constant.model, node, matrix.T)
    node.target = aten.linear.default
    node.args = (x, made) if bias is None else (x, made, bias)


def _maker(model: GraphModule, node: Node) -> Make:
    """Inserts operators before a node; each gets the node's metadata."""

    def make(target: Any, *args: Any, **kwargs: Any) -> Node:
        with model.graph.inserting_before(node):
            made = model.graph.call_function(target, args, kwargs)
        made.meta = {**node.meta, "val": target(*map_arg(args, lambda a: a.meta["val"]), **kwargs)}
        return made

    return make


def _apart(model: GraphModule, node: Node, steps: Callable[[Make, Node], Node | None]) -> None:
    """Replace a node with others."""
    result = steps(_maker(model, node), node)
    if result is not None:
        node.replace_all_uses_with(result)
        model.graph.erase_node(node)


def _batch_norm(make: Make, node: Node) -> Node | None:
    """The first result of a batch norm without running statistics, which is all that a model reads."""
    norm, number = node.args
    assert isinstance(norm, Node)
    if norm.target is not aten._native_batch_norm_legit_no_training.default or number != 0:
        return None
    *tensors, momentum, eps = norm.args
    return make(aten.batch_norm.default, *tensors, False, momentum, eps, False)


def _glu(make: Make, node: Node) -> Node | None:
    x, dim = node.args[0], node.args[1] if len(node.args) > 1 else -1
    value = _value(x)
    assert value is not None and isinstance(dim, int)
    half = value.shape[dim] // 2
    left, right = (make(aten.slice.Tensor, x, dim, k * half, (k + 1) * half) for k in (0, 1))
    return make(aten.mul.Tensor, left, make(aten.sigmoid.default, right))


def _norm(make: Make, node: Node) -> Node | None:
    """The root of the sum of squares; other orders are kept."""
    given: list[Any] = [*node.args, *[None, 2, None, False][len(node.args) :]]
    x, order, dims, keep = given[:4]
    if order != 2 or dims is None or len(given) > 4 or node.kwargs:
        return None
    return make(aten.sqrt.default, make(aten.sum.dim_IntList, make(aten.square.default, x), dims, keep))


def _log_of_mels(make: Make, node: Node) -> Node | None:
    """log(energies + number), where nothing else reads the energies; what moves them in between comes after it."""
    added = node.args[0]
    if not isinstance(added, Node) or operator_name(added) != "add.Tensor" or len(added.users) > 1 or added.kwargs:
        return None
    x, number = added.args
    offset = _number(number)
    moves: list[Node] = []
    while isinstance(x, Node) and operator_name(x) in ("transpose.int", "permute.default") and len(x.users) == 1:
        moves.append(x)
        x = x.args[0]
    if not isinstance(x, Node) or operator_name(x) != "pilotlight.spectrum.default" or len(x.users) > 1:
        return None
    *arguments, before = x.args
    if before is not None or arguments[2] is None or offset is None or not offset > 0:
        return None
    made = make(x.target, *arguments, offset)
    for move in reversed(moves):
        made = make(move.target, made, *move.args[1:])
    base = {"log10.default": 10.0, "log2.default": 2.0}.get(operator_name(node) or "")
    return made if base is None else make(aten.mul.Tensor, made, 1.0 / math.log(base))


def _number(item: Any) -> float | None:
    return float(item) if isinstance(item, int | float) else None


def _written(make: Make, node: Node) -> Node | None:
    """What a write of a whole tensor puts there."""
    there, source = node.args[0], node.args[1] if len(node.args) > 1 else 0.0
    value, given = _value(there), _value(source)
    assert value is not None
    if given is None:
        return make(aten.full.default, list(value.shape), source, dtype=value.dtype)
    return make(aten.expand.default, source, list(value.shape)) if given.dtype == value.dtype else None


STEPS: dict[str, Callable[[Make, Node], Node | None]] = {
    "copy.default": _written, "fill.Scalar": _written, "fill.Tensor": _written, "getitem": _batch_norm,
    "glu.default": _glu, "log.default": _log_of_mels, "log10.default": _log_of_mels, "log2.default": _log_of_mels,
    "linalg_vector_norm.default": _norm, "zero.default": _written,
}
