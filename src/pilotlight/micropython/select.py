"""What goes into a build: all operators and all of the Python part, or what a list or a model needs."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    from pilotlight.micropython.composed import PackedUnit
    from pilotlight.micropython.schemas import CFunction

PYTHON = Path(__file__).parent / "python"
_PREFIXES = ("aten::", "aten.", "torch.nn.functional.", "torch.special.", "torch.", "Tensor.", "F.")
_PACKED = "torch._packed"  # finds operators that are written in Python
_SHOWN = 5  # unknown names that an error lists
_EVERY_PART = "all"
# What a firmware gets only when it is asked for: the operators of some files of `operators/`, and Python modules.
# Others may need some of them.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "load": (("files",), ()),
    "save": (("saving",), ()),
    "jit": (("jit",), ("torch._jit", "torch._script")),
    "safetensors": (("safetensors",), ("safetensors", "safetensors.torch")),
    "linalg": (("matrices", "decompositions"), ()),
    "signal": (("signals",), ()),
    "fft": (("fft",), ("torch._complex", "torch._fft")),
    "types": (("typed",), ()),
    "image": (("sampling",), ()),
    "losses": (("margins",), ()),
    "utils": ((), ("torch.nn.utils", "torch.nn.utils.fusion", "torch.nn.utils.rnn")),
    "errors": (("words",), ()),
    "data": ((), ("torch.utils", "torch.utils.data")),
    "stdlib": ((), ("enum", "operator", "logging", "time", "collections.Counter")),
}
_IN_C = {"jit": ("_jit_inflate", "_jit_source"), "fft": ("_fft_rows",)}  # what a part uses of its own
_SHARED = {"jit": ("torch.nn",), "fft": ("torch.nn",)}  # modules that a part needs, as others do


# In the order of pt_dtype_t in C. Those of indices, and what comparisons and Python's floats give, are in every build.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32")
_EVERY_DTYPE = ("bool", "int32", "int64", "float32")


@dataclass(frozen=True)
class TorchSelection:
    """Names of overloads, of operators that are written in Python, and of Python modules; None: all of them, without
    some parts; and the dtypes to compute with."""

    operators: tuple[str, ...] | None = None
    python: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES

    @property
    def _left_out(self) -> set[str]:
        return {name for part in self.without for name in _names_of(part)}

    def kernels(self) -> dict[str, CFunction]:
        """The overloads in C."""
        known = all_kernels()
        if self.operators is None:
            left_out = self._left_out
            return {name: kernel for name, kernel in known.items() if name.partition(".")[0] not in left_out}
        return {name: known[name] for name in self.operators if name in known}

    def units(self) -> list[PackedUnit]:
        """The operators that are written in Python."""
        from pilotlight.micropython import composed

        left_out = self._left_out
        every = (name for name in composed.everything() if name not in left_out)
        return composed.with_needed(every if self.operators is None else self.operators)

    @property
    def alone(self) -> bool:
        """Without the Python part: the C module is `torch` itself."""
        return self.python == ()

    def python_files(self) -> list[Path]:
        """Files of the Python part that are frozen."""
        left_out = {name for part in self.without for name in PARTS[part][1]}
        return [path for name, path in modules().items()
                if (name not in left_out if self.python is None else name in self.python)]

    def types_header(self) -> str:
        """For C: a bit for each dtype that tensors may have, and whether kernels compute with integers."""
        built = sum(1 << k for k, name in enumerate(DTYPES) if name in self.dtypes or name in _EVERY_DTYPE)
        integers = int(any("int" in name for name in self.dtypes))
        return f"#define PT_BUILT {built:#x}\n#define PT_INTEGERS {integers}\n"

    def with_dtypes(self, names: Iterable[str]) -> TorchSelection:
        """The same, with kernels for these dtypes only."""
        wanted = list(names)
        unknown = [name for name in wanted if name not in DTYPES]
        if unknown:
            raise PilotlightError(
                f"the module has no dtype {', '.join(unknown)}", where="--dtypes",
                hint=f"those that it has: {', '.join(DTYPES)}", kind="usage",
            )
        return replace(self, dtypes=tuple(name for name in DTYPES if name in wanted))

    def absent(self) -> dict[str, list[str]]:
        """What the parts have that were left out: operators and modules."""
        named = {part: [*part_operators(part), *PARTS[part][1]] for part in self.without}
        return {part: [name for name in names if name[0] != "_"] for part, names in named.items()}

    def with_parts(self, parts: Iterable[str]) -> TorchSelection:
        """The same, and some parts, or `all`."""
        wanted = list(parts)
        wanted = list(PARTS) if wanted == [_EVERY_PART] else wanted
        unknown = [part for part in wanted if part not in PARTS]
        if unknown:
            raise _unknown("part", unknown, list(PARTS), "--with")
        if self.operators is None or self.python is None:
            return replace(self, without=tuple(part for part in self.without if part not in wanted))
        operators = [*self.operators, *(name for part in wanted for name in _names_of(part))]
        python = [*self.python, *(name for part in wanted for name in (*PARTS[part][1], *_SHARED.get(part, ())))]
        return select(operators, python, "--with").with_dtypes(self.dtypes) if wanted else self


ALL = TorchSelection()
SMALL = TorchSelection(without=tuple(PARTS))


def all_kernels() -> dict[str, CFunction]:
    """Reading the tables imports PyTorch, which takes a moment that a cached build does not need."""
    from pilotlight.micropython.operators import kernels

    return kernels()


def all_operators() -> list[str]:
    """Overloads of C operators, and names of operators that are written in Python."""
    from pilotlight.micropython.composed import everything

    return [*all_kernels(), *everything()]


def part_operators(part: str) -> list[str]:
    """What users call of a part."""
    from pilotlight.micropython.composed import of_file

    return [name for file in PARTS[part][0] for name in of_file(file)]


def _names_of(part: str) -> list[str]:
    """The operators of a part, in Python and in C."""
    return [*part_operators(part), *_IN_C.get(part, ())]


def modules() -> dict[str, Path]:
    """The Python part: `torch/nn/__init__.py` is `torch.nn`."""
    paths = sorted(path for path in PYTHON.rglob("*.py") if path.parent.name != "operators")
    return {".".join(p.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


def select(operators: Iterable[str], python: Iterable[str], where: str) -> TorchSelection:
    """Operators with or without the name of an overload; Python modules with the others that they need."""
    known, unknown = all_operators(), []
    wanted: dict[str, None] = {}
    for name in operators:
        found = overloads_of(name, known)
        wanted |= dict.fromkeys(found)
        unknown += [] if found else [name]
    if unknown:
        raise _unknown("operator", unknown, sorted({n.partition(".")[0] for n in known} | set(known)), where)
    composed = TorchSelection(tuple(wanted)).units()
    for word in sorted({word for unit in composed for word in unit.words}):
        wanted |= dict.fromkeys(overloads_of(word, known))
    return TorchSelection(tuple(sorted(wanted)), with_packages([*python, *([_PACKED] if composed else [])], where))


def overloads_of(name: str, known: Iterable[str]) -> list[str]:
    """The overloads that a name means: one, or all of the operator's."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    operator = name.partition(".")[0]
    whole = (name, operator, operator.removesuffix("_"))  # those that are written in Python have no separate overloads
    return [full for full in known if (full in whole if "." not in full else name in (full, full.partition(".")[0]))]


def with_packages(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Python modules with their packages and with what they import."""
    known = modules()
    wanted: set[str] = set()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise _unknown("Python module", unknown, list(known), where)
    todo = list(names)
    while todo:
        parts = todo.pop().split(".")
        new = ({".".join(parts[: k + 1]) for k in range(len(parts))} & set(known)) - wanted
        wanted |= new
        todo += [used for name in new for used in _imported(known[name])]
    return tuple(sorted(wanted))


def _imported(path: Path) -> list[str]:
    """Modules of the Python part that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "load" and len(node.args) == 2:
            found += [str(ast.literal_eval(node.args[0]))]  # not kept when it is loaded, and so not recorded
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "packed":
            found += [f"torch.nn.modules.{ast.literal_eval(node.args[1])}"]  # methods that every module has
    return found


def _unknown(what: str, names: list[str], known: list[str], where: str) -> PilotlightError:
    near = {match: None for name in names for match in difflib.get_close_matches(name, known, n=2, cutoff=0.6)}
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return PilotlightError(
        f"the module has no {what} {shown}" if len(names) == 1 else f"the module has no {what}s {shown}", where=where,
        hint=f"did you mean {', '.join(list(near)[:_SHOWN])}?" if near
        else f"known are {', '.join(known)}" if len(known) <= len(PARTS) else None, kind="unknown-operator",
    )


def from_file(path: Path) -> TorchSelection:
    """A YAML file: `operators` is a list of names, `python` a list of modules of the Python part."""
    if not path.is_file():
        raise PilotlightError(f"{path} does not exist", hint="check the path", kind="no-file")
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise PilotlightError(f"{path} is not YAML: {str(error).splitlines()[0]}", kind="broken-file") from error
    fields = {"operators", "python"}
    lists = [data.get(key) or [] for key in fields] if isinstance(data, dict) else [None]
    if not isinstance(data, dict) or not set(data) <= fields or not all(_is_names(names) for names in lists):
        raise PilotlightError(
            f"{path} is not a list of operators",
            hint="write operators: [softmax, conv2d, add.Tensor] and, if needed, python: [torch.nn]",
            kind="broken-file",
        )
    return select(data.get("operators") or [], data.get("python") or [], str(path))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
