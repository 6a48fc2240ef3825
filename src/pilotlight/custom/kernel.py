"""What a user declares about a kernel."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

from pilotlight.custom.signature import Dims, Tensor, bad, evaluate, parse_tensor
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT8, Shape, Value

_PROTOTYPE = re.compile(r"\s*void\s+([A-Za-z_]\w*)\s*\(([^()]*)\)\s*;?\s*")
_OP = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_SCALARS: dict[type, str] = {float: "float", int: "int32_t", bool: "int32_t"}


@dataclass(frozen=True)
class Bound:
    """The sizes of a kernel's tensors in one place of a model."""

    dims: dict[str, int]
    leading: list[Shape]


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A C or assembly function that computes an operator, with everything that a plan has to know about it.

    The function is called `void NAME(inputs..., outputs...[, scratch], sizes..., parameters...[, scales...])`: pointers
    of the tensors' types, a `void *` if there is scratch, every named size of `takes` as an `int32_t` in the order in
    which the names appear (`...` is one number, the first), the operator's other arguments (`float` or `int32_t`), and
    for each int8 tensor a `float` scale and an `int32_t` zero point. Sizes in expressions are by these names.
    """

    name: str  # of the kernel, for reports and files
    prototype: str  # in C: void NAME(...)
    source: str | Path  # C or, where it begins with a directive such as .syntax, assembly: text, or a file
    takes: tuple[str, ...]  # tensors: "float32[n, t]", "int8[..., 4]"
    gives: tuple[str, ...]  # results, whose sizes may be expressions: "float32[n, t // 2]"
    op: str = ""  # the operator of torch.library that it computes, "dsp::goertzel"; default: what `reference` does
    reference: Callable[..., Any] | None = None  # tensors, then arguments by name; default: the operator itself
    parameters: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # the operator's arguments: values to check
    sizes: Mapping[str, Iterable[int]] = field(default_factory=dict)  # which sizes it can have; default: 1 or more
    when: Callable[..., bool] | None = None  # a further condition on sizes and parameters, by name
    needs: frozenset[str] = frozenset()  # features that a board's TOML file has in `isa`; default: every core
    scratch: int | str = 0  # bytes of arena while it runs, aligned to 8
    overlaps: Mapping[tuple[int, int], int | str] = field(default_factory=dict)  # (input, output): as `Op.overlaps`
    stack: int | None = None  # bytes of its own frame; needed for assembly, C is measured
    flash: int = 0  # bytes of code
    cost: int | str | None = None  # estimated instructions, by which it competes with other kernels of the operator
    draw: Callable[..., Any] | None = None  # (numpy generator, sizes by name) → inputs to check with; default: any
    rtol: float = 1e-5  # how far float results may be from the reference, as a share of the largest one
    atol: float = 1e-6
    finite: bool = False  # NaN, infinity and numbers near the ends of float32 are not promised
    files: Mapping[str, str] = field(default_factory=dict)  # further headers and sources: name → text
    where: str = field(default="", init=False)  # the file that declares it

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", _caller())
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise bad(f"a kernel is called {self.name!r}; expected a name such as goertzel_f32")
        try:
            self._check()
        except PilotlightError as error:
            error.where = error.where or f"kernel {self.name}"
            raise
        except (TypeError, ValueError, AttributeError) as error:  # a field of another type
            raise bad(f"its declaration cannot be read: {error}", "see docs/adding-a-kernel.md",
                      f"kernel {self.name}") from error

    def __repr__(self) -> str:
        return f"Kernel({self.name})"

    def __deepcopy__(self, memo: object) -> Kernel:
        return self

    # ---- what follows from the declaration ---------------------------------------------------------------------

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(parse_tensor(text, False, "takes") for text in _several(self.takes, "takes"))

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(parse_tensor(text, True, "gives") for text in _several(self.gives, "gives"))

    @cached_property
    def dims(self) -> list[str]:
        """Every named size, in the order of the C arguments."""
        return list(dict.fromkeys(name for tensor in self.inputs for name in tensor.names))

    @property
    def quantized(self) -> bool:
        """Whether it computes in int8: then scales and zero points are arguments."""
        return any(tensor.dtype == INT8 for tensor in (*self.inputs, *self.outputs))

    @cached_property
    def function(self) -> str:
        return self._parsed[1]

    @cached_property
    def text(self) -> str:
        if not isinstance(self.source, Path):
            return self.source
        path = self.source if self.source.is_absolute() else Path(self.where).parent / self.source
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise bad(f"the source {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error

    @property
    def is_assembly(self) -> bool:
        return self.text.lstrip().startswith(".") or (isinstance(self.source, Path) and self.source.suffix == ".S")

    @cached_property
    def all_files(self) -> dict[str, str]:
        """What becomes part of the generated folder."""
        guard = f"{self.name.upper()}_H"
        prototype = self.prototype.strip().rstrip(";")
        header = f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n{prototype};\n\n#endif\n"
        body = self.text.strip("\n") + "\n"
        in_c = f'#include "{self.name}.h"\n\n{body}'
        own = {f"{self.name}.S": body} if self.is_assembly else {f"{self.name}.c": in_c}
        return {f"{self.name}.h": header, **own, **self.files}

    @cached_property
    def digest(self) -> str:
        """Of everything that its results depend on: the declaration, the C, and the file with the reference."""
        kept = {key: value for key, value in vars(self).items() if key in self.__dataclass_fields__}
        kept.update(reference="", when="", draw="", source=self.text)
        parts = [f"{key}={value!r}" for key, value in sorted(kept.items())]
        path = Path(self.where)
        parts += [_code(function) for function in (self.reference, self.when, self.draw)]
        # Where there is no file, as at a prompt, nobody can tell whether the operator is still the same.
        unknown = f"{id(self)} {os.getpid()}"
        parts.append(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else unknown)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def arguments(self, types: Mapping[str, type]) -> list[str]:
        """The C types of the function's arguments, for parameters of these types."""
        pointers = [f"const {t.dtype.c} *" for t in self.inputs] + [f"{t.dtype.c} *" for t in self.outputs]
        scratch = ["void *"] if self.has_scratch else []
        scalars = ["int32_t"] * len(self.dims) + [_SCALARS[kind] for kind in types.values()]
        quantized = [t for t in (*self.inputs, *self.outputs) if t.dtype == INT8]
        return [*pointers, *scratch, *scalars, *(["float", "int32_t"] * len(quantized))]

    @property
    def has_scratch(self) -> bool:
        return self.scratch != 0

    def check_prototype(self, types: Mapping[str, type]) -> None:
        """Refuse a prototype that is not called like this."""
        expected, found = self.arguments(types), self._parsed[0]
        if len(expected) != len(found) or any(
            want != got and not (want == "void *" and got.endswith("*") and not got.startswith("const"))
            for want, got in zip(expected, found, strict=True)
        ):
            raise bad(
                f"its prototype takes ({', '.join(found)}); it is called with ({', '.join(expected)})",
                "pointers to inputs and outputs, scratch, sizes, parameters, then scales: see docs/adding-a-kernel.md",
                f"kernel {self.name}",
            )

    def bind(self, values: Iterable[Value], parameters: Mapping[str, Any]) -> Bound | None:
        """The sizes with which it computes these tensors; None where it does not take them."""
        given, known, leading = list(values), {}, []  # type: list[Value], dict[str, int], list[Shape]
        if len(given) != len(self.inputs):
            return None
        if not all(t.unify(v.dtype, v.shape, known, leading) for t, v in zip(self.inputs, given, strict=True)):
            return None
        bound = Bound({name: known[name] for name in self.dims}, leading)
        return bound if self.allows(bound.dims, parameters) else None

    def allows(self, dims: Dims, parameters: Mapping[str, Any]) -> bool:
        """Whether sizes and parameters meet its conditions."""
        for name, size in dims.items():
            if size not in self.sizes[name] if name in self.sizes else size < 1:
                return False
        try:
            return self.when is None or bool(self.when(**dims, **parameters))
        except Exception as error:  # the user's own code may raise anything
            told = f"its condition failed: {type(error).__name__}: {error}"
            raise bad(told, "when= is called with sizes and parameters", f"kernel {self.name}") from error

    def results(self, bound: Bound) -> list[Shape]:
        return [tensor.shape(bound.dims, bound.leading) for tensor in self.outputs]

    def scratch_bytes(self, dims: Dims) -> int:
        size = evaluate(self.scratch, dims)
        if size < 0:
            told = f"its scratch {self.scratch!r} is {size} bytes for {dims}"
            raise bad(told, "write max(0, ...)", f"kernel {self.name}")
        return size

    def distances(self, dims: Dims) -> dict[tuple[int, int], int]:
        return {pair: evaluate(distance, dims) for pair, distance in self.overlaps.items()}

    # ---- checks ------------------------------------------------------------------------------------------------

    @cached_property
    def _parsed(self) -> tuple[list[str], str]:
        """The types of the arguments, and the function's name."""
        found = _PROTOTYPE.fullmatch(self.prototype) if isinstance(self.prototype, str) else None
        if found is None:
            raise bad(f"its prototype is {self.prototype!r}; expected a C function that returns nothing",
                      'write it like "void goertzel_f32(const float *x, float *y, int32_t n, int32_t t)"')
        return [_argument_type(part) for part in found[2].split(",") if part.strip()], found[1]

    def _check(self) -> None:
        if self.op and not _OP.fullmatch(self.op):
            raise bad(f"it is for the operator {self.op!r}; expected namespace::name")
        if not self.op and self.reference is None:
            raise bad("it has neither an operator nor a reference", "give op=, reference=, or both")
        if not self.inputs or not self.outputs:
            raise bad("it takes or gives nothing; expected one tensor at least of each")
        example = dict.fromkeys(self.dims, 64)
        self.scratch_bytes(example)
        for expression in (self.scratch, self.cost or 0, *self.overlaps.values()):
            evaluate(expression, example)
        for tensor in self.outputs:
            for dim in tensor.dims:
                if dim == "..." and not any(t.dims[:1] == ("...",) for t in self.inputs):
                    raise bad(f'{tensor} has "...", which no input has')
                if dim != "...":
                    evaluate(dim, example)
        unknown = [name for name in self.sizes if name not in self.dims]
        if unknown:
            raise bad(f"sizes are given for {unknown[0]!r}, which takes does not name")
        for name, allowed in self.sizes.items():
            if not any(True for _ in allowed):
                raise bad(f"sizes allows nothing for {name!r}")
        if type(self.needs) not in (set, frozenset):
            raise bad(f"needs is {self.needs!r}; expected a set of words", 'write frozenset({"dsp"})')
        if self.stack is not None and (type(self.stack) is not int or self.stack < 0):
            raise bad(f"stack is {self.stack!r}; expected a number of bytes")
        for source, target in self.overlaps:
            if not (0 <= source < len(self.inputs) and 0 <= target < len(self.outputs)):
                raise bad(f"overlaps names input {source} and output {target}, which it does not have")
        if not self.function or not self.text.strip():
            raise bad("its source is empty")
        if self.is_assembly and self.stack is None:
            raise bad("it is assembly and does not say how much stack it uses", "give stack=, 0 for none")



def _caller() -> str:
    """The file whose code creates a kernel."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and Path(frame.f_code.co_filename).name in ("<string>", "dataclasses.py"):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


def _code(function: Any) -> str:
    """What a function of Python does, with the numbers in it."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return repr(type(function))
    constants = [_code(SimpleNamespace(__code__=c)) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    around = [repr(getattr(function, name, None)) for name in ("__defaults__", "__kwdefaults__")]
    return "\0".join([code.co_code.hex(), repr(code.co_names), *constants, *around])


def _several(given: Any, what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, tuple | list):
        raise bad(f"{what} is {given!r}; expected a tuple of tensors", f'write {what}=("float32[n, t]",)')
    return tuple(given)


def _argument_type(text: str) -> str:
    """`const float *x` as `const float *`."""
    words = re.sub(r"\b(?:restrict|__restrict|__restrict__)\b", " ", text).replace("*", " * ")
    words, array = re.subn(r"\[[^\]]*\]", " ", words)
    parts = words.split()
    stars = parts.count("*") + array
    names = [word for word in parts if word != "*"]
    least = 2 if names[:1] in (["const"], ["unsigned"]) else 1
    if len(names) > least:
        names.pop()  # the argument's own name
    return " ".join(names) + " " * bool(stars) + "*" * stars
