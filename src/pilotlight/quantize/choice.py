"""Which layers a user or a search chooses: module paths, inputs, or single operators."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.fx import GraphModule, Node

from pilotlight.capture.exported import place_of
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Place, Quantization

Predicate = Callable[[Node], bool]


@dataclass(frozen=True)
class NamedLayer:
    """A result that is quantized, or an input: the noise it adds, as a share of the outputs' power."""

    node: str  # in the exported program
    op: str
    place: Place
    noise: float


@dataclass
class AutoQuantization(Quantization):
    """What the search chose, and what it measured."""

    wide: list[NamedLayer] = field(default_factory=list)
    kept_float: list[NamedLayer] = field(default_factory=list)
    rule: str = ""
    max_loss: float = 0.0
    loss: float = 0.0
    int8_loss: float = 0.0
    int8: Graph | None = None  # for what the choice costs

    def as_dict(self) -> dict[str, Any]:
        rows = [("int16x8", layer) for layer in self.wide] + [("float", layer) for layer in self.kept_float]
        wider = [
            {"as": kind, "op": layer.op, "module": layer.place.module, "source": layer.place.source}
            for kind, layer in rows
        ]
        return {
            "rule": self.rule, "max_loss": self.max_loss, "loss": self.loss, "int8_loss": self.int8_loss, "wider": wider
        }


def named(module: GraphModule, names: Sequence[str]) -> set[str]:
    """The operators of the modules with these paths, and the inputs with these names."""
    chosen: set[str] = set()
    for name in names:
        found = {n.name for n in module.graph.nodes if is_in(n, name)}
        if not found:
            known = sorted({layer_of(n) for n in module.graph.nodes} - {""})
            near = difflib.get_close_matches(name, known, n=1)
            raise PilotlightError(
                f"the model has no layer or input {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                hint=f"known: {', '.join(known[:20])}{' …' if len(known) > 20 else ''}", kind="usage",
            )
        chosen |= found
    return chosen


def is_in(node: Node, name: str) -> bool:
    """Whether a node belongs to a module, or is the input of that name."""
    layer = layer_of(node)
    return layer == name or layer.startswith(f"{name}.")


def layer_of(node: Node) -> str:
    """The module path of an operator, the name of an input."""
    if node.op == "placeholder":
        return str(node.target)
    return place_of(node).module if node.op == "call_function" else ""


def among(names: Iterable[str]) -> Predicate:
    """Nodes with these names."""
    kept = frozenset(names)
    return lambda node: node.name in kept


def every(node: Node) -> bool:
    return True
