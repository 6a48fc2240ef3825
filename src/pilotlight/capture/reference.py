"""PyTorch's own answer: the user's module, or an exported program where there is none, in float32 or float64."""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.utils import _pytree as pytree

from pilotlight.capture.eager import Eager
from pilotlight.capture.repetition import done_once
from pilotlight.graph import Answers

PYTORCH = "PyTorch"


def _narrow(item: Any) -> Any:
    return item.to(torch.float32) if isinstance(item, torch.Tensor) and item.is_floating_point() else item


class _Wide(torch.fx.Interpreter):
    """Runs a graph with every float32 replaced by another float type, and halves as well where that is wider."""

    def __init__(self, module: torch.fx.GraphModule, dtype: torch.dtype):
        super().__init__(module)
        self.dtype = dtype
        self.wide: dict[torch.dtype, torch.dtype] = {}
        if dtype != torch.float32:
            self.wide = {torch.float32: dtype, torch.float16: dtype, torch.bfloat16: dtype,
                         torch.complex64: torch.complex128}

    def widen(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return item.to(self.wide[item.dtype]) if item.dtype in self.wide else item
        return self.wide.get(item, item) if isinstance(item, torch.dtype) else item

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if str(target).startswith("quantized_decomposed."):  # defined only for float32
            args, kwargs = pytree.tree_map(_narrow, (args, kwargs))
            return self.widen(super().call_function(target, args, kwargs))
        args, kwargs = pytree.tree_map(self.widen, (args, kwargs))
        return super().call_function(target, args, kwargs)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.widen(super().get_attr(target, args, kwargs))


def is_functional(program: ExportedProgram) -> bool:
    """Whether nothing is written in place: neither by an operator nor, as far as can be told, inside a subgraph."""
    calls = [n.target for n in program.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    written = any(spec.kind is not OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs)
    return not written and all(isinstance(f, torch._ops.OpOverload) and not f._schema.is_mutable for f in calls)


def functionalize(program: ExportedProgram) -> ExportedProgram:
    """The program with changed buffers as outputs; nothing is decomposed. (Tracing it again takes PyTorch seconds.)"""
    if is_functional(program):
        return program
    with torch.no_grad(), warnings.catch_warnings(), done_once():
        warnings.simplefilter("ignore")
        return program.run_decompositions({})


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Small operators run fastest on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class ExportedAnswers:
    """A functionalized program that can be called repeatedly; buffers that it changes are kept between calls."""

    def __init__(self, functional: ExportedProgram, dtype: torch.dtype = torch.float32):
        self._functional = functional
        self._interpreter = _Wide(functional.graph_module, dtype)
        self.reset()

    def reset(self) -> None:
        self._changed: dict[str, torch.Tensor] = {}

    def join(self, other: ExportedAnswers) -> None:
        """Share the changed buffers of another program of the same module from now on."""
        self._changed = other._changed

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        """The tensors among the flat outputs, for flat or nested inputs."""
        program, signature = self._functional, self._functional.graph_signature
        given = (leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor))
        args: list[Any] = []
        for spec in signature.input_specs:
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                assert spec.target is not None
                store = program.state_dict if spec.target in program.state_dict else program.constants
                args.append(self._changed.get(spec.target, store[spec.target]))
            else:  # a number or None is part of the program
                args.append(next(given) if isinstance(spec.arg, TensorArgument) else getattr(spec.arg, "value", None))
        with torch.no_grad():
            results = self._interpreter.run(*(self._interpreter.widen(a) for a in args))
        outputs: list[torch.Tensor] = []
        for spec, result in zip(signature.output_specs, results, strict=True):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                assert spec.target is not None
                self._changed[spec.target] = result
            elif spec.kind == OutputKind.USER_OUTPUT and isinstance(result, torch.Tensor):
                outputs.append(result)
        return outputs


class ExportedReference:
    """An exported program as the truth: of a `.pt2` file, and of what PyTorch quantized."""

    name = PYTORCH

    def __init__(self, program: ExportedProgram, stateful: bool):
        self._program = program
        self.example = example_inputs(program)
        self.keywords = tuple((program.example_inputs or ((), {}))[1])
        self.stateful = stateful

    def in_float32(self) -> Answers:
        return ExportedAnswers(functionalize(self._program))

    def in_float64(self) -> Iterator[Answers]:
        yield ExportedAnswers(functionalize(self._program), torch.float64)


class ModuleReference:
    """The user's module as the truth, called eagerly; in float64 its program, if given, where the module cannot run."""

    name = PYTORCH

    def __init__(self, eager: Eager, stateful: bool, program: ExportedReference | None = None):
        self._eager, self._program = eager, program
        self.example, self.keywords, self.stateful = eager.example, eager.keywords, stateful

    def in_float32(self) -> Answers:
        return self._eager.start()

    def in_float64(self) -> Iterator[Answers]:
        yield self._eager.start(torch.float64)
        if self._program is not None:
            yield from self._program.in_float64()


def example_inputs(program: ExportedProgram) -> list[torch.Tensor]:
    """The flat tensors that the program was exported with."""
    args, kwargs = program.example_inputs or ((), {})
    return [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]


def variations(inputs: Sequence[torch.Tensor], count: int = 7, seed: int = 0) -> list[list[torch.Tensor]]:
    """Seeded variations of an example: floats with noise of their own size, the same integers in another order."""
    generator = torch.Generator().manual_seed(seed)
    result = []
    for _ in range(count):
        row = []
        for x in inputs:
            if x.is_floating_point() or x.is_complex():
                spread = float(x.std()) if x.numel() > 1 else 1.0
                spread = spread if spread > 0 else max(float(x.abs().max()) if x.numel() else 1.0, 1.0) * 0.1
                kind = torch.complex64 if x.is_complex() else torch.float32
                noise = torch.randn(x.shape, generator=generator, dtype=kind)
                row.append((x + spread * noise).to(x.dtype))
            else:
                order = torch.randperm(x.numel(), generator=generator)
                row.append(x.reshape(-1)[order].reshape(x.shape))
        result.append(row)
    return result
