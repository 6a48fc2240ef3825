"""The figures of a build: they are read from what was built and measured, nothing is compiled for them."""

from __future__ import annotations

from typing import Any

from pilotlight import ops
from pilotlight.compiler import Build
from pilotlight.figures.made import versions
from pilotlight.figures.streaming import stream_figures
from pilotlight.graph import INT8, INT16
from pilotlight.measure.profile import Profile
from pilotlight.quantize.choice import AutoQuantization
from pilotlight.toolchain import BuildInfo

_WIDTHS = {INT8: "int8", INT16: "int16x8"}  # by what a layer reads


def figures(
    build: Build, info: BuildInfo, counted: Profile | None = None, for_speed: int | None = None
) -> dict[str, Any]:
    """Bytes and multiply-accumulates of a build; what was counted, if it ran; instructions when compiled for speed."""
    plan, meta, sizes = build.plan, build.module.metadata, info.sizes
    bounds = {"arena_lower_bound": plan.arena.lower_bound, "arena_no_overlap": plan.arena.no_overlap}
    ram = {**info.ram, **bounds, "total": sum(size or 0 for size in info.ram.values())}
    stored = sum(size or 0 for size in info.flash.values()) + (sizes.harness or 0)
    flash = {**info.flash, "harness": sizes.harness, "total": None if sizes.code is None else stored}
    return {
        "macs": meta["macs"], "macs_executed": meta["macs_executed"],
        "instructions": counted.instructions if counted else None,
        "cycles_estimate": counted.cycles if counted else None,
        "timing": counted.timing.as_dict() if counted and counted.timing else None,
        "flash": flash, "ram": ram, "placement": vars(info.place) if info.place else None,
        "quantization": widths(build),
        "saving": _saving(build, counted, for_speed),
        **({"backends": [p.as_dict() for p in build.lowered.partitions]} if build.lowered.partitions else {}),
        "unknown": [text for text in (sizes.reason, info.stack_reason) if text],
        "made": {"versions": versions(info)},
        **({"stream": stream_figures(build.graph.streaming)} if build.graph.streaming else {}),
        **({"notes": build.graph.notes} if build.graph.notes else {}),
    }


def _saving(build: Build, counted: Profile | None, for_speed: int | None) -> dict[str, Any] | None:
    """What optimizing for RAM saved, and what that costs."""
    if build.saving is None:
        return None
    instructions = {"instructions_before": for_speed, "instructions": counted.instructions} if counted else {}
    return build.saving.as_dict() | instructions


def widths(build: Build) -> dict[str, Any] | None:
    """The contract and MACs by width; for a search also what it chose, and how many more bytes than int8 that takes."""
    quantization = build.lowered.quantization
    if quantization is None:
        return None
    macs = {"int8": 0, "int16x8": 0, "float": 0}
    for node in build.lowered.nodes:
        for inner, count in ops.get(node.op).work(node):
            macs[_WIDTHS.get(inner.inputs[0].dtype, "float") if inner.inputs else "float"] += count
    figures: dict[str, Any] = {"mode": quantization.mode, "numerics": build.lowered.numerics, "macs": macs}
    if not isinstance(quantization, AutoQuantization):
        return figures
    return figures | quantization.as_dict() | {"cost": _cost(build)}


def _cost(build: Build) -> dict[str, int]:
    """Bytes more than the same model in int8 takes."""
    meta, int8 = build.module.metadata, build.int8
    return {kind: meta[f"{kind}_bytes"] - int8[f"{kind}_bytes"] if int8 else 0 for kind in ("arena", "weights")}
