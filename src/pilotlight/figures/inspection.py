"""What is in a model and what it needs, without running it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pilotlight import ops
from pilotlight.compiler import Build
from pilotlight.figures.build import figures
from pilotlight.figures.record import hardware
from pilotlight.graph import Graph
from pilotlight.limits import describe_buffers
from pilotlight.measure.profile import Profile
from pilotlight.ops.describe import describe_kind
from pilotlight.toolchain import BuildInfo


def inspect_build(build: Build, info: BuildInfo, counted: Profile | None = None) -> dict[str, Any]:
    """The object that `inspect --json` prints; with what was counted, if an inference was run."""
    meta, peak = build.module.metadata, build.plan.arena.peak_step
    words = describe_buffers(build.plan)
    return {
        "name": build.name, "board": build.board.name, "target": build.board.cpu, "hardware": hardware(build.board),
        "fits": not any(use.over for use in info.memory),
        "parameters": _parameters(build.graph),
        "captured": _captured(build), "operators": _by_kind(build),
        **figures(build, info, counted),
        "memory": [{**vars(use), "free": use.size - use.used} for use in info.memory],
        "peak": {"step": peak, "tensors": [{"name": b.name, "bytes": b.size, "what": words[b.name]}
                                           for b in build.plan.peak()]},
        "inputs": meta["inputs"], "outputs": meta["outputs"],
    }


def _parameters(graph: Graph) -> int:
    """What was trained; of a model that is not PyTorch's, every constant."""
    if graph.exported is None:
        return sum(value.elements for value in graph.constants())
    return sum(p.numel() for p in graph.exported.parameters())


def _captured(build: Build) -> dict[str, int]:
    """PyTorch's operators in the model as it was exported, the most frequent first."""
    program = build.graph.exported
    targets = (str(n.target) for n in program.graph.nodes if n.op == "call_function") if program else ()
    names = (target.split(".")[1] for target in targets if target.count(".") == 2)
    return dict(Counter(names).most_common())


def _by_kind(build: Build) -> list[dict[str, Any]]:
    """What runs, after the passes."""
    steps, macs = Counter[str](), Counter[str]()
    for node in build.plan.steps:
        kind = describe_kind(node)
        steps[kind] += 1
        macs[kind] += ops.get(node.op).macs(node)
    order = sorted(steps, key=lambda kind: (-macs[kind], -steps[kind], kind))
    return [{"op": kind, "steps": steps[kind], "macs": macs[kind]} for kind in order]
