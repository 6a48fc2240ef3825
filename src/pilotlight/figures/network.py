"""A planned model as plain data: its steps, what they read and write, and where the bytes are.

Names of buffers tie it together: a step reads and writes them, inputs and outputs are in them, the arena has them at
their offsets.
"""

from __future__ import annotations

from typing import Any

from pilotlight.graph import Node, Port, Value
from pilotlight.limits import describe_buffers
from pilotlight.ops.describe import describe_group, describe_op, describe_shapes, describe_type
from pilotlight.plan import Plan


def network(plan: Plan, metadata: dict[str, Any]) -> dict[str, Any]:
    """What the report page draws; `metadata` is that of the model's files."""
    seen: set[Value] = set()
    steps = [_step(plan, node, op, seen) for node, op in zip(plan.steps, metadata["ops"], strict=True)]
    words, groups = describe_buffers(plan), _groups(plan)
    modules = {v.name: node.place.module for node in plan.steps for v in node.outputs}
    return {
        "steps": steps,
        "inputs": _ports(plan, plan.graph.inputs, metadata["inputs"]),
        "outputs": _ports(plan, plan.graph.outputs, metadata["outputs"]),
        "states": [
            {"name": s.name, "dtype": s.value.dtype.name, "shape": list(s.value.shape), "bytes": s.value.bytes,
             "buffer": s.value.name, "next": plan.home(s.next).root.name} for s in plan.graph.states
        ],
        "buffers": [
            {**row, "what": words[row["name"]], "group": groups.get(row["name"], "other"),
             "module": modules.get(row["name"], "")} for row in metadata["buffers"]
        ],
        "arena": {"bytes": plan.arena.size, "lower_bound": plan.arena.lower_bound, "peak_step": plan.arena.peak_step},
    }


def _step(plan: Plan, node: Node, op: dict[str, Any], seen: set[Value]) -> dict[str, Any]:
    """A weight that several steps read counts at the first of them."""
    weights = [v for v in dict.fromkeys(node.inputs) if v.is_constant and v not in seen]
    seen.update(weights)
    reads = dict.fromkeys(plan.home(v).root.name for v in node.inputs if not v.is_constant)
    return {
        "index": op["index"], "op": node.op, "what": describe_op(node), "group": describe_group(node),
        "type": describe_type(node), "shapes": describe_shapes(node), "module": node.place.module,
        "source": node.place.source, "macs": op["macs"], "weights": sum(v.bytes for v in weights),
        "reads": list(reads), "writes": [_value(v) for v in node.outputs], "scratch": plan.scratch_name(node),
    }


def _value(value: Value) -> dict[str, Any]:
    quant = value.quant
    return {
        "buffer": value.name, "dtype": value.dtype.name, "shape": list(value.shape), "bytes": value.bytes,
        "scale": quant and quant.scale, "zero_point": quant and quant.zero_point,
    }


def _ports(plan: Plan, ports: list[Port], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("name", "dtype", "shape", "c_shape", "perm", "scale", "zero_point", "offset", "bytes")
    return [
        {**{key: row[key] for key in keys}, "buffer": plan.home(port.value).root.name, "is_size": port.is_size}
        for port, row in zip(ports, rows, strict=True)
    ]


def _groups(plan: Plan) -> dict[str, str]:
    """Which kind of operator wrote a buffer."""
    groups = {port.value.name: "input" for port in plan.graph.inputs}
    for node in plan.steps:
        for value in node.outputs:
            groups.setdefault(value.name, describe_group(node))
        scratch = plan.scratch_name(node)
        if scratch is not None:
            groups[scratch] = "scratch"
    return groups
