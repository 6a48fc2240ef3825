"""What of a quantized model is wider than int8, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pilotlight import ops
from pilotlight.compiler import Build, compile
from pilotlight.graph import INT8, INT16, Graph
from pilotlight.quantize.choice import AutoQuantization

_WIDTHS = {INT8: "int8", INT16: "int16x8"}  # by what a layer reads


def widths(build: Build) -> dict[str, Any] | None:
    """MACs by width; of a search also what it chose, and how many bytes more than int8 that takes."""
    quantization = build.lowered.quantization
    if quantization is None:
        return None
    macs = {"int8": 0, "int16x8": 0, "float": 0}
    for node in build.lowered.nodes:
        for inner, count in ops.get(node.op).work(node):
            macs[_WIDTHS.get(inner.inputs[0].dtype, "float") if inner.inputs else "float"] += count
    figures: dict[str, Any] = {"mode": quantization.mode, "macs": macs}
    if not isinstance(quantization, AutoQuantization):
        return figures
    return figures | quantization.as_dict() | {"cost": _cost(build, quantization.int8)}


def _cost(build: Build, int8: Graph | None) -> dict[str, int]:
    """Bytes beyond those of the same model in int8."""
    sizes = {"arena": build.module.metadata["arena_bytes"], "weights": build.module.metadata["weights_bytes"]}
    if int8 is None:
        return dict.fromkeys(sizes, 0)
    options = replace(build.options, max_ram=None, max_flash=None)
    base = compile(int8, board=build.board, name=build.name, options=options).module.metadata
    return {kind: size - base[f"{kind}_bytes"] for kind, size in sizes.items()}
