"""PyTorch's function schemas, from the file that ships in its wheel.

An operator is a group of overloads; each overload has parameters with types and defaults, and a kernel that the tables
in `operators/` name. No schema is parsed on the device.

Where a user finds an operator follows PyTorch:

    _torch.add        functions of `torch`
    Tensor.add        methods; an overload that is only a function is not a method, and vice versa
    _torch._nn.gelu   functions that PyTorch keeps elsewhere (torch._C._nn, _special, _linalg, _fft), by the names of
                      their schemas: `gelu`, `avg_pool2d`, `linalg_vector_norm`, `special_expm1`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, BaseTy, BaseType, FunctionSchema, ListType, OptionalType, SchemaKind, Type, Variant

from pilotlight.micropython.by_hand import BY_HAND

_SCALARS = {
    BaseTy.Tensor: "TENSOR", BaseTy.Scalar: "SCALAR", BaseTy.int: "INT", BaseTy.SymInt: "INT", BaseTy.float: "FLOAT",
    BaseTy.bool: "BOOL", BaseTy.ScalarType: "DTYPE", BaseTy.str: "STR", BaseTy.Device: "DEVICE",
}
_LISTS = {"INT": "INTS", "TENSOR": "TENSORS", "FLOAT": "FLOATS", "SCALAR": "FLOATS"}
_CONSTANTS = {"True": "1", "False": "0", "Mean": "0", "long": "PT_INT64", "float": "PT_FLOAT32"}
_LARGEST = 2**31 - 1  # stands for larger defaults ("until the end")

# Their lists of tensors may be given one by one: torch.meshgrid(x, y).
_VARIADIC = {"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "meshgrid"}

# Their tensors may be numbers (torch.mul(2, x)), which makes their overloads for a Scalar superfluous.
_NUMBERS = {name + suffix for suffix in ("", "_") for name in ("add", "sub", "mul", "div", "floor_divide", "copy")}


@dataclass(frozen=True)
class Overload:
    """One of PyTorch's schemas."""

    name: str  # "add.Tensor"
    schema: FunctionSchema
    is_function: bool
    is_method: bool
    outs: int  # tensors that out= takes

    @property
    def operator(self) -> str:
        """What users call it: `add`, or `add_` in place."""
        return str(self.schema.name.name)

    @property
    def in_place(self) -> bool:
        return self.schema.kind() == SchemaKind.inplace


@cache
def overloads() -> dict[str, Overload]:
    """Every schema by its name; those with `out=` belong to the functional one of the same signature."""
    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml")).native_functions
    outs = {
        _without_options(f.func): len(f.func.arguments.out) for f in parsed
        if f.func.kind() == SchemaKind.out and "generated" not in f.tags  # which Python cannot call
    }
    found = {}
    for function in parsed:
        schema = function.func
        if schema.kind() in (SchemaKind.functional, SchemaKind.inplace):
            name = f"{schema.name.name}.{schema.name.overload_name or 'default'}"
            functional = schema.kind() == SchemaKind.functional
            found[name] = Overload(
                name, schema, Variant.function in function.variants, Variant.method in function.variants,
                outs.get(_without_options(schema), 0) if functional else 0,
            )
    for line in BY_HAND:
        form, _, text = line.partition(" ")
        schema = FunctionSchema.parse(text)
        name = f"{schema.name.name}.{schema.name.overload_name or 'default'}"
        found[name] = Overload(name, schema, "f" in form, "m" in form, outs=int("o" in form))
    return found


def _without_options(schema: FunctionSchema) -> str:
    """A signature without dtype, layout, device and pin_memory, which forms with `out=` do not take."""
    options = schema.arguments.tensor_options
    dropped = {a.name for a in options.all()} if options else set()
    arguments = [f"{a.type} {a.name}" for a in schema.arguments.flat_non_out if a.name not in dropped]
    return f"{schema.name.name.base}({', '.join(arguments).replace('(a!)', '')})"


def argument_kind(type_: Type) -> tuple[str, bool, int]:
    """The code of a type, whether it may be None, and the length of a list that one number can fill."""
    if isinstance(type_, OptionalType):
        code, _, length = argument_kind(type_.elem)
        return code, True, length
    if isinstance(type_, ListType):
        code, _, _ = argument_kind(type_.elem)
        return _LISTS.get(code, "IGNORED"), False, type_.size or 0
    assert isinstance(type_, BaseType)
    return _SCALARS.get(type_.name, "IGNORED"), False, 0


def _default(argument: Argument, code: str) -> tuple[list[str], str]:
    """Flags and the initializer of a default. A string, or a list of different numbers, is left to the kernel."""
    text = argument.default
    if text is None:
        return [], "{0}"
    if text in _CONSTANTS:
        return ["PT_HAS_DEFAULT"], f"{{{_CONSTANTS[text]}}}"
    items = {item.strip() for item in text.strip("[]").split(",")}
    if text == "None" or code in ("STR", "IGNORED", "DTYPE", "DEVICE", "TENSORS") or text == "[]" or len(items) > 1:
        return ["PT_HAS_DEFAULT", "PT_NONE_DEFAULT"], "{0}"
    number = float(items.pop())
    if number.is_integer() and "." not in text and "e" not in text:
        return ["PT_HAS_DEFAULT"], f"{{{min(int(number), _LARGEST)}}}"
    return ["PT_HAS_DEFAULT", "PT_FLOAT_DEFAULT"], f"{{.f = {number!r}f}}"


def is_variadic(operator: str) -> bool:
    """Whether its list of tensors may be given one by one."""
    return operator in _VARIADIC


def parameters(overload: Overload) -> list[tuple[str, str]]:
    """The names of an overload's parameters and the initializers of their kinds."""
    rows = []
    for argument in overload.schema.arguments.flat_non_out:
        code, optional, length = argument_kind(argument.type)
        length = int(is_variadic(overload.operator)) if code == "TENSORS" else length
        flags, value = _default(argument, code)
        flags += ["PT_OPTIONAL"] if optional else []
        flags += ["PT_GAPS"] if code == "TENSORS" and str(argument.type).startswith("Tensor?[") else []
        flags += ["PT_NUMBER"] if code == "TENSOR" and overload.operator in _NUMBERS else []
        rows.append((argument.name, f"{{PT_ARG_{code}, {' | '.join(flags) or '0'}, {length}, {value}}}"))
    return rows


@dataclass(frozen=True)
class CFunction:
    """The C function of an overload, and its data: a number, or a row of the pointwise table."""

    function: str
    data: int | str = 0


def row(name: str) -> str:
    """A row of the compiler's pointwise table as a kernel's data."""
    return f"pt_row_{name}"


# ---- the order in which overloads are tried ----------------------------------------------------------------------


def _yields(one: Overload, other: Overload) -> bool:
    """Whether PyTorch tries `other` first: a Tensor goes before a number and an int before a list."""
    pairs = [
        (str(a.type).removesuffix("?").replace("SymInt", "int"), str(b.type).removesuffix("?").replace("SymInt", "int"))
        for a, b in zip(one.schema.arguments.flat_non_out, other.schema.arguments.flat_non_out, strict=False)
    ]
    weaker = [a != b for a, b in pairs]
    first = ("Scalar", "Tensor"), ("int", "Tensor"), ("int[]", "int"), ("Tensor[]", "int[]")
    same_length = len(one.schema.arguments.flat_non_out) == len(other.schema.arguments.flat_non_out)
    return same_length and any(weaker) and all(pair in first or pair[0] == pair[1] for pair in pairs)


def _text(overload: Overload) -> str:
    """Types and names of the arguments as PyTorch's signatures spell them, which it sorts by."""
    arguments = overload.schema.arguments
    texts = [f"{a.type} {a.name}" for a in arguments.flat_non_out]
    texts.insert(len(texts) - len(arguments.flat_kwarg_only), "*")
    text = ", ".join(texts)
    return text.replace("int ", "int64_t ").replace("int[", "IntArrayRef[").replace("Tensor[]", "TensorList")


def _in_order(members: Sequence[Overload]) -> list[Overload]:
    """By their texts, each after those that it yields to."""
    waiting = sorted(members, key=_text)
    ordered: list[Overload] = []
    while waiting:
        chosen = next(o for o in waiting if not any(_yields(o, other) for other in waiting))
        waiting.remove(chosen)
        ordered.append(chosen)
    return ordered


def groups(chosen: Mapping[str, CFunction]) -> dict[str, list[tuple[Overload, CFunction]]]:
    """The overloads of each operator in the order in which they are tried, with their kernels."""
    known = overloads()
    found: dict[str, dict[str, CFunction]] = {}
    for name, kernel in chosen.items():
        operator, _, overload = name.partition(".")
        if operator in _NUMBERS and overload.startswith("Scalar"):
            wider = f"{operator}.{overload.replace('Scalar', 'Tensor')}"
            found.setdefault(operator, {}).setdefault(wider if wider in known else f"{operator}.default", kernel)
        else:
            found.setdefault(operator, {})[name] = kernel
    return {
        operator: [(o, kernels[o.name]) for o in _in_order([known[name] for name in kernels])]
        for operator, kernels in sorted(found.items())
    }
