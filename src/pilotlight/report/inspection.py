"""What is in a model and what it needs, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pilotlight import ops
from pilotlight.figures.build import figures
from pilotlight.figures.record import hardware
from pilotlight.limits import describe_buffers
from pilotlight.ops.describe import describe_kind
from pilotlight.report.style import BAD, GOOD, QUIET, number, share, size, table
from pilotlight.report.summary import run_title, summary_table
from pilotlight.toolchain import BuildInfo

if TYPE_CHECKING:
    from pilotlight.compiler import Build


def inspect_build(build: Build, info: BuildInfo) -> dict[str, Any]:
    """The object that `inspect --json` prints."""
    meta, peak = build.module.metadata, build.plan.arena.peak_step
    words = describe_buffers(build.plan)
    return {
        "name": build.name, "board": build.board.name, "target": build.board.cpu, "hardware": hardware(build.board),
        "fits": not any(use.over for use in info.memory),
        "parameters": sum(p.numel() for p in build.graph.origin.parameters()),
        "captured": _captured(build), "operators": _by_kind(build),
        **figures(build, info),
        "memory": [{**vars(use), "free": use.size - use.used} for use in info.memory],
        "peak": {"step": peak, "tensors": [{"name": b.name, "bytes": b.size, "what": words[b.name]}
                                           for b in build.plan.peak()]},
        "inputs": meta["inputs"], "outputs": meta["outputs"],
    }


def _captured(build: Build) -> dict[str, int]:
    """PyTorch's operators in the model as it was exported, the most frequent first."""
    targets = (str(node.target) for node in build.graph.origin.graph.nodes if node.op == "call_function")
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


def inspection_tables(found: dict[str, Any]) -> Iterator[RenderableType]:
    yield run_title(found)
    names = ", ".join(f"{count} {name}" for name, count in found["captured"].items())
    yield Text(f"{number(found['parameters'])} parameters; PyTorch's operators: {names}")
    yield _operators(found)
    yield summary_table(found)
    if found["memory"]:
        yield _memories(found)


def _operators(found: dict[str, Any]) -> Table:
    grid = table()
    grid.add_column("operators that run")
    for head in ("steps", "MACs", "share"):
        grid.add_column(head, justify="right")
    for row in found["operators"]:
        macs = row["macs"] or None
        part = share(macs, found["macs_executed"]) if macs else "-"
        grid.add_row(row["op"], number(row["steps"]), number(macs), part)
    return grid


def _memories(found: dict[str, Any]) -> Table:
    """Every memory of the board; code that could not be compiled is not counted, and said so."""
    unknown = found["flash"]["code"] is None
    grid = table()
    for head in ("memory", "holds", "used", "free", ""):
        grid.add_column(head, justify="left" if head in ("memory", "") else "right")
    for use in found["memory"]:
        if use["free"] < 0:
            verdict = Text(f"{number(-use['free'])} bytes too many", BAD)
        elif use["used"] == 0:
            verdict = Text("not used", QUIET)
        else:
            verdict = Text("fits, code not counted" if unknown and use["kind"] == "flash" else "fits", GOOD)
        free = number(max(0, use["free"]))
        grid.add_row(use["name"], size(use["size"]), number(use["used"]), free, verdict)
    return grid
