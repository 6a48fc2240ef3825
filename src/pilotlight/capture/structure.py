"""The structure of a model's inputs and outputs: dataclasses are registered with PyTorch, parts get names."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

FUNCTIONS = {  # operators of Python: the function that they are
    "__floordiv__": "floor_divide", "__rdiv__": "div", "__rfloordiv__": "floor_divide",
    "__rlshift__": "bitwise_left_shift", "__rmod__": "remainder", "__rpow__": "pow",
    "__rrshift__": "bitwise_right_shift", "__rsub__": "sub",
}


def register_dataclasses(item: Any) -> bool:
    """Register dataclasses among inputs or outputs with torch.export; returns whether one was new."""
    new, parts = False, []
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        new = type(item) not in pytree.SUPPORTED_NODES
        if new:
            torch.export.register_dataclass(type(item))
        parts = [getattr(item, field.name) for field in dataclasses.fields(item)]
    elif isinstance(item, dict | list | tuple):
        parts = list(item.values() if isinstance(item, dict) else item)
    return any([new, *map(register_dataclasses, parts)])


def output_names(program: ExportedProgram, count: int) -> list[str]:
    """A name for each flat output: its keys and fields, such as `boxes_0`, or else its number."""
    names = [str(k) for k in range(count)]
    with contextlib.suppress(Exception):  # a file may hold types that this process does not know
        tree = pytree.tree_unflatten(range(count), program.call_spec.out_spec)
        for path, k in pytree.tree_flatten_with_path(tree)[0]:
            if any(not isinstance(key, pytree.SequenceKey) for key in path):
                names[k] = "_".join(map(_key, path))
    return _distinct(names)


def _key(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _distinct(names: list[str]) -> list[str]:
    """As C sees them, where `a-b` and `a_b` are the same."""
    seen: set[str] = set()
    result = []
    for name in names:
        wanted, number = name, 2
        while (spelt := re.sub(r"\W", "_", wanted)) in seen:
            wanted, number = f"{name}_{number}", number + 1
        seen.add(spelt)
        result.append(wanted)
    return result


def written_name(node: torch.fx.Node) -> str:
    """An operator as the user wrote it, with PyTorch's own name where that differs."""
    target = str(node.args[1] if str(node.target) == "with_effects" else node.target)
    kind, _, name = str((node.meta.get("torch_fn") or ("", ""))[1]).partition(".")
    method = kind in ("method_descriptor", "wrapper_descriptor")  # the second has operators such as x[0]
    written = f"Tensor.{name}" if method else _function(FUNCTIONS.get(name, name)) if name else ""
    if not written or kind.startswith("Op"):
        return target
    return written if target == f"aten.{written.rpartition('.')[2]}.default" else f"{written} ({target})"


def _function(name: str) -> str:
    """`fft_rfft` as `torch.fft.rfft`; "" where there is no such function."""
    space, _, rest = name.partition("_")
    if space in ("fft", "linalg", "special") and hasattr(getattr(torch, space), rest):
        return f"torch.{space}.{rest}"
    if hasattr(torch, name):
        return f"torch.{name}"
    return f"torch.nn.functional.{name}" if hasattr(torch.nn.functional, name) else ""
