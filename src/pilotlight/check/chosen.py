"""The kernels of users that a plan calls, each checked on the sizes and numbers with which it is called."""

from __future__ import annotations

from collections.abc import Iterator

from pilotlight import ops
from pilotlight.boards import Board
from pilotlight.check.cases import Case
from pilotlight.check.run import check_kernel
from pilotlight.custom.kernel import Kernel
from pilotlight.custom.op import PARAMETERS, QUANTS, UserOp, chosen
from pilotlight.graph import Node
from pilotlight.options import Options
from pilotlight.plan import Plan


def check_chosen(plan: Plan, board: Board, options: Options) -> None:
    """Raise an error for a kernel that does not do what it declares: it is never used."""
    cases: dict[Kernel, list[Case]] = {}
    for node in _nodes(plan.steps):
        kernel, bound = chosen(node)
        case = Case(bound, node.attrs[PARAMETERS], node.attrs.get(QUANTS))
        if case not in cases.setdefault(kernel, []):
            cases[kernel].append(case)
    for kernel, own in cases.items():
        check_kernel(kernel, board, own=own, options=options)


def _nodes(steps: list[Node]) -> Iterator[Node]:
    """The nodes of users' operators, inside others too."""
    for node in steps:
        op = ops.get(node.op)
        if isinstance(op, UserOp):
            yield node
        for inner in op.inside(node).values():
            yield from _nodes(inner.graph.nodes)
