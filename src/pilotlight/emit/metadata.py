"""What metadata.json says about a model: its ports, memories, steps and buffers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pilotlight import ops
from pilotlight.ops.describe import describe_node
from pilotlight.plan import Plan
from pilotlight.version import __version__

_HIDDEN = ("word", "ctype", "c", "count", "meaning", "sizes", "limits")  # of a port: only for templates
_ONLY = (
    "inputs", "outputs", "arena_bytes", "arena_lower_bound", "arena_no_overlap", "state_bytes", "weights_bytes", "macs",
    "macs_executed", "ops", "buffers",
)


def describe_module(
    plans: Mapping[str, Plan], common: dict[str, Any], sources: list[str], asm_stack: dict[str, int]
) -> dict[str, Any]:
    """A model with named entry points has a list of them; another has what would be in the list itself."""
    name = common["name"]
    digests = [plan.graph.sha256 for plan in plans.values()]
    head = {
        "name": name,
        "generator": f"pilotlight {__version__}",
        "model_sha256": digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest(),
        "sources": sources,
        "asm_stack": asm_stack,
    }
    notes = next(iter(plans.values())).graph.notes
    head |= {"notes": notes} if notes else {}
    memory = {
        "arena_bytes": common["arena_size"], "state_bytes": common["state_size"],
        "weights_bytes": common["weights_size"],
    }
    entries = [_entry(plan, entry, name) for plan, entry in zip(plans.values(), common["entries"], strict=True)]
    if entries[0]["name"]:
        return {**head, **memory, "entries": entries}
    only = {**entries[0], **memory}
    return {**head, **{key: only[key] for key in _ONLY}}


def entry_metadata(metadata: Mapping[str, Any], entry: str) -> dict[str, Any]:
    """One entry point as if it were the whole model, with the arena, state and weights that it shares."""
    (row,) = [row for row in metadata["entries"] if row["name"] == entry]
    whole = {key: value for key, value in metadata.items() if key != "entries"}
    return {**row, **whole, "name": f"{metadata['name']}_{entry}"}


def _entry(plan: Plan, entry: dict[str, Any], name: str) -> dict[str, Any]:
    """One entry point; its arena is the part of the model's that it needs."""
    steps = [
        {
            "index": i, "label": f"{name}_step_{entry['first'] + i}", "op": node.op,
            "what": describe_node(node, place=False),
            "module": node.place.module, "source": node.place.source, "macs": ops.get(node.op).macs(node),
        }
        for i, node in enumerate(plan.steps)
    ]
    buffers = [
        {"name": b.name, "offset": plan.arena.offsets[b.name], "bytes": b.size, "first": b.first, "last": b.last}
        for b in plan.buffers
    ]
    return {
        "name": entry["name"],
        "function": f"{entry['prefix']}_run",
        "inputs": [{k: v for k, v in p.items() if k not in _HIDDEN} for p in entry["inputs"]],
        "outputs": [{k: v for k, v in p.items() if k not in _HIDDEN} for p in entry["outputs"]],
        "arena_bytes": plan.arena.size,
        "arena_lower_bound": plan.arena.lower_bound,
        "arena_no_overlap": plan.arena.no_overlap,
        "macs": plan.graph.macs,
        "macs_executed": sum(s["macs"] for s in steps),
        "ops": steps,
        "buffers": buffers,
    }
