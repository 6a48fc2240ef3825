"""What the nodes of a TorchScript graph call.

Operators on tensors are PyTorch's own. Lists, dictionaries and strings are Python's, because PyTorch would copy them;
what asks a tensor for its shape or type answers with plain numbers, so that torch.export sees constants.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from pilotlight.capture.torchscript.branches import data_dependent, negated
from pilotlight.capture.torchscript.encoder import attention, encoder_layer

# In the order of c10::ScalarType, c10::Layout and c10::MemoryFormat: TorchScript has numbers for them.
_DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8, torch.qint32,
    torch.bfloat16,
)
_LAYOUTS = (torch.strided, torch.sparse_coo)
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
_NUMBERED = {"ScalarType": _DTYPES, "Layout": _LAYOUTS, "MemoryFormat": _FORMATS}


class ScriptError(Exception):
    """An exception that the model raises."""


def is_known(item: Any) -> bool:
    """Whether the numbers of a tensor are known while torch.export runs the model: it is a constant."""
    return type(item) is torch.Tensor and not isinstance(item, torch._subclasses.FakeTensor) \
        and not torch._is_functional_tensor(item)


def _number(x: Any, kind: type | None = None) -> Any:
    """A tensor of one element as a number. One that only the data knows stays a tensor, without dimensions."""
    if not isinstance(x, torch.Tensor):
        return kind(x) if kind else x
    if is_known(x):
        with _disable_current_modes():
            return kind(x.item()) if kind else x.item()
    if not torch.compiler.is_exporting():
        return kind(x.item()) if kind else x.item()
    single = x.reshape(())
    if kind in (int, bool):
        return single.to(torch.int64) if kind is int else single.ne(0)
    return single.to(torch.get_default_dtype()) if kind is float and not x.is_floating_point() else single


def _as_tensor(number: Any) -> torch.Tensor:
    with _disable_current_modes():
        return torch.tensor(number)


def _raise(message: Any = "", kind: Any = None) -> None:
    raise ScriptError(str(message))


def _tensor(data: Any, dtype: int | None = None, device: Any = None, grad: bool = False) -> torch.Tensor:
    """`torch.tensor`, whose numbers are constants."""
    return torch.tensor(data, dtype=None if dtype is None else _DTYPES[dtype])


def _nothing(*_: Any) -> None:
    return None


def is_instance(value: Any, types: Sequence[str]) -> bool:
    return any(_is_of(value, kind) for kind in types)


def _is_of(value: Any, kind: str) -> bool:
    simple = {"Tensor": torch.Tensor, "int": int, "float": float, "bool": bool, "str": str, "NoneType": type(None)}
    if kind in simple:
        return isinstance(value, simple[kind]) and not (kind == "int" and isinstance(value, bool))
    if kind.endswith("[]") or kind.startswith("List"):
        return isinstance(value, list)
    if kind.startswith("Dict"):
        return isinstance(value, dict)
    if kind.startswith(("Tuple", "(")):
        return isinstance(value, tuple)
    if kind.endswith("?") or kind.startswith("Optional"):
        return value is None or _is_of(value, kind.removesuffix("?"))
    return getattr(value, "kind", None) == kind


def _slice(items: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return items[slice(start, end, step)]


def _set_item(items: Any, key: Any, value: Any) -> Any:
    items[key] = value
    return items


def _append(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _sorted(items: list[Any], reverse: bool = False) -> list[Any]:
    return sorted(items, reverse=reverse)


def _sort(items: list[Any], reverse: bool = False) -> None:
    items.sort(reverse=reverse)


def _delete(items: Any, key: Any) -> None:
    del items[key]


def _extend(items: list[Any], more: Any) -> None:
    items.extend(more)


def _add(left: Any, right: Any, alpha: Any = 1) -> Any:
    return left + right


def _add_list(left: list[Any], right: list[Any]) -> list[Any]:
    left += right
    return left


def _format(text: str, *values: Any) -> str:
    return text.format(*(f"<tensor {list(v.shape)}>" if isinstance(v, torch.Tensor) else v for v in values))


def _least(*items: Any) -> Any:
    return min(*items)


def _most(*items: Any) -> Any:
    return max(*items)


def _size(x: torch.Tensor, dim: int | None = None) -> Any:
    return list(x.shape) if dim is None else x.shape[dim]


def _strides(x: torch.Tensor, dim: int | None = None) -> Any:
    return list(x.stride()) if dim is None else x.stride(dim)


def _dtype_of(x: torch.Tensor) -> int:
    return _DTYPES.index(x.dtype)


def _contains(items: Any, key: Any) -> bool:
    return key in items


def _range(*limits: int) -> list[int]:
    return list(range(*limits))


def _list(items: Any) -> list[Any]:
    return list(items)


def _items(items: dict[Any, Any]) -> list[Any]:
    return list(items.items())


def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any,
    groups: Any, *_: Any,
) -> Any:
    """What tracing leaves of a convolution: with flags for CUDA at the end."""
    return torch.ops.aten.convolution.default(
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def _to(x: torch.Tensor, *given: Any) -> torch.Tensor:
    """`to` with the arguments that only TorchScript has an overload for."""
    for item in given:
        if type(item) is int:
            x = x.to(_DTYPES[item])
    return x


_CONTAINERS: dict[str, Callable[..., Any]] = {  # where the first argument is not a tensor
    "__getitem__": operator.getitem, "__contains__": _contains, "_set_item": _set_item, "append": _append,
    "__delitem__": _delete, "Delete": _delete, "Size": len, "len": len, "slice": _slice, "list": _list, "copy": _list,
    "keys": _list, "values": lambda d: list(d.values()), "items": _items, "get": lambda d, k, v=None: d.get(k, v),
    "setdefault": lambda d, k, v: d.setdefault(k, v), "update": lambda d, e: d.update(e), "clear": lambda c: c.clear(),
    "pop": lambda c, *k: c.pop(*k), "popitem": lambda d: d.popitem(), "insert": lambda c, i, v: c.insert(i, v),
    "extend": _extend, "remove": lambda c, v: c.remove(v), "index": lambda c, v, *r: c.index(v, *r),
    "count": lambda c, v: c.count(v), "reverse": lambda c: c.reverse(), "sort": _sort, "sorted": _sorted,
    "add": _add, "add_": _add_list, "mul": operator.mul, "eq": operator.eq, "ne": operator.ne, "dict": dict,
}
_NUMBERS = ("int", "float", "bool", "number", "Optional[number]", "Optional[int]", "Optional[float]")
_ARITHMETIC = {"add", "sub", "mul", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "abs", "pow"}
CHANGES_CONTAINER = {f"aten::{name}" for name in (
    "_set_item", "append", "__delitem__", "Delete", "setdefault", "update", "clear", "pop", "popitem", "insert",
    "extend", "remove", "reverse", "sort", "add_",
)}
_ASKED: dict[str, Callable[..., Any]] = {  # of any argument
    "aten::Bool": partial(_number, kind=bool), "aten::Int": partial(_number, kind=int),
    "aten::Float": partial(_number, kind=float), "aten::IntImplicit": partial(_number, kind=int),
    "aten::FloatImplicit": partial(_number, kind=float), "prim::ImplicitTensorToNum": _number,
    "aten::item": _number, "aten::ScalarImplicit": _number, "aten::tensor": _tensor, "aten::as_tensor": _tensor,
    "prim::NumToTensor": _as_tensor, "prim::RaiseException": _raise, "aten::warn": _nothing, "prim::Print": _nothing,
    "prim::dtype": _dtype_of, "prim::device": lambda x: x.device, "prim::layout": lambda x: 0,
    "prim::is_cuda": lambda x: False, "prim::requires_grad": lambda x: False, "prim::is_sparse": lambda x: False,
    "prim::is_quantized": lambda x: False, "prim::is_nested": lambda x: False, "prim::is_mps": lambda x: False,
    "prim::ndim": lambda x: x.dim(), "aten::dim": lambda x: x.dim(), "aten::size": _size, "aten::stride": _strides,
    "prim::shape": _size, "aten::numel": lambda x: x.numel(), "prim::itemsize": lambda x: x.element_size(),
    "aten::is_floating_point": lambda x: x.is_floating_point(), "aten::is_complex": lambda x: x.is_complex(),
    "prim::min": _least, "prim::max": _most, "prim::rangelist": _range, "aten::format": _format,
    "aten::__is__": operator.is_, "aten::__isnot__": operator.is_not, "aten::__not__": negated,
    "aten::set_grad_enabled": _nothing, "aten::is_grad_enabled": lambda: False, "aten::is_scripting": lambda: True,
    "aten::cpu": lambda x: x, "aten::_convolution": _convolution, "prim::abs": builtins.abs,
    "aten::detach": lambda x: x.detach(), "aten::__range_length": lambda a, b, c: len(range(a, b, c)),
    "aten::__derive_index": lambda i, start, step: start + i * step, "prim::tolist": lambda x, *_: x.tolist(),
    "prim::StringIndex": operator.getitem, "aten::_transformer_encoder_layer_fwd": encoder_layer,
    "aten::_native_multi_head_attention": attention,
}


def of_node(node: Any) -> Callable[..., Any] | None:
    """What computes a node, called with its inputs in order; None if nothing here does."""
    kind = node.kind()
    if kind in _ASKED:
        return _ASKED[kind]
    schema_text = node.schema()
    if "no schema" in schema_text or "(" not in schema_text:
        return None
    namespace, _, name = kind.partition("::")
    if namespace == "aten" and name == "to" and ("prim_" in schema_text.partition("(")[0]):
        return _to
    schema = torch._C.parse_schema(schema_text)
    first = str(schema.arguments[0].type) if schema.arguments else ""
    if namespace == "aten" and name in _CONTAINERS and first.startswith(("List", "Dict", "str")):
        return _CONTAINERS[name]
    packet = getattr(getattr(torch.ops, namespace), name, None)
    overload = getattr(packet, schema.overload_name or "default", None) if packet is not None else None
    return None if overload is None else _Operator(overload, schema)


class _Operator:
    """One of PyTorch's operators, called with all its arguments in the order of its schema."""

    def __init__(self, overload: Any, schema: Any):
        self.overload = overload
        self.name = schema.name.partition("::")[2]
        self.numbers = [str(a.type) in _NUMBERS for a in schema.arguments]
        self.arguments = [(a.name, a.kwarg_only, _numbered(a)) for a in schema.arguments]
        self.folds = not schema.is_mutable and bool(schema.arguments)

    def __call__(self, *given: Any) -> Any:
        if any(n and isinstance(value, torch.Tensor) for n, value in zip(self.numbers, given, strict=False)):
            return self.late(given)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for (name, by_name, table), value in zip(self.arguments, given, strict=False):
            if table is not None and type(value) is int:
                value = table[value]
            if by_name:
                kwargs[name] = value
            else:
                args.append(value)
        if self.folds and torch.compiler.is_exporting():
            tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
            if tensors and all(map(is_known, tensors)):
                with _disable_current_modes():
                    return _plain(self.overload(*args, **kwargs))
        return _plain(self.overload(*args, **kwargs))


    def late(self, given: Sequence[Any]) -> Any:
        """Arithmetic with a number that only the data knows, as arithmetic with tensors."""
        first, *others = given
        if self.name not in _ARITHMETIC or others[1:] not in ([], [1]):
            raise data_dependent(f"{self.name} takes a number from it")
        device = next(x.device for x in given if isinstance(x, torch.Tensor))
        left = first if isinstance(first, torch.Tensor) else torch.full((), first, device=device)
        return getattr(torch, self.name)(left, *others[:1])


def _numbered(argument: Any) -> Sequence[Any] | None:
    kind = str(argument.real_type)
    return next((table for name, table in _NUMBERED.items() if name in kind), None)


def _plain(result: Any) -> Any:
    return _DTYPES.index(result) if isinstance(result, torch.dtype) else result
