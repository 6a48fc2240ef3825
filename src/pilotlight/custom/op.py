"""The operator that kernels of users compute: a node like any other, whose kernels are its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step, c_float
from pilotlight.codegen.target import Target
from pilotlight.custom.kernel import Bound, Kernel
from pilotlight.custom.signature import bad, evaluate
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT8, Graph, Node, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels.candidate import Candidate
from pilotlight.ops.base import Op, Result
from pilotlight.ops.forms import Integer, all_int8
from pilotlight.ops.spec import NodeSpec, quant_of

PARAMETERS = "parameters"  # attribute: the operator's arguments that are no tensors, by name
QUANTS = "quants"  # attribute of an int8 node: of its inputs, then of its outputs


@dataclass(frozen=True, eq=False, repr=False)
class KernelCandidate(Candidate):
    """A user's kernel among the candidates of a node."""

    kernel: Kernel | None = None


class UserOp(Op):
    """One operator of a user, or what one pattern stands for, with the kernels that compute it."""

    def __init__(self, title: str, schema: Any = None):
        self.title = title  # as the user wrote it: dsp::goertzel
        self.called = title.rpartition("::")[2]
        self.schema = schema  # of torch.library; None: of a pattern, which has tensors only
        self.kernels: dict[str, Kernel] = {}

    @property
    def types(self) -> dict[str, type]:
        """The parameters and their types, in the order of C."""
        kinds = {"float": float, "int": int, "bool": bool, "SymInt": int}
        arguments = self.schema.arguments if self.schema else ()
        found = {a.name: kinds.get(str(a.type)) for a in arguments if str(a.type) != "Tensor"}
        for name, kind in found.items():
            if kind is None:
                (argument,) = [a for a in arguments if a.name == name]
                raise bad(f"the argument {name} of {self.title} is a {argument.type}",
                          "arguments of a kernel's operator are tensors, float, int and bool")
        return {name: kind for name, kind in found.items() if kind is not None}

    # ---- what the graph asks -------------------------------------------------------------------------------------

    def infer(self, node: Node) -> Result:
        kernel, bound = self.first(node)
        return list(zip((t.dtype for t in kernel.outputs), kernel.results(bound), strict=True))

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        kernel, bound = self.first(node)
        return self.compute(kernel, bound, args, node.attrs[PARAMETERS], node.attrs.get(QUANTS))

    def compute(
        self, kernel: Kernel, bound: Bound, args: list[torch.Tensor], parameters: Mapping[str, Any],
        quants: tuple[Quant, ...] | None,
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """What the reference gives, held to the types and shapes that the kernel declares."""
        given: Any
        with torch.no_grad():
            if kernel.reference is not None:
                more = {"quants": quants} if quants else {}
                given = kernel.reference(*(a.clone() for a in args), **parameters, **more)
            else:
                tensors = [a.name for a in self.schema.arguments if str(a.type) == "Tensor"]
                namespace, _, name = self.title.partition("::")
                function = getattr(getattr(torch.ops, namespace), name).default
                given = function(**dict(zip(tensors, (a.clone() for a in args), strict=True)), **parameters)
        results = [torch.as_tensor(np.ascontiguousarray(r) if isinstance(r, np.ndarray) else r).contiguous()
                   for r in (given if isinstance(given, tuple | list) else [given])]
        wanted = list(zip((t.dtype.torch for t in kernel.outputs), kernel.results(bound), strict=True))
        found = [(r.dtype, tuple(r.shape)) for r in results]
        if found != wanted:
            told = f"its reference gives {_shown(found)}; gives says {_shown(wanted)}"
            raise bad(told, where=f"kernel {kernel.name}")
        return results[0] if len(results) == 1 else tuple(results)

    # ---- what planning and C ask ---------------------------------------------------------------------------------

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        found: list[Candidate] = [
            KernelCandidate(
                name=kernel.name, headers=(), driver=kernel.function, ctype="", table=lambda reverse: {},
                pack=tuple, scratch=kernel.scratch_bytes(bound.dims), files=kernel.all_files, code=kernel.flash,
                instructions=None if kernel.cost is None else evaluate(kernel.cost, bound.dims), kernel=kernel,
            )
            for kernel, bound in self.matching(node) if kernel.needs <= target.isa
        ]
        if not found:
            needs = "; ".join(f"{k.name} needs {', '.join(sorted(k.needs))}" for k, _ in self.matching(node))
            raise PilotlightError(
                f"no kernel of {self.title} runs on this core: {needs}", where=str(node.place),
                hint="add one for every core, or choose another board", kind="unsupported",
            )
        return found

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        node.attrs["candidate"] = candidate

    def scratch(self, node: Node) -> int:
        kernel, bound = chosen(node)
        return kernel.scratch_bytes(bound.dims)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        kernel, bound = chosen(node)
        return kernel.distances(bound.dims)

    def emit(self, node: Node, c: Step) -> None:
        kernel, bound = chosen(node)
        c.bring(kernel.all_files, stack_of(kernel))
        pointers = [c.read(v) for v in node.inputs] + [c.write(v) for v in node.outputs]
        scratch = [c.scratch("void")] if kernel.has_scratch else []
        c.call(kernel.function, *pointers, *scratch, *numbers(bound, node.attrs[PARAMETERS], node.attrs.get(QUANTS)))

    # ---- kernels -------------------------------------------------------------------------------------------------

    def matching(self, node: Node) -> list[tuple[Kernel, Bound]]:
        """The kernels that take a node's tensors, with its sizes."""
        return [(kernel, bound) for kernel in self.kernels.values() if (bound := bound_to(kernel, node)) is not None]

    def first(self, node: Node) -> tuple[Kernel, Bound]:
        found = self.matching(node)
        if not found:
            raise self.refusal(node.inputs, node.attrs[PARAMETERS])
        return found[0]

    def refusal(self, values: list[Value], parameters: Mapping[str, Any]) -> PilotlightError:
        given = ", ".join(f"{v.dtype}{list(v.shape)}" for v in values)
        more = f" with {', '.join(f'{k}={v}' for k, v in parameters.items())}" if parameters else ""
        kernels = self.kernels.values()
        known = "; ".join(f"{k.name} takes {', '.join(map(str, k.inputs))}{_conditions(k)}" for k in kernels)
        return PilotlightError(
            f"no kernel of {self.title} takes {given}{more}{f' ({known})' if known else ''}",
            hint="add a kernel for these shapes: docs/adding-a-kernel.md", kind="unsupported",
        )

    def lower(self, b: Builder, **arguments: Any) -> Value | list[Value]:
        """The lowering from torch.library."""
        values = [v for v in arguments.values() if isinstance(v, Value)]
        parameters = {k: v for k, v in arguments.items() if not isinstance(v, Value)}
        kinds = self.types
        parameters = {name: kinds[name](value) for name, value in parameters.items()}
        for name, value in parameters.items():
            if isinstance(value, int) and not -(2**31) <= value < 2**31:
                raise b.refuse(f"{name} of {self.title} is {value}, which 32 bits do not hold")
        node = Node(self.title, values, [], {PARAMETERS: parameters})
        if not self.matching(node):
            raise self.refusal(values, parameters)
        results = b.nodes(graph_name(self.title), values, self.called, **{PARAMETERS: parameters})
        return results[0] if len(results) == 1 else results

    def integer_form(self, q: Integer) -> list[Node] | None:
        """The int8 node, where a kernel takes it."""
        if not all_int8(q) or any(v.is_constant and v.dtype != INT8 for v in q.inputs):
            return None
        spec = NodeSpec(graph_name(self.title), {
            PARAMETERS: q.node.attrs[PARAMETERS], QUANTS: (*map(quant_of, q.inputs), q.quant),
        })
        probe = spec.node(q.graph, q.inputs, [], q.node.place)
        return [q.build(spec, *q.inputs)] if self.matching(probe) else None


def graph_name(title: str) -> str:
    """The name of an operator's nodes."""
    return title.replace("::", ".")


def bound_to(kernel: Kernel, node: Node) -> Bound | None:
    if kernel.quantized != (QUANTS in node.attrs):
        return None
    return kernel.bind(node.inputs, node.attrs[PARAMETERS])


def chosen(node: Node) -> tuple[Kernel, Bound]:
    """The kernel of a prepared node, with its sizes."""
    candidate = node.attrs["candidate"]
    assert isinstance(candidate, KernelCandidate) and candidate.kernel is not None
    bound = bound_to(candidate.kernel, node)
    assert bound is not None
    return candidate.kernel, bound


def numbers(bound: Bound, parameters: Mapping[str, Any], quants: tuple[Quant, ...] | None) -> list[str]:
    """The arguments of a call that are no pointers, in C."""
    scalars = [c_float(v) if isinstance(v, float) else str(int(v)) for v in parameters.values()]
    scales = [text for q in quants or () for text in (c_float(q.scale), str(q.zero_point))]
    return [*map(str, bound.dims.values()), *scalars, *scales]


def stack_of(kernel: Kernel) -> dict[str, int]:
    return {} if kernel.stack is None else {kernel.function: kernel.stack}


def _shown(tensors: list[tuple[torch.dtype, tuple[int, ...]]]) -> str:
    return ", ".join(f"{str(dtype).removeprefix('torch.')}{list(shape)}" for dtype, shape in tensors)


def _conditions(kernel: Kernel) -> str:
    limits = [f"{name} in {list(sizes)[:8]}" for name, sizes in kernel.sizes.items()]
    return " where " + ", ".join([*limits, *(["its condition holds"] if kernel.when else [])]) \
        if limits or kernel.when else ""
