"""The user's own module, run as Python runs it: the answer that everything else is compared with.

torch.export sees a module once, so what the module does from the second call on, or with a tensor that it binds
anew, is not always in the exported program. The module itself is copied before torch.export runs and called again
and again, in float32 and in float64.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from pilotlight.capture.frames import user_frame
from pilotlight.capture.structure import register_dataclasses
from pilotlight.errors import PilotlightError

FORWARD = "forward"
NARROW = (torch.float32, torch.float16, torch.bfloat16, torch.complex64)
CONTROL = torch._C.DispatchKey.CompositeExplicitAutograd
FLOAT32_ALONE = "quantized_decomposed"  # operators that are defined for float32 only


def widen(item: Any) -> Any:
    """Narrower floats as float64 and complex64 as complex128, tensors and dtypes alike."""
    if isinstance(item, torch.Tensor):
        return item.to(widen(item.dtype)) if item.dtype in NARROW else item
    if not isinstance(item, torch.dtype) or item not in NARROW:
        return item
    return torch.complex128 if item.is_complex else torch.float64


def narrow(item: Any) -> Any:
    return item.to(torch.float32) if isinstance(item, torch.Tensor) and item.is_floating_point() else item


class _WideCalls(TorchDispatchMode):
    """Every operator in float64, even where the module names a narrower type or holds such a tensor."""

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):  # its subgraphs are Python functions here
            return func.py_kernels[CONTROL](*map(self._inside, args), **kwargs)
        if func.namespace == FLOAT32_ALONE:
            args, kwargs = pytree.tree_map(narrow, (args, kwargs))
            return pytree.tree_map(widen, func(*args, **kwargs))
        written = [a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments]
        args = tuple(a if w else pytree.tree_map(widen, a) for a, w in zip(args, written, strict=False))
        names = {a.name for a, w in zip(func._schema.arguments, written, strict=True) if w}
        kwargs = {k: v if k in names else pytree.tree_map(widen, v) for k, v in kwargs.items()}
        return func(*args, **kwargs)

    def _inside(self, item: Any) -> Any:
        def run(*args: Any) -> Any:
            with self:
                return item(*args)

        return run if callable(item) else item


class Eager:
    """A module as it was when it was captured, in evaluation mode, with the structure of its arguments.

    `method` is what is called, if not the module itself. Methods of one module share its `original`.
    """

    def __init__(
        self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None,
        method: str = FORWARD, original: nn.Module | None = None,
    ):
        self.original = original or copied(module)  # never called
        self.method = method
        with contextlib.suppress(NotImplementedError):  # a module that was exported, as by PT2E, has no modes
            self.original.eval()
        self.keywords = tuple(kwargs or {})
        register_dataclasses((tuple(args), dict(kwargs or {})))
        self._leaves, self._spec = pytree.tree_flatten((tuple(args), dict(kwargs or {})))

    def module(self) -> nn.Module:
        """A copy that may be called and changed."""
        return copied(self.original)

    def traced(self) -> nn.Module:
        """A copy for torch.export, which computes nothing: with the same parameters, which may be large."""
        module = copied(self.original, {id(p): p for p in self.original.parameters()})
        if self.method != FORWARD:
            module.forward = _as_forward(getattr(module, self.method))
        return module

    def arguments(self, inputs: Sequence[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Flat tensors in the structure that the module takes; other arguments are those of the example."""
        given = iter(inputs)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        return args, kwargs

    @property
    def example(self) -> list[torch.Tensor]:
        return [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]

    def result(self) -> Any:
        """What the module returns for its example."""
        return self.start().call(self.example)

    def start(self, dtype: torch.dtype = torch.float32) -> EagerAnswers:
        return EagerAnswers(self, dtype)


class EagerAnswers:
    """The module, to be called repeatedly; what it keeps between calls lasts until `reset`."""

    module: nn.Module

    def __init__(self, eager: Eager, dtype: torch.dtype = torch.float32):
        self._eager, self._wide = eager, dtype == torch.float64
        self.reset()

    def join(self, other: EagerAnswers) -> None:
        """Call the other's module from now on."""
        self.module = other.module

    def reset(self) -> None:
        self.module = self._eager.module()
        if self._wide:
            self.module.double()
            for part in self.module.modules():
                _widen_attributes(part)
            for tensor in (*self.module.parameters(), *self.module.buffers()):  # `double` leaves complex ones
                tensor.data = widen(tensor.data)

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        """Copies of the tensors among the flat outputs, for flat or nested inputs, which do not change."""
        leaves = pytree.tree_leaves(self.call(*inputs))
        return [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def call(self, *inputs: Any) -> Any:
        """What the module returns."""
        given = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        args, kwargs = self._eager.arguments([(widen(x) if self._wide else x).detach().clone() for x in given])
        with torch.no_grad(), _plain_control(), _wide() if self._wide else contextlib.nullcontext():
            try:
                method = self._eager.method
                return (self.module if method == FORWARD else getattr(self.module, method))(*args, **kwargs)
            except Exception as error:
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise PilotlightError(
                    f"the module itself fails for these inputs: {type(error).__name__}: {reason}",
                    where=user_frame(error), kind="user-code",
                    hint="call module(*inputs) in Python: it has to work there first",
                ) from error


def _as_forward(method: Any) -> Any:
    """A method under the name of which torch.export remembers source lines."""
    function = getattr(method, "__func__", None)
    if not isinstance(function, FunctionType):
        return method
    code = function.__code__.replace(co_name=FORWARD)
    renamed = FunctionType(code, function.__globals__, FORWARD, function.__defaults__, function.__closure__)
    renamed.__kwdefaults__ = function.__kwdefaults__
    return MethodType(renamed, method.__self__)


def copied(module: nn.Module, shared: Mapping[int, Any] | None = None) -> nn.Module:
    """A deep copy, except for `shared` objects, by `id`; results of earlier computations that it holds, such as a
    normalized weight, are copied as values."""
    memo: dict[int, Any] = dict(shared or {})
    for part in module.modules():
        for held in vars(part).values():
            if isinstance(held, torch.Tensor) and not held.is_leaf:
                memo[id(held)] = held.detach().clone()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy.deepcopy(module, memo)
    except Exception as error:  # whatever the user's attribute raises
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PilotlightError(
            f"the model cannot be copied, so it cannot be compared with the compiled one: copy.deepcopy says: {reason}",
            where=_uncopied(module),
            hint="keep locks, files, generators and the like out of the module; or give the result of "
            "torch.export.save, a .pt2 file",
            kind="capture",
        ) from error


def _uncopied(module: nn.Module) -> str | None:
    """The attribute that cannot be copied, if it is a single one."""
    for path, part in module.named_modules():
        for name, held in vars(part).items():
            if name == "_modules":
                continue
            try:
                copy.deepcopy(held)
            except Exception:
                return f"{type(module).__name__}{f'.{path}' if path else ''}.{name}"
    return None


def _widen_attributes(module: nn.Module) -> None:
    """Tensors that are attributes but not registered, including those inside lists, tuples and dicts."""
    for name, held in list(vars(module).items()):
        if name not in ("_parameters", "_buffers", "_modules") and _holds_narrow(held):
            vars(module)[name] = pytree.tree_map(widen, held)


def _holds_narrow(item: Any) -> bool:
    if isinstance(item, list | tuple):
        return any(map(_holds_narrow, item))
    if isinstance(item, dict):
        return any(map(_holds_narrow, item.values()))
    return isinstance(item, torch.Tensor) and item.dtype in NARROW


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _WideCalls():
            yield
    finally:
        torch.set_default_dtype(before)


def _called(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    return fn(*args, **(kwargs or {}))


@contextlib.contextmanager
def _plain_control() -> Iterator[None]:
    """torch.cond, while_loop and scan call their functions; PyTorch would compile those first."""
    with mock.patch("torch._higher_order_ops.utils._hop_compile_and_call", _called):
        yield
