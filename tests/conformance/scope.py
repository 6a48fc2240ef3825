"""Which cases count: computed from the operators that a case decomposes to, never chosen by hand.

A case is left out when its decomposed graph
- draws random numbers (PyTorch's tag nondeterministic_seeded) or reads memory that nothing has written (empty*),
- has an operator outside of core ATen (without its *_backward operators, which are for training) and the list
  below, or a dtype outside of those that are to be covered.
Operators that the compiler lowers count as covered, whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from pilotlight import ops
from pilotlight.ops.complex.base import rule

# What exports of real models contain besides core ATen, by packet.
EXTRA = frozenset((
    "lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention", "linear", "layer_norm",
    "native_layer_norm", "group_norm", "native_group_norm", "instance_norm", "rms_norm", "_fused_rms_norm",
    "unfold", "im2col", "col2im", "unfold_copy", "linalg_vector_norm", "max", "min", "sort", "topk", "argsort",
    "cumsum", "cumprod", "einsum", "pixel_shuffle", "pixel_unshuffle", "grid_sampler", "grid_sampler_2d",
    "grid_sampler_3d", "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only", "nonzero",
    "nonzero_static", "masked_select", "stft", "istft",
))
INTERPOLATE = re.compile(r"_?upsample_\w+")
DTYPES = frozenset((
    torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
    torch.bool, torch.complex64,
))
_EMPTY = ("empty", "new_empty")
_OVERWRITE = ("aten.fill.", "aten.full_like.", "aten.zeros_like.", "aten.ones_like.")
_CASE = re.compile(r"\bcase_(\d+)\b")


@dataclass(frozen=True)
class LeftOut:
    """Why a case does not count: kind is "random", "uninitialised" or "outside"."""

    kind: str
    reason: str


def case_of(text: str) -> int | None:
    """The number of the case in a module path."""
    found = _CASE.search(text)
    return int(found.group(1)) if found else None


def left_out(program: ExportedProgram) -> dict[int, LeftOut]:
    """Cases of a decomposed batch that do not count."""
    result: dict[int, LeftOut] = {}
    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        case = _case_of_node(node)
        reason = _reason(node)
        if case is not None and reason is not None:
            result.setdefault(case, reason)
    return result


def _case_of_node(node: torch.fx.Node) -> int | None:
    for path, _ in (node.meta.get("nn_module_stack") or {}).values():
        case = case_of(path)
        if case is not None:
            return case
    return None


def _reason(node: torch.fx.Node) -> LeftOut | None:
    target = node.target
    tags = getattr(target, "tags", ())
    name = str(target).removeprefix("aten.")
    if torch.Tag.nondeterministic_seeded in tags and _argument(node, "dropout_p") != 0:
        return LeftOut("random", name)
    overwritten = all(str(user.target).startswith(_OVERWRITE) for user in node.users)
    if name.startswith(_EMPTY) and not overwritten and any(t.numel() for t in _tensors(node)):
        return LeftOut("uninitialised", name)
    for tensor in _tensors(node):
        if tensor.dtype not in DTYPES:
            return LeftOut("outside", f"dtype {str(tensor.dtype).removeprefix('torch.')}")
    packet = name.partition(".")[0]
    lowered = ops.lowering(name) is not None or rule(name) is not None
    known = lowered or (not packet.endswith("_backward") and (
        torch.Tag.core in tags or packet in EXTRA or INTERPOLATE.fullmatch(packet)
        or name.startswith(("_assert", "sym_constrain"))
        or not isinstance(target, torch._ops.OpOverload)  # control flow, and arithmetic on sizes
    ))
    return None if known else LeftOut("outside", f"aten.{name}" if "::" not in name else name)


def _argument(node: torch.fx.Node, name: str) -> object:
    """An argument of an operator by its name; None where the operator has no such argument."""
    for position, argument in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if argument.name == name:
            given = node.args[position] if position < len(node.args) else argument.default_value
            return node.kwargs.get(name, given)
    return None


def _tensors(node: torch.fx.Node) -> Iterator[torch.Tensor]:
    for argument in (node, *node.all_input_nodes):
        for leaf in pytree.tree_leaves(argument.meta.get("val")):
            if isinstance(leaf, torch.Tensor):
                yield leaf
