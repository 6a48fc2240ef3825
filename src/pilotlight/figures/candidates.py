"""Which kernels could compute each layer of a build, and why one was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotlight import ops
from pilotlight.compiler import Build
from pilotlight.graph import Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.ops.describe import describe_node
from pilotlight.selection import Choice

ONE_WAY = "the operator has one way only"


def candidates(build: Build) -> list[dict[str, Any]]:
    """The layers of a build that multiply, in the order in which they run, each with its candidates."""
    rows: list[dict[str, Any]] = []
    for step, node in enumerate(build.plan.steps):
        for layer in _layers(node):
            row = {"step": step, **_layer(layer)}
            if row not in rows:  # patches of several kinds have the same layers
                rows.append(row)
    return rows


def _layers(node: Node) -> Iterator[Node]:
    """A node, or the nodes that run inside it; only those that multiply."""
    op = ops.get(node.op)
    inside = op.inside(node).values()
    for inner in inside:
        for step in inner.graph.nodes:
            yield from _layers(step)
    if not inside and (op.macs(node) or "choice" in node.attrs):
        yield node


def _layer(node: Node) -> dict[str, Any]:
    what = {"what": describe_node(node, place=False), "module": node.place.module, "source": node.place.source}
    choice: Choice | None = node.attrs.get("choice")
    if choice is not None:
        return what | {"candidates": [_candidate(candidate, choice) for candidate in choice.offered]}
    flash = sum(v.bytes for v in node.inputs if v.is_constant)
    only = {"name": node.op, "instructions": None, "flash": flash, "scratch": ops.get(node.op).scratch(node)}
    return what | {"candidates": [only | {"chosen": True, "why": ONE_WAY}]}


def _candidate(candidate: Candidate, choice: Choice) -> dict[str, Any]:
    chosen = candidate is choice.candidate
    return {
        "name": candidate.name, "instructions": candidate.instructions, "flash": candidate.flash,
        "scratch": candidate.scratch, "chosen": chosen,
        "why": choice.reason if chosen else _worse(candidate, choice.candidate),
    }


def _worse(candidate: Candidate, chosen: Candidate) -> str:
    """In what a candidate is worse than the one that was chosen."""
    worse = [
        name for name, more in (
            ("instructions", (candidate.instructions or 0) > (chosen.instructions or 0)),
            ("flash", candidate.flash > chosen.flash), ("scratch", candidate.scratch > chosen.scratch),
        ) if more
    ]
    return f"more {' and '.join(worse)}" if worse else "no gain"
