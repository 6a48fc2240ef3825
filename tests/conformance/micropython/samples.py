"""PyTorch's operator database → samples: a call with arguments, as CPython's function and MicroPython's text."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import _pytree as pytree

from conformance.cases import Case
from conformance.micropython.layouts import LAYOUTS, laid_out
from conformance.micropython.text import DTYPES, OutsideError, Text, sign_text
from conformance.opinfo import DTYPES as COMPILED
from conformance.opinfo import operator_table

SEED = 42
FEW = 4
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}
_MODULES = {
    "torch.Tensor": torch.Tensor, "torch.nn.functional": torch.nn.functional, "torch.special": torch.special,
    "torch.linalg": torch.linalg, "torch": torch,
}
# Functions of Python's that draw through an operator of another name.
_DRAWING = (
    "dropout1d", "dropout2d", "dropout3d", "fractional_max_pool2d", "fractional_max_pool3d", "gumbel_softmax",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices", "multi_head_attention_forward",
)
_BY_STRIDES = ("as_strided", "empty_strided", "new_empty_strided")  # whose answer is where elements lie
_UNWRITTEN = ("empty", "new_empty", "resize")


@dataclass(frozen=True)
class Sample(Case):
    """A case with the text that MicroPython executes."""

    form: str  # "" for the function of the database, or method, sign, in place, in place sign, out=
    line: str
    names: tuple[str, ...]  # what the text needs to exist
    error: type[Exception] | None = None  # of a call that must raise

    @property
    def random(self) -> bool:
        return any(name in _random() for name in self.names)

    @property
    def unwritten(self) -> bool:
        return any(name.rpartition(".")[2].startswith(_UNWRITTEN) for name in self.names)


@dataclass(frozen=True)
class Skipped:
    """A sample that does not count."""

    operator: str
    dtype: str
    reason: str


# Not judged number by number, but by tests/micropython/test_fft.py: sums that cancel, and vectors with a free sign.
_FREE = ("fft.", "stft", "istft", "linalg.eigh", "linalg.svd", "linalg.lstsq", "svd", "pinverse", "linalg.pinv")


class _UnknownError(Exception):
    """No public name of PyTorch's says what the sample calls."""


@cache
def _names() -> dict[int, str]:
    """Dotted names of PyTorch's functions by identity; the shortest path wins."""
    found = {}
    for prefix, module in _MODULES.items():
        for name in dir(module):
            value = getattr(module, name, None)
            if callable(value) and (name[0] != "_" or name.startswith("__r") or name == "__getitem__"):
                found[id(value)] = f"{prefix}.{name}"
    return found


@cache
def _random() -> frozenset[str]:
    """Names of functions that draw random numbers, by PyTorch's tag."""
    drawn = set(_DRAWING) | {
        name.partition("::")[2].partition(".")[0] for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and torch.Tag.nondeterministic_seeded in _tags(name)
    }
    return frozenset(f"{prefix}.{name}" for prefix in _MODULES for name in drawn)


def _tags(name: str) -> Sequence[Any]:
    packet, _, overload = name.partition("::")[2].partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), overload or "default").tags  # type: ignore[no-any-return]
    except AttributeError:
        return ()


def function_name(function: Callable[..., Any]) -> str | None:
    return _names().get(id(function))


class _Recorder(TorchFunctionMode):
    """Writes down the calls of PyTorch's that a function makes; those whose result has no tensor are constants."""

    def __init__(self, text: Text):
        super().__init__()
        self.text = text
        self.names: list[str] = []
        self.known: set[int] = set()
        self.kept: list[Any] = []
        self.last: tuple[Any, str, str] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch._C._set_grad_enabled:  # a generator of samples ends
            return func(*args)
        name = function_name(func) or resolve_name(func)
        if name is None or not name.startswith("torch."):
            raise _UnknownError(f"{func}")
        expression = self.text.call(name, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        leaves = pytree.tree_leaves(result)
        self.kept += leaves
        if not any(isinstance(x, torch.Tensor) for x in leaves):
            self.last = (result, expression, name)
            return result
        target = f"v{len(self.text.parts)}"
        self.text.parts.append(f"{target}={expression}")
        self.names.append(name)
        if isinstance(result, torch.Tensor):
            self.text.result(result, target)
            self.known.add(id(result))
        elif isinstance(result, (tuple, list)):
            for k, x in enumerate(result):
                if isinstance(x, torch.Tensor):
                    self.text.result(x, f"{target}[{k}]")
                    self.known.add(id(x))
        return result


def record(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The text of what a function does, and the names in it."""
    text = Text()
    text.value([x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)])
    with _Recorder(text) as recorder:
        result = function(*args, **kwargs)
    if recorder.last is not None and recorder.last[0] is result:
        text.parts.append(f"r={recorder.last[1]}")
        return text.line(), (*recorder.names, recorder.last[2])
    given = {id(x) for x in pytree.tree_leaves((args, kwargs))}
    if any(isinstance(x, torch.Tensor) and id(x) not in recorder.known | given for x in pytree.tree_leaves(result)):
        raise _UnknownError("a result of no call")
    text.parts.append(f"r={text.value(result)}")
    return text.line(), tuple(recorder.names)


def written(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The text of a call, and the names in it."""
    name = function_name(function)
    sign = sign_text(function)
    if name is None and sign is None:
        seeded = copy.deepcopy((args, kwargs))
        return record(function, *seeded)
    text = Text()
    if name is not None:
        text.parts.append(f"r={text.call(name, args, kwargs)}")
        return text.line(), (name,)
    assert sign is not None
    left, right = (text.value(x) for x in args)
    text.parts += [f"{left}{sign}{right}", f"r={left}"] if sign.endswith("=") and sign not in (
        "==", "!=", "<=", ">=") else [f"r={left}{sign}{right}"]
    return text.line(), ()


def observed(function: Callable[..., Any]) -> Callable[..., list[torch.Tensor]]:
    """The results as tensors, then the arguments that have elements, as the call has left them."""

    def call(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
        given = with_elements(pytree.tree_leaves((args, kwargs)))
        torch.default_generator.manual_seed(SEED)
        result = function(*args, **kwargs)
        numbers = [torch.tensor(x) if isinstance(x, (bool, int, float)) else x for x in pytree.tree_leaves(result)]
        return [x for x in [*numbers, *given] if isinstance(x, torch.Tensor)]

    return call


def with_elements(leaves: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors among some arguments that MicroPython makes from bytes."""
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.layout == torch.strided
            and x.untyped_storage().nbytes()]


def _copy(tree: Any) -> Any:
    """With strides and shared bytes as they are: some samples are changed in place to make the next one."""
    memo: dict[int, Any] = {}

    def copied(x: Any) -> Any:
        sparse = isinstance(x, torch.Tensor) and x.layout != torch.strided
        return x.clone() if sparse else copy.deepcopy(x, memo)

    return pytree.tree_map(copied, tree)


class Samples:
    """Every OpInfo that has samples for one of the dtypes; `limit` takes only the first of each OpInfo and dtype.

    Without a limit these are all samples of the dtypes that the compiler's run has, and the first few of the others;
    the first few are written in every form.
    """

    def __init__(self, dtypes: tuple[str, ...], limit: int | None = None):
        self.dtypes, self.limit = dtypes, limit

    @property
    def table(self) -> dict[str, Any]:
        return operator_table()

    def operators(self) -> list[str]:
        return [name for name, op in self.table.items()
                if any(_BY_NAME[d] in op.dtypes for d in self.dtypes) and not name.startswith(_FREE)]

    def cases(self, operator: str) -> Iterator[Sample | Skipped]:
        op = self.table[operator]
        for dtype in self.dtypes:
            if _BY_NAME[dtype] not in op.dtypes:
                continue
            torch.manual_seed(0)  # samples draw from the global generator
            found = op.sample_inputs("cpu", _BY_NAME[dtype], requires_grad=False)
            number = 0
            limit = FEW if self.limit is None and dtype not in COMPILED else self.limit
            for index, sample in enumerate(islice(found, limit)):
                args, kwargs = _copy(((sample.input, *sample.args), dict(sample.kwargs)))
                chosen = [*forms(op, args, kwargs, index)] if index < FEW else [("", op.op)]
                calls = [(form, function, args, kwargs) for form, function in chosen]
                if not op.name.startswith(_BY_STRIDES):
                    for layout in self._layouts(operator, dtype, index):
                        other = laid_out((args, kwargs), layout)
                        calls += [] if other is None else [(layout, op.op, *other)]
                        if other is not None and index < FEW and op.inplace_variant is not None:
                            calls.append((f"{layout}, in place", op.inplace_variant, *other))
                for form, function, given, keywords in calls:
                    case = build(operator, dtype, number, form, function, given, keywords)
                    if case is not None:
                        yield case
                        number += 1

    def _layouts(self, operator: str, dtype: str, index: int) -> Sequence[str]:
        """All of them for the first samples in float32, one of them for the others; with a limit, one for the first."""
        if self.limit is not None and (index or dtype != "float32"):
            return ()
        if self.limit is None and index < FEW and dtype == "float32":
            return tuple(LAYOUTS)
        return (list(LAYOUTS)[(index + len(operator)) % len(LAYOUTS)],)

    def errors(self, operator: str) -> Iterator[Sample | Skipped]:
        """Calls that PyTorch refuses."""
        op = self.table[operator]
        if op.error_inputs_func is None or operator.startswith("__"):  # Python answers these itself
            return
        torch.manual_seed(0)
        for index, error in enumerate(op.error_inputs("cpu")):
            sample = error.sample_input
            args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
            case = build(operator, "error", index, "", op.op, args, kwargs, error.error_type)
            if case is not None:
                yield case


def forms(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], index: int
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The ways to write one call."""
    yield "", op.op
    if op.method_variant is not None and op.method_variant is not op.op and isinstance(args[0], torch.Tensor):
        yield "method", op.method_variant
    if op.inplace_variant is not None and isinstance(args[0], torch.Tensor):
        yield "in place", op.inplace_variant
    if len(args) == 2 and not kwargs:
        if op.operator_variant is not None and sign_text(op.operator_variant):
            yield "sign", op.operator_variant
        if op.inplace_operator_variant is not None and sign_text(op.inplace_operator_variant):
            yield "in place sign", op.inplace_operator_variant
    if op.supports_out and "out" not in kwargs:
        yield f"out={('same', 'strided', 'empty')[index % 3]}", op.op


def _outs(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kind: str) -> Any:
    """Tensors for out=: of the result's shape, the same with other strides, or without elements.

    Raises ValueError where PyTorch does not write to them what it returns otherwise.
    """
    torch.default_generator.manual_seed(SEED)
    result = function(*copy.deepcopy(args), **copy.deepcopy(kwargs))

    def out(x: torch.Tensor) -> torch.Tensor:
        if kind == "empty":
            return torch.zeros((0,) * max(x.dim(), 1), dtype=x.dtype)
        if kind == "strided":
            return torch.ones(tuple(reversed(x.shape)), dtype=x.dtype).permute(*reversed(range(x.dim())))
        return torch.ones(x.shape, dtype=x.dtype)

    outs = out(result) if isinstance(result, torch.Tensor) else tuple(out(x) for x in result)
    if kind == "strided":
        torch.default_generator.manual_seed(SEED)
        again = function(*copy.deepcopy(args), **copy.deepcopy(kwargs), out=copy.deepcopy(outs))
        pairs = zip(pytree.tree_leaves(again), pytree.tree_leaves(result), strict=True)
        if not all(torch.allclose(a, b, 1e-2, 1e-2, equal_nan=True) for a, b in pairs):
            raise ValueError("PyTorch contradicts itself")
    return outs


def build(
    operator: str, dtype: str, index: int, form: str, function: Callable[..., Any], args: tuple[Any, ...],
    kwargs: dict[str, Any], error: type[Exception] | None = None,
) -> Sample | Skipped | None:
    """A sample, or why it does not count; None for a form that PyTorch itself does not have here."""
    try:
        if form.startswith("out="):
            try:
                kwargs = {**kwargs, "out": _outs(function, args, kwargs, form.partition("=")[2])}
            except Exception:  # what the function itself says is the plain form's affair
                return None
        line, names = written(function, args, kwargs)
    except OutsideError as reason:
        return Skipped(operator, dtype, str(reason))
    except Exception as problem:  # no public call, or one that raises where it is recorded
        return Skipped(operator, dtype, f"no text: {type(problem).__name__}")
    return Sample(operator, dtype, index, observed(function), args, kwargs, form, line, names, error)
