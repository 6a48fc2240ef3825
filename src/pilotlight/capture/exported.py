"""PyTorch's torch.export → Graph."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import math
import operator
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.utils import _pytree as pytree

from pilotlight import ops
from pilotlight.capture import complexes, rows, symbols, widths
from pilotlight.capture.agreement import check_agreement
from pilotlight.capture.eager import Eager
from pilotlight.capture.frames import TORCH_FOLDER, shown, user_frame
from pilotlight.capture.kernels import installed_kernels
from pilotlight.capture.patterns import use_kernels
from pilotlight.capture.rates import sample_rate
from pilotlight.capture.reference import ExportedReference, ModuleReference, is_functional
from pilotlight.capture.repetition import done_once
from pilotlight.capture.structure import output_names, register_dataclasses, written_name
from pilotlight.errors import PilotlightError, UnsupportedError
from pilotlight.graph import INT64, Graph, Place, Port, Quantization, State, Value, verify
from pilotlight.graph.builder import Builder, check_size
from pilotlight.graph.digest import digest
from pilotlight.graph.dtypes import to_numpy
from pilotlight.ops.complex.base import Complex, rule


def capture_module(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, name: str = "model",
    dynamic_shapes: Any = None,
) -> Graph:
    """A module with example inputs as a graph that remembers the module; the module itself does not change."""
    eager = Eager(module, args, kwargs)
    return capture_exported(export_known(eager, args, kwargs, dynamic_shapes), name, eager)


def export_known(
    eager: Eager, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any = None
) -> ExportedProgram:
    """The module exported; dataclasses among its results are made known to PyTorch first."""
    try:
        return export(eager.traced(), args, kwargs, dynamic_shapes)
    except PilotlightError as problem:
        if not _returns_dataclasses(eager):
            raise problem
        return export(eager.traced(), args, kwargs, dynamic_shapes)


def _returns_dataclasses(eager: Eager) -> bool:
    """Whether the module returns dataclasses that torch.export did not know until now."""
    with contextlib.suppress(PilotlightError):
        return register_dataclasses(eager.result())
    return False


def export(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None
) -> ExportedProgram:
    """Run torch.export in inference mode and turn its failures into one sentence."""
    args, kwargs = _apart((tuple(args), dict(kwargs or {})))
    with torch.no_grad(), _quiet(), done_once():
        with contextlib.suppress(NotImplementedError):  # a module that was exported, as by PT2E, has no modes
            module.eval()
        try:
            return torch.export.export(
                module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=False
            )
        except PilotlightError as problem:  # of a TorchScript model
            problem.where = problem.where or user_frame(problem)
            raise
        except Exception as error:  # torch.export raises dozens of types, users need one
            raise _export_error(error) from error


def _apart(given: Any) -> Any:
    """Inputs that share memory are copied: torch.export takes two that are the same tensor for one. Others keep
    their strides, so that operators that depend on them can be refused."""
    storages = Counter(x.untyped_storage().data_ptr() for x in pytree.tree_leaves(given) if _has_storage(x))

    def apart(x: torch.Tensor) -> torch.Tensor:
        shared = _has_storage(x) and storages[x.untyped_storage().data_ptr()] > 1
        return x.detach().clone() if shared else x.detach()

    return pytree.tree_map_only(torch.Tensor, apart, given)


def _has_storage(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.layout == torch.strided and item.numel() > 0


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the pages that PyTorch logs on the way to an exception; the exception says enough."""
    before = logging.root.manager.disable
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(before)


def _export_error(error: Exception) -> PilotlightError:
    text = str(error).strip() or type(error).__name__
    where = user_frame(error)
    fixed = re.search(r"specialized it to be a constant \((\d+)\)", text)
    if fixed:
        reason = "an example of that length is a fixed one to PyTorch" if fixed[1] == "1" else \
            "the model works for that length only"
        return PilotlightError(
            f"a dimension that is given at run time is fixed at {fixed[1]}: {reason}",
            where=where, hint="give an example with a length of 2 or more, and let nothing depend on it but shapes",
            kind="dynamic-shape",
        )
    if text.startswith("Constraints violated"):
        reason = "".join(text.splitlines()[1:2]).strip(" -")
        return PilotlightError(
            f"the model does not work for every length that it is to take: {reason}",
            where=where, hint="give torch.export.Dim another min or max", kind="dynamic-shape",
        )
    guard = "GuardOnDataDependent" in type(error).__name__
    if guard or "data-dependent" in text or "Could not guard" in text:
        return PilotlightError(
            "the model decides by the values of a tensor (an `if`, a loop or an index that depends on data); "
            "a compiled model runs the same operators every time",
            where=where,
            hint="compute both results and choose with torch.where, or move the decision out of the model",
            kind="data-dependent",
        )
    return PilotlightError(
        f"torch.export could not capture the model: {text.splitlines()[0]}",
        where=where,
        hint="torch.export.export(model, inputs, strict=False) must work; its error is the one above",
        kind="capture",
    )


def capture_exported(program: ExportedProgram, name: str, eager: Eager | None = None) -> Graph:
    """An exported program as a graph; one error lists everything that is not supported.

    If the module that it was exported from is given, the program is compared with it.
    """
    return import_program(program, decomposed(program), name, eager)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program in functional operators that have a lowering, as far as PyTorch knows how."""
    installed_kernels()
    if _is_lowered(program):
        return program
    with torch.no_grad(), _quiet(), done_once():
        try:
            return program.run_decompositions(_decompositions())
        except Exception as error:  # as torch.export does
            raise _export_error(error) from error


def import_program(
    original: ExportedProgram, program: ExportedProgram, name: str, eager: Eager | None = None,
    changed: Collection[str] = (),
) -> Graph:
    """The graph of a decomposed program; `changed` are buffers that are states, though nothing here changes them."""
    graph = use_kernels(_Importer(program, original, name, changed).run(), _traced)
    graph.reference = ExportedReference(original, bool(graph.states))
    if eager is not None:
        check_agreement(eager, program, graph)
        graph.reference = ModuleReference(eager, bool(graph.states), graph.reference)
        graph.rate = sample_rate(eager.original)
    return graph


def _traced(module: torch.nn.Module, args: Sequence[torch.Tensor]) -> Graph:
    """The graph of a small function, in which no kernels are looked for."""
    program = export(module, args)
    return _Importer(decomposed(program), program, "reference").run()


def _is_lowered(program: ExportedProgram) -> bool:
    """Whether every operator already has a lowering, so that PyTorch need not trace the program again."""
    calls = [n.target for n in program.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    return is_functional(program) and all(_is_kept(_short(f)) for f in calls)


def _is_kept(name: str) -> bool:
    """Whether an operator is not decomposed."""
    return ops.lowering(name) is not None or rule(name) is not None


def _decompositions() -> dict[Any, Any]:
    """PyTorch's table without the operators that have their own lowering: those are not decomposed."""
    table = torch.export.default_decompositions()
    for overload in list(table.keys()):
        if _is_kept(_short(overload)):
            del table[overload]
    return table


def _short(target: Any) -> str:
    """aten.add.Tensor as "add.Tensor"; other namespaces keep their name."""
    return str(target).removeprefix("aten.")


class _Walker:
    """Walks the nodes of an fx graph once."""

    def __init__(
        self, module: torch.fx.GraphModule, graph: Graph, problems: list[PilotlightError], sizes: symbols.Symbols,
        around: Place | None = None,
    ):
        self.module = module
        self.symbols = sizes
        self.around = around  # the place of the control node that owns this graph
        self.graph = graph
        self.problems = problems
        self.values: dict[torch.fx.Node, Any] = {}
        self.builder = Builder(graph)
        self.builder.subgraph = self._subgraph

    def walk(self) -> None:
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self.builder.place = self.around or place_of(node)
                try:
                    self.values[node] = self._call(node)
                except PilotlightError as problem:
                    problem.where = problem.where or str(self.builder.place)
                    self.problems.append(problem)
            elif node.op == "get_attr":
                self._attribute(node)

    def _constant(self, tensor: torch.Tensor, target: str) -> Value | Complex | torch.Tensor | None:
        if widths.is_wide(tensor):
            return tensor.detach()
        try:
            return complexes.constant(self.builder, tensor.detach(), hint=re.sub(r"\W", "_", target))
        except PilotlightError as problem:
            problem.where = target
            self.problems.append(problem)
            return None

    def _attribute(self, node: torch.fx.Node) -> None:
        item = getattr(self.module, str(node.target), None)
        self.values[node] = self._constant(item, str(node.target)) if isinstance(item, torch.Tensor) else item

    def _subgraph(self, module: torch.fx.GraphModule, operands: Sequence[Any], name: str, carried: int = 0) -> Graph:
        """What a control node runs. Its inputs are the first `carried` operands and those that are not constants."""
        inner = _Walker(module, Graph(name), self.problems, self.symbols, self.builder.place)
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        for k, (node, operand) in enumerate(zip(placeholders, operands, strict=True)):
            if not isinstance(operand, Value):
                inner.values[node] = operand
            elif operand.data is not None and k >= carried:
                inner.values[node] = inner.graph.constant(operand.data, operand.name)
            else:
                shape = static_shape(node.meta["val"], f"input {node.name} of {name}")
                value = inner.graph.fresh(node.name, operand.dtype, shape)
                inner.graph.inputs.append(Port(node.name, value, shape))
                inner.values[node] = value
        before = len(self.problems)
        inner.walk()
        if len(self.problems) > before:
            raise self.problems.pop()  # back to the caller, whose node has no result now
        (output,) = [n for n in module.graph.nodes if n.op == "output"]
        results = output.args[0] if isinstance(output.args[0], list | tuple) else [output.args[0]]
        for k, node in enumerate(results):
            result = inner.values.get(node) if isinstance(node, torch.fx.Node) else node
            if isinstance(result, Complex):
                raise self.builder.refuse(f"result {k} of {name} is a complex tensor",
                                          "return torch.view_as_real of it, and torch.view_as_complex outside")
            if not isinstance(result, Value):
                raise self.builder.refuse(f"result {k} of {name} is {result!r}, not a tensor", "return tensors only")
            inner.graph.outputs.append(Port(str(k), result, result.shape))
        return inner.graph

    def _call(self, node: torch.fx.Node) -> Any:
        if node.target is operator.getitem:
            source, index = node.args
            results = self.values.get(source)  # type: ignore[arg-type]
            return results[index] if isinstance(results, list | tuple) else results  # type: ignore[index]
        if str(node.target).startswith(("aten._assert", "aten.sym_constrain")):
            return None
        value = node.meta.get("val")
        if isinstance(value, symbols.SYMBOLIC) and str(node.target) != "aten._local_scalar_dense.default":
            return value  # a number that depends on the data: see self.symbols
        lowering = ops.lowering(_short(node.target))
        if lowering is None and rule(_short(node.target)) is None:
            if self._is_check(node):
                return None
            raise PilotlightError(
                f"operator {written_name(node)} is not supported",
                hint="replace it with supported operators, or add one: docs/adding-an-operator.md"
                if str(node.target).startswith("aten.") else "add a kernel for it: docs/adding-a-kernel.md",
                kind="unsupported",
            )
        arguments = self._bind(node)
        if arguments is None:
            return None  # an argument is missing because its own operator was refused
        tensors = _tensors(node.meta.get("val"))
        doubles = any(widths.is_float64(a) for a in pytree.tree_leaves(arguments))
        if doubles or any(map(widths.is_wide, tensors)):
            result = widths.evaluated(self.builder, node, self.values)
            if result is not None:
                return result
            arguments = pytree.tree_map(self._single, arguments)
        self.symbols.bound(node, arguments)
        self.builder.expect(
            complexes.expected(t, self.symbols.shape(t, str(node.target)), f"the result of {written_name(node)}")
            for t in tensors
        )
        if tensors and not any(math.prod(shape) for _, shape in self.builder.results):
            shapes = [self.symbols.shape(t, str(node.target)) for t in tensors]
            empty = [complexes.constant(self.builder, torch.empty(s, dtype=t.dtype))
                     for s, t in zip(shapes, tensors, strict=True)]
            return empty if isinstance(node.meta["val"], list | tuple) else empty[0]
        self.builder.dense = partial(_dense, node)
        if complexes.is_involved(arguments, tensors):
            result = complexes.lowering_of(node, self.symbols, arguments)(self.builder, **arguments)
        else:
            assert lowering is not None
            moves = ops.moves_data(_short(node.target)) or isinstance(node.target, torch._ops.HigherOrderOperator)
            if rows.varies(node):
                lowering = rows.around(self.symbols, node, lowering)
            result = widths.lower(self.builder, lowering, moves, arguments)
        if self.builder.count is not None:
            self.symbols.define(next(n for n in tensors[0].shape if type(n) is not int), self.builder.count)
        elif isinstance(value, symbols.SYMBOLIC):
            self.symbols.define(value, result)
            return value
        self._check(node, result, tensors)
        return result

    def _is_check(self, node: torch.fx.Node) -> bool:
        """Whether a node only has an effect, of something that was refused: such as the check of `torch.linalg.inv`."""
        calls = [n for n in node.all_input_nodes if n.op == "call_function"]
        return str(node.target) == "with_effects" and any(self.values.get(n) is None for n in calls)

    def _single(self, item: Any) -> Any:
        if not widths.is_float64(item):
            return item
        return complexes.constant(self.builder, item.to(torch.complex64 if item.is_complex() else torch.float32))

    def _bind(self, node: torch.fx.Node) -> dict[str, Any] | None:
        """Arguments by the names of the operator's schema, defaults filled in, tensors as values."""
        missing = False
        bound: dict[str, Any]

        def convert(item: Any, kind: str = "") -> Any:
            nonlocal missing
            if isinstance(item, torch.fx.Node):
                value = self.values.get(item)
                missing |= value is None
                if isinstance(value, symbols.SYMBOLIC):
                    as_tensor = rows.is_value(node, kind)
                    number = self.symbols.value if as_tensor else None
                    return number(self.builder, value) if number else self.symbols.maximum(value, str(node))
                return value
            if isinstance(item, list | tuple):
                return [convert(i, kind) for i in item]
            return item

        if isinstance(node.target, torch._ops.HigherOrderOperator):
            names = [n for n in inspect.signature(type(node.target).__call__).parameters if n != "self"]
            bound = dict(zip(names, map(convert, node.args), strict=False))
            bound |= {name: convert(item) for name, item in node.kwargs.items()}
            return None if missing else bound
        schema = node.target._schema  # type: ignore[union-attr]
        bound = {}
        for position, argument in enumerate(schema.arguments):
            if position < len(node.args) and not argument.kwarg_only:
                bound[argument.name] = convert(node.args[position], str(argument.type))
            elif argument.name in node.kwargs:
                bound[argument.name] = convert(node.kwargs[argument.name], str(argument.type))
            elif argument.has_default_value():
                bound[argument.name] = argument.default_value
        bound = {("input" if k == "self" and "self" not in bound else k): v for k, v in bound.items()}
        return None if missing else bound

    def _check(self, node: torch.fx.Node, result: Any, tensors: Sequence[torch.Tensor]) -> None:
        """A lowering must give what PyTorch says the operator gives."""
        values = list(result) if isinstance(result, list | tuple) else [result]
        for given, tensor, expected in zip(values, tensors, self.builder.results, strict=False):
            if given is None:
                continue
            value, want = complexes.value_of(given), (tensor.is_complex(), *expected)
            if (got := (isinstance(given, Complex), value.dtype, value.shape)) != want:
                raise PilotlightError(
                    f"operator {written_name(node)} with these arguments is not supported "
                    f"(it gives {complexes.told(*want)}, the lowering gives {complexes.told(*got)})",
                    kind="unsupported",
                )


class _Importer(_Walker):
    """An exported program's own inputs and outputs around the walk."""

    def __init__(self, program: ExportedProgram, original: ExportedProgram, name: str, changed: Collection[str] = ()):
        self.changed = changed
        sizes = symbols.Symbols(program.range_constraints)
        graph = Graph(name, exported=original)
        super().__init__(program.graph_module, graph, [], sizes)
        self.lengths: list[tuple[Port, int, Any]] = []  # of inputs: the port, the dimension, its size
        self.program = program

    def run(self) -> Graph:
        self._inputs()
        self.walk()
        if self.problems:
            raise UnsupportedError(self.problems)
        self._outputs()
        if any(node.op == "quantize" for node in self.graph.nodes):
            self.graph.quantization = Quantization("pt2e", self.graph.exported)  # the user's own
        self.graph.macs = sum(ops.get(n.op).macs(n) for n in self.graph.nodes)
        verify(self.graph)
        self.graph.sha256 = digest(self.graph)
        return self.graph

    def _inputs(self) -> None:
        signature = self.program.graph_signature
        written = set(signature.buffers_to_mutate.values())
        placeholders = {n.name: n for n in self.program.graph.nodes if n.op == "placeholder"}
        for spec in signature.input_specs:
            node = placeholders[spec.arg.name]
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                assert spec.target is not None
                tensor = self._tensor(spec.target)
                if spec.target in written or (spec.target in self.changed and node.users):
                    self.values[node] = self._state(spec.target, tensor)
                elif node.users:
                    self.values[node] = self._constant(tensor, spec.target)
            elif spec.kind == InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument):
                self.values[node] = self._input(node)
            else:
                self.values[node] = getattr(spec.arg, "value", None)
        self._sizes()

    def _input(self, node: torch.fx.Node) -> Value | Complex | None:
        tensor = node.meta["val"]
        try:
            if tensor.layout != torch.strided:
                raise PilotlightError(f"input {node.name} is a {tensor.layout} tensor; expected a dense one",
                                      hint="give x.to_dense()", kind="unsupported")
            shape = self.symbols.shape(tensor, f"input {node.name}")
            dtype, whole = complexes.expected(tensor, shape, f"input {node.name}")
            self._check_lengths(tensor, f"input {node.name}")
            check_size(dtype, whole, f"input {node.name}")
        except PilotlightError as problem:
            self.problems.append(problem)
            return None
        value = self.graph.fresh(node.name, dtype, whole)
        self.graph.inputs.append(Port(node.name, value, shape, is_complex=tensor.is_complex()))
        self.lengths += [(self.graph.inputs[-1], at, n) for at, n in enumerate(tensor.shape) if type(n) is not int]
        return Complex(value) if tensor.is_complex() else value

    def _check_lengths(self, tensor: torch.Tensor, what: str) -> None:
        """A dimension that is given at run time is one symbol of its own, and at least 1."""
        for at, size in enumerate(tensor.shape):
            if type(size) is int:
                continue
            if not symbols.expression_of(size).is_Symbol:
                raise PilotlightError(
                    f"dimension {at} of {what} is {size}, computed from another dimension that is given at run time",
                    hint="give each dimension a torch.export.Dim of its own", kind="dynamic-shape",
                )
            if self.symbols.least(size) < 1:
                raise PilotlightError(
                    f"dimension {at} of {what} may be 0; expected at least 1",
                    hint='write torch.export.Dim("T", min=1, max=...)', kind="dynamic-shape",
                )

    def _sizes(self) -> None:
        """The lengths that are given at run time: an input each, after the others."""
        known: dict[Any, int] = {}
        for port, at, size in self.lengths:
            symbol = symbols.expression_of(size)
            if symbol not in known:
                known[symbol] = len(self.graph.inputs)
                name = f"{port.name}_size_{at}"
                value = self.graph.fresh(name, INT64, ())
                limits = self.symbols.least(size), self.symbols.maximum(size, name)
                self.graph.inputs.append(Port(name, value, (), is_size=True, limits=limits))
                self.symbols.define(size, value)
            port.sizes += ((at, known[symbol]),)

    def _tensor(self, target: str) -> torch.Tensor:
        if target in self.program.state_dict:
            return self.program.state_dict[target]
        return self.program.constants[target]

    def _state(self, target: str, tensor: torch.Tensor) -> Value | Complex:
        dtype, shape = complexes.expected(tensor, tuple(tensor.shape), f"buffer {target}")
        value = self.graph.fresh(re.sub(r"\W", "_", target), dtype, shape)
        initial = to_numpy(complexes.pairs(tensor)).copy()
        self.graph.states.append(State(target, value, value, initial))
        return Complex(value) if tensor.is_complex() else value

    def _outputs(self) -> None:
        by_target = {s.name: s for s in self.graph.states}
        (output,) = [n for n in self.program.graph.nodes if n.op == "output"]
        specs = self.program.graph_signature.output_specs
        results: list[Any] = list(output.args[0])
        names = output_names(self.program, sum(spec.kind == OutputKind.USER_OUTPUT for spec in specs))
        count = 0
        varying: list[tuple[int, int, Any]] = []  # output, axis, size
        for spec, node in zip(specs, results, strict=True):
            value: Any = self.values.get(node) if isinstance(node, torch.fx.Node) else node
            if widths.is_float64(value):
                complexes.expected(value, (), f"output {names[count] if count < len(names) else count}")
            if spec.kind == OutputKind.BUFFER_MUTATION:
                assert spec.target is not None
                by_target[spec.target].next = complexes.value_of(value)
            elif spec.kind == OutputKind.USER_OUTPUT:
                if isinstance(value, Value | Complex):
                    sizes = enumerate(node.meta["val"].shape)
                    number = len(self.graph.outputs)
                    varying += [(number, axis, size) for axis, size in sizes if type(size) is not int]
                    self.graph.outputs.append(Port(
                        names[count], complexes.value_of(value), value.shape, is_complex=isinstance(value, Complex)
                    ))
                elif isinstance(node, torch.fx.Node):
                    raise PilotlightError(
                        f"output {names[count]} is {value!r}, not a tensor",
                        hint="return tensors, and numbers that are the same every time",
                        kind="unsupported",
                    )
                else:
                    self.graph.fixed.append((count, value))
                count += 1
            elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                raise PilotlightError(
                    f"the model changes its input {spec.target} in place",
                    hint="make the tensor a registered buffer, or clone it first",
                    kind="unsupported",
                )
        for number, axis, size in varying:
            port = self.graph.outputs[number]
            port.sizes += ((axis, len(self.graph.outputs)),)
            total = self.builder.cast(self.symbols.value(self.builder, size), INT64)
            self.graph.outputs.append(Port(f"{port.name}_size_{axis}", total, (), is_size=True))


def _dense(node: torch.fx.Node) -> bool:
    given = [t for n in node.all_input_nodes for t in _tensors(n.meta.get("val"))]
    return all(t.is_contiguous() and t.storage_offset() == 0 for t in given)


def _tensors(val: Any) -> list[torch.Tensor]:
    items = val if isinstance(val, list | tuple) else [val]
    return [v for v in items if isinstance(v, torch.Tensor)]



def static_shape(tensor: torch.Tensor, what: str) -> tuple[int, ...]:
    """A shape of plain integers; dimensions that change at run time are refused."""
    for number, size in enumerate(tensor.shape):
        if type(size) is not int:
            raise PilotlightError(
                f"{what} has a dimension that is only known at run time (dimension {number}: {size})",
                hint="export with fixed shapes: every byte is planned before the model runs",
                kind="dynamic-shape",
            )
    return tuple(tensor.shape)


def place_of(node: torch.fx.Node) -> Place:
    """The module path and the user's source line of an exported node."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values()]
    module = re.sub(r"^L\['self'\]\.?|^L__self___?", "", paths[-1]) if paths else ""
    source = ""
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or ""):
        if not file.startswith((TORCH_FOLDER, "<")):
            source = shown(file, line)
    return Place(module, source)
