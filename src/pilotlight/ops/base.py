"""What an operator is, and the registries: operators by name (`graph/operators.py`), lowerings by ATen name.

An operator family is one file in this folder. It holds
- one `Op` subclass per operator, registered with `@register`: shape rule, reference result, C code;
- the lowerings from ATen, registered with `@lowers("conv2d.default", ...)`, and how the quantizer treats these.
Having a lowering keeps an ATen operator whole: capture decomposes only what is not registered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from pilotlight.codegen.step import Step
from pilotlight.codegen.subplan import Subgraph
from pilotlight.codegen.target import Target
from pilotlight.graph import DType, Graph, Node, Value, operators
from pilotlight.graph.operators import Operator, Result
from pilotlight.kernels.candidate import Candidate
from pilotlight.ops import quantizing
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.quantizing import Treatment

Lowering = Callable[..., "Value | tuple[Value | None, ...] | list[Value]"]


class Op(Operator):
    """One operator of the graph: beyond its shape rule and reference result, how it is planned and written in C."""

    name: ClassVar[str] = ""
    called: str = ""  # the name for people, where that is not the graph's; a node's own `called` goes first
    moves: ClassVar[bool] = False  # only moves elements

    def macs(self, node: Node) -> int:
        """Multiply-accumulates of one execution; only convolutions, linear layers and matmuls have them."""
        return 0

    def work(self, node: Node) -> Iterator[tuple[Node, int]]:
        """The nodes that multiply in one execution, with their multiply-accumulates: this one, or those inside it."""
        yield node, self.macs(node)

    def describe(self, node: Node) -> str:
        """What a node does, for people: such as `depthwise conv2d 3x3 stride 2`. A clamp after it is not part of it."""
        return self.group(node)

    def group(self, node: Node) -> str:
        """The same in short, for counting and colours: such as `depthwise conv2d`."""
        return str(node.attrs.get("called") or self.called or node.op)

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        """The kernels that can compute a node; none where there is only one way, which `prepare` takes."""
        return []

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        """Last rewrite before planning, of a node with candidates: use this one, with its packed constants."""
        raise NotImplementedError(f"{type(self).__name__}.take")

    def selects(self, node: Node, dtype: DType) -> bool:
        """Whether the numbers of the result are among those of the inputs, or only their order counts: then the same
        operator works on integers of type `dtype` that share one scale."""
        return self.moves

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        """The same for a node without candidates: pack constant weights."""

    def inside(self, node: Node) -> Mapping[Any, Subgraph]:
        """Graphs that run inside the prepared node. They are prepared and planned like a model of their own: the plan
        of each is then in `node.attrs["plans"]`, under the same key."""
        return {}

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """For (input, output) pairs the largest safe `out_offset - in_offset` in bytes; absent: never overlap.

        It is the least, over the kernel's steps, of the lowest input byte still to be read in or after that
        step minus the end of what has been written up to and including it. 0 means in place.
        """
        return {}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """For pairs in `overlaps` the smallest safe `out_offset - in_offset` when the kernel walks backward, from
        the last element to the first; `Step.reverse` tells which way was planned. Absent: it cannot."""
        return {}

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        """The attributes with which this operator gives `out.permute(perm)` from inputs `x` that PyTorch sees as
        `x.permute(perm)`; None where the operator depends on the order of its dimensions."""
        return None

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """How this operator computes an area of its output, an image; None where it cannot without the rest."""
        return None

    def view_offset(self, node: Node) -> int | None:
        """Where the output lies inside the first input's bytes, when nothing has to be moved or computed."""
        return None

    def scratch(self, node: Node) -> int:
        """Bytes of arena that the kernel needs while it runs."""
        return 0

    def emit(self, node: Node, c: Step) -> None:
        """Write the C of this node."""
        raise NotImplementedError(f"{type(self).__name__}.emit")


_LOWERINGS: dict[str, Lowering] = {}
_MOVES: set[str] = set()

OpClass = TypeVar("OpClass", bound=type[Op])
LoweringFunction = TypeVar("LoweringFunction", bound=Lowering)


def register(cls: OpClass) -> OpClass:
    add_op(cls.name, cls())
    return cls


def add_op(name: str, op: Op) -> None:
    operators.add(name, op)


def lowers(
    *aten: str, quantized: Treatment | None = None
) -> Callable[[LoweringFunction], LoweringFunction]:
    """Register a function `(builder, **schema arguments) -> Value(s)` for ATen overloads such as "add.Tensor", and how
    the quantizer treats these."""
    if quantized is not None:
        quantizing.quantized(quantized, *aten)

    def wrap(function: LoweringFunction) -> LoweringFunction:
        for name in aten:
            if name in _LOWERINGS:
                raise ValueError(f"aten.{name} is lowered twice")
            _LOWERINGS[name] = function
        return function

    return wrap


def moves(
    *aten: str, quantized: Treatment | None = None
) -> Callable[[LoweringFunction], LoweringFunction]:
    """`lowers` for operators that only move elements, whatever these are: 16-bit floats stay as they are stored."""
    _MOVES.update(aten)
    return lowers(*aten, quantized=quantized)


def moves_data(aten: str) -> bool:
    return aten in _MOVES


def get(name: str) -> Op:
    op = operators.get(name)
    assert isinstance(op, Op)
    return op


def lowering(aten: str) -> Lowering | None:
    return _LOWERINGS.get(aten)


def lowered_names() -> list[str]:
    return sorted(_LOWERINGS)


def same(node: Node) -> Result:
    """The shape rule of operators whose output looks like their first input."""
    return [(node.inputs[0].dtype, node.inputs[0].shape)]


def axis(dim: int, rank: int) -> int:
    """A dimension number as PyTorch writes it, made non-negative."""
    return dim % rank if rank else 0


def unused(**_: Any) -> None:
    """Names the arguments of a schema that do not change an inference result."""


def scratch_inside(node: Node) -> int:
    """Scratch memory for the graphs inside a node, of which one runs at a time."""
    return max((plan.size for plan in node.attrs.get("plans", {}).values()), default=0)
