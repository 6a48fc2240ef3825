"""A call of PyTorch's as one line of text that MicroPython can execute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

DTYPES = {
    torch.float32: "float32", torch.int64: "int64", torch.bool: "bool", torch.float16: "float16",
    torch.bfloat16: "bfloat16", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32",
}
WHOLE = 1 << 16  # bytes of a storage that are sent as they are: some operators look at what lies around a view
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "div": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}


class OutsideError(Exception):
    """An argument that the library does not have."""


def outside(tensor: torch.Tensor) -> str | None:
    """Why a tensor does not count."""
    if tensor.layout != torch.strided or tensor.is_quantized or type(tensor) not in (
        torch.Tensor, torch.nn.Parameter
    ):
        return f"layout {tensor.layout}" if tensor.layout != torch.strided else f"a {type(tensor).__name__}"
    return None if tensor.dtype in DTYPES else f"dtype {str(tensor.dtype).removeprefix('torch.')}"


class Text:
    """Assignments of tensors to names, then the call; one line, joined by semicolons."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._names: dict[int, str] = {}
        self._kept: list[torch.Tensor] = []  # an id is that of an object that lives
        self._memory: dict[int, tuple[str, torch.dtype]] = {}  # the first tensor in a storage

    def line(self) -> str:
        return ";".join(self.parts)

    def result(self, tensor: torch.Tensor, name: str) -> None:
        """A tensor that an earlier part has computed."""
        self._names[id(tensor)] = name
        self._kept.append(tensor)

    def value(self, x: Any) -> str:
        """An argument as text."""
        if isinstance(x, torch.Tensor):
            return self._tensor(x)
        if x is None or isinstance(x, (bool, str)) or x is Ellipsis:
            return "..." if x is Ellipsis else repr(x)
        if type(x) is int:
            return repr(x) if x >= 0 else f"({x!r})"
        if type(x) is float:
            return f"float('{x}')" if not math.isfinite(x) else repr(x) if x >= 0 else f"({x!r})"
        if isinstance(x, torch.dtype):
            if x not in DTYPES:
                raise OutsideError(f"dtype {str(x).removeprefix('torch.')}")
            return str(x)
        if isinstance(x, (torch.memory_format, torch.layout)):
            if isinstance(x, torch.layout) and x != torch.strided:
                raise OutsideError(f"layout {x}")
            return str(x)
        if isinstance(x, torch.device):
            return repr(str(x))
        if isinstance(x, list):
            return f"[{','.join(self.value(y) for y in x)}]"
        if isinstance(x, tuple):
            return f"({''.join(f'{self.value(y)},' for y in x)})"
        if isinstance(x, dict):
            return f"{{{','.join(f'{self.value(k)}:{self.value(v)}' for k, v in x.items())}}}"
        raise OutsideError(f"an argument of type {type(x).__name__}")

    def _index(self, x: Any) -> str:
        if isinstance(x, slice):  # MicroPython has no function for it
            return ":".join("" if part is None else self.value(part) for part in (x.start, x.stop, x.step))
        return "".join(f"{self._index(y)}," for y in x) if isinstance(x, tuple) and x else self.value(x)

    def _tensor(self, tensor: torch.Tensor) -> str:
        name = self._names.get(id(tensor))
        if name is None:
            name = f"x{len(self._names)}"
            self.parts.append(f"{name}={self._made(tensor, name)}")
            self.result(tensor, name)
        return name

    def _made(self, tensor: torch.Tensor, name: str) -> str:
        """From bytes, or over the memory of another one."""
        text = tensor_text(tensor)
        storage = tensor.untyped_storage()
        if not 0 < storage.nbytes() <= WHOLE or storage.data_ptr() == 0:
            return text
        base, dtype = self._memory.setdefault(storage.data_ptr(), (name, tensor.dtype))
        if base == name or dtype != tensor.dtype:
            return text
        return f"V({base},{tuple(tensor.shape)},{tensor.stride()},{tensor.storage_offset()})".replace(" ", "")

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """The expression; `name` is a dotted one of PyTorch's."""
        if name == "torch.Tensor.__getitem__":
            return f"{self.value(args[0])}[{self._index(args[1])}]"
        given = [self.value(x) for x in args]
        if name.startswith("torch.Tensor."):
            return _method(name.removeprefix("torch.Tensor."), given, {k: self.value(v) for k, v in kwargs.items()})
        return f"{name}({_arguments(given, {k: self.value(v) for k, v in kwargs.items()})})"


def _arguments(args: Sequence[str], kwargs: dict[str, str]) -> str:
    return ",".join([*args, *(f"{k}={v}" for k, v in kwargs.items())])


def _method(name: str, args: Sequence[str], kwargs: dict[str, str]) -> str:
    if name.endswith(".__get__"):
        return f"{args[0]}.{name.removesuffix('.__get__')}"
    plain = name.strip("_")
    if name.startswith("__"):
        if plain in SIGNS and len(args) == 2:
            return f"{args[0]}{SIGNS[plain]}{args[1]}"
        if plain[:1] == "r" and plain[1:] in SIGNS and len(args) == 2:
            return f"{args[1]}{SIGNS[plain[1:]]}{args[0]}"
    return f"{args[0]}.{name}({_arguments(args[1:], kwargs)})"


def sign_text(function: Callable[..., Any]) -> str | None:
    """`+` for operator.add, `+=` for operator.iadd."""
    name = getattr(function, "__name__", "").strip("_")
    if name in SIGNS:
        return SIGNS[name]
    return f"{SIGNS[name[1:]]}=" if name[:1] == "i" and name[1:] in SIGNS else None


def tensor_text(tensor: torch.Tensor) -> str:
    """`T(bytes as hex, dtype, sizes, strides, offset)`."""
    reason = outside(tensor)
    if reason is not None:
        raise OutsideError(reason)
    size, offset = tensor.element_size(), tensor.storage_offset()
    spans = [(n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)]
    last = offset + sum(spans) if tensor.numel() else offset
    storage = tensor.untyped_storage()
    if storage.nbytes() > WHOLE:
        first, offset = offset, 0
    else:
        first, last = 0, storage.nbytes() // size - 1
    count = max(last + 1 - first, 0)
    data = b""
    if count:
        flat = torch.empty(0, dtype=tensor.dtype).set_(storage, first, (count,), (1,))
        data = flat.view(torch.uint8).numpy().tobytes()
    sizes, strides = tuple(tensor.shape), tensor.stride()
    dtype = DTYPES[tensor.dtype]
    plain = strides == torch.empty(sizes, device="meta").stride()
    if first == 0 and offset == 0 and plain and count == tensor.numel():
        return f"T('{data.hex()}','{dtype}',{sizes})"
    return f"T('{data.hex()}','{dtype}',{sizes},{strides},{offset})".replace(" ", "")
