"""What an operator writes its C with: pointers, kernels, constant tables, lines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pilotlight.graph import Value

Fields: TypeAlias = "Mapping[str, int | float | str | Fields]"  # of a C struct by their names, in its order


@dataclass(frozen=True)
class Table:
    """A constant struct before NAME_run."""

    ctype: str
    name: str
    fields: Fields

    def text(self) -> str:
        """`static const T name = {.member = number, ...};`, broken into lines."""
        return wrap(f"static const {self.ctype} {self.name} = {initializer(self.fields)};", "    ")


class Step:
    """The C of one node inside `NAME_run`."""

    def __init__(
        self,
        index: int | str,
        locate: Callable[[Value], tuple[str, int]],
        scratch: int | None = None,
        reverse: bool = False,
    ):
        self.index = index
        self.reverse = reverse  # the kernel has to walk backward (`Op.reverse_overlaps`)
        self.lines: list[str] = []
        self.tables: list[Table] = []  # constant shape tables, before NAME_run
        self.kernels: list[str] = []  # kernel headers, in the order they were asked for
        self.micro: set[str] = set()  # assembly micro-kernels
        self.files: dict[str, str] = {}  # C and assembly that a kernel brings along
        self.stack: dict[str, int] = {}  # bytes of stack of the assembly functions in them
        self.needs: dict[str, None] = {}  # functions that the project has to bring
        self.fails = False  # it may end the run, which then returns its error
        self._locate = locate
        self._scratch = scratch

    def locate(self, value: Value) -> tuple[str, int]:
        """The name of the base pointer of a value's memory, and the bytes from there."""
        return self._locate(value)

    @property
    def scratch_offset(self) -> int:
        """Where in the arena the bytes are that `Op.scratch` asked for."""
        return self._scratch or 0

    def take(self, inner: Step) -> None:
        """Ask for everything that a step inside this one asks for."""
        self.tables += inner.tables
        self.use(*inner.kernels)
        self.micro |= inner.micro
        self.bring(inner.files, inner.stack)
        self.needs |= inner.needs
        self.fails = self.fails or inner.fails

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines inside braces after `head`, such as `for (;;)`."""
        self.line(f"{head} {{")
        outside, self.lines = self.lines, []
        yield
        inside = "\n".join(self.lines)
        self.lines = [*outside, *(f"    {line}" if line else "" for line in inside.split("\n")), "}"]

    def enclose(self, head: str) -> None:
        """Put the lines so far inside braces after `head`."""
        inside, self.lines = self.lines, []
        with self.block(head):
            self.lines += inside

    def use(self, *headers: str) -> None:
        """Name kernel headers (kernels/portable/NAME.h or those of an instruction set) that this step needs."""
        self.kernels += [h for h in headers if h not in self.kernels]

    def bring(self, files: Mapping[str, str], stack: Mapping[str, int]) -> None:
        """Files that become part of the generated folder, and the stack that their assembly functions need."""
        self.files |= files
        self.stack |= stack

    def read(self, value: Value, ctype: str | None = None) -> str:
        """A C pointer expression to read a value with."""
        base, offset = self._locate(value)
        return pointer(f"const {ctype or value.dtype.c}", base, offset)

    def write(self, value: Value, ctype: str | None = None) -> str:
        """A C pointer expression to write a value with."""
        base, offset = self._locate(value)
        return pointer(ctype or value.dtype.c, base, offset)

    def scratch(self, ctype: str = "float") -> str:
        """The arena bytes that `Op.scratch` asked for."""
        assert self._scratch is not None, "the operator declared no scratch"
        return pointer(ctype, "a", self._scratch)

    def table(self, ctype: str, hint: str, fields: Fields) -> str:
        """A constant struct from its fields; returns the expression that points to it."""
        name = f"{hint}_{self.index}"
        self.tables.append(Table(ctype, name, fields))
        return f"&{name}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def call(self, function: str, *args: Any) -> None:
        """A call, one line where it fits."""
        self.line(wrap(f"{function}({', '.join(str(a) for a in args)});", "    "))

    def call_checked(self, function: str, *args: Any) -> None:
        """A call of a function that returns 0, or an error: the steps after it are then left out, and the run returns
        it."""
        self.fails = True
        self.line(wrap(f"status = {function}({', '.join(str(a) for a in args)});", "    "))


def pointer(ctype: str, base: str, offset: int) -> str:
    """A pointer into the bytes at `base`, by way of `void *`: the offset is aligned for the type, which
    -Wcast-align cannot know."""
    kind = ctype.removeprefix("const ")
    between = "" if kind in ("uint8_t", "int8_t", "void") else f"({'const ' if kind != ctype else ''}void *)"
    return f"({ctype} *){between}&{base}[{offset}]"


def initializer(fields: Fields) -> str:
    """A C struct by the names of its fields."""
    values = {name: initializer(v) if isinstance(v, Mapping) else c_number(v) for name, v in fields.items()}
    return "{" + ", ".join(f".{name} = {value}" for name, value in values.items()) + "}"


def c_number(value: Any) -> str:
    """A Python number as a C literal."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return c_float(value)
    return str(value)


def c_float(value: float) -> str:
    """A float32 literal that reads back as the same bits."""
    import numpy as np

    number = np.float32(value)
    if np.isnan(number):
        return "(0.0f / 0.0f)"
    if np.isinf(number):
        return "PL_INFINITY" if number > 0 else "-PL_INFINITY"
    text = np.format_float_positional(number, unique=True, trim="0")
    if len(text) > 14:
        text = np.format_float_scientific(number, unique=True, trim="0")
    return f"{text}f"


def wrap(text: str, indent: str, width: int = 112) -> str:
    """Break a long line after commas."""
    if len(text) <= width:
        return text
    lines, current = [], ""
    for part in text.split(", "):
        piece = part if not current else f"{current}, {part}"
        if len(piece) > width and current:
            lines.append(current + ",")
            current = indent + part
        else:
            current = piece
    return "\n".join([*lines, current])
