"""Whether the TOSA of a part gives the integers of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Value
from pilotlight.graph.evaluate import trace
from pilotlight.npu import reference
from pilotlight.npu.operators import written
from pilotlight.npu.vela import CONFIGURATIONS, family


def check_parts(graph: Graph) -> dict[str, int]:
    """Check every part of a model that an Ethos-U computes: by the function that it calls, how many bytes were
    compared."""
    return {
        node.attrs["extern"].function: check_part(node.attrs["part"], family(node.attrs["backend"]))
        for node in graph.nodes if node.attrs.get("backend") in CONFIGURATIONS
    }


def check_part(part: Graph, family: str, rows: Sequence[Sequence[np.ndarray]] | None = None) -> int:
    """Run a part that was handed over, and its TOSA on Arm's reference model, with rows of inputs or two random ones.
    Compares every tensor that a node gives; returns how many bytes that were, and raises an error at the first that
    differs."""
    inputs, results = [port.value for port in part.inputs], [node.output for node in part.nodes]
    tosa, compared = written(part.nodes, inputs, results, family), 0
    for row in rows or _random(inputs, 2):
        ours, _ = trace(part, [torch.from_numpy(x) for x in row])
        for value, theirs in zip(results, reference.run(tosa, row), strict=True):
            if not np.array_equal(ours[value].numpy(), theirs.reshape(value.shape)):
                raise PilotlightError(
                    f"the TOSA of {part.name} gives other integers for {value.name} than the model",
                    hint="report this, with the model", kind="internal",
                )
            compared += value.bytes
    return compared


def _random(values: Sequence[Value], count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [[rng.integers(-128, 128, value.shape).astype(np.int8) for value in values] for _ in range(count)]
