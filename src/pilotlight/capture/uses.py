"""The operators of a model file, before it is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OperatorUse:
    """An operator of a file: its nodes, and why it is not supported, if so."""

    operator: str
    nodes: tuple[str, ...]
    problem: str | None

    def as_dict(self) -> dict[str, object]:
        return {"operator": self.operator, "nodes": len(self.nodes), "supported": self.problem is None,
                "problem": self.problem}
