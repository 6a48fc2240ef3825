"""Writes the folder of a compiled model: header, source, weights, metadata, build file, example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import torch

from pilotlight import ops
from pilotlight.codegen.step import Step, Table, c_float
from pilotlight.codegen.target import Target
from pilotlight.emit import output
from pilotlight.emit.weights import INCBIN_FROM, Weights, c_array, incbin_source
from pilotlight.errors import PilotlightError
from pilotlight.graph import Port, Quant, Value
from pilotlight.graph.describe import port_meaning, summarize
from pilotlight.graph.names import in_comment, port_names
from pilotlight.kernels.blocks import assembly, dispatch
from pilotlight.kernels.text import kernel_text
from pilotlight.ops.describe import describe_node
from pilotlight.plan import Plan
from pilotlight.version import __version__

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("pilotlight.emit"), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined, autoescape=False,
)
_TEMPLATES.filters["in_comment"] = in_comment
_BASES = {"arena": "a", "state": "s"}
_CMAKE = ".pilotlight.cmake"
PART = 300  # steps per function: compile time grows with the square of that; no example has as many


@dataclass
class Module:
    """A model as files."""

    name: str
    files: dict[str, str | bytes]
    metadata: dict[str, Any]

    def write(self, folder: Path) -> dict[str, str | bytes]:
        """The files as written: two of them are named after the model where another model's are there already."""
        files = self._beside() if output.beside_another(folder, self.name) else self.files
        output.write(folder, self.name, files)
        return files

    def _beside(self) -> dict[str, str | bytes]:
        example, metadata = f"{self.name}_{output.EXAMPLE}", f"{self.name}_{output.METADATA}"
        build = f"{self.name}{_CMAKE}"
        files = {k: v for k, v in self.files.items() if k not in (output.EXAMPLE, output.METADATA)}
        files[build] = str(files[build]).replace(f" {output.EXAMPLE})", f" {example})")
        files[example] = self.files[output.EXAMPLE]
        return output.sealed(files, dict(self.metadata), metadata)


@dataclass
class _Collected:
    """What the steps asked for, over the whole model."""

    bodies: list[str] = field(default_factory=list)  # of the steps
    tables: list[Table] = field(default_factory=list)
    kernels: dict[str, None] = field(default_factory=dict)
    micro: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)  # that kernels bring along
    stack: dict[str, int] = field(default_factory=dict)  # of assembly functions in them

    def bring(self, step: Step) -> None:
        """The files of a step's kernels; two of one name must be the same."""
        for name, text in step.files.items():
            if self.files.setdefault(name, text) != text:
                raise PilotlightError(
                    f"two kernels bring different files called {name}", hint="rename one of them", kind="bad-kernel"
                )
        self.stack |= step.stack


def emit_module(
    plan: Plan, target: Target, *, keep_inputs: bool = False, source: str = "",
    memories: Mapping[str, str] | None = None, build_files: Mapping[str, str] | None = None,
) -> Module:
    """Everything that a project needs to run the planned model; `memories` names the board's memory of each pool,
    `build_files` are those that come along for the board."""
    graph, name = plan.graph, plan.graph.name
    weights = Weights()
    collected = _steps(plan, weights)
    reset = _reset(plan, weights, collected)
    ports = {
        "inputs": _ports(plan, graph.inputs, f"{name}_input"),
        "outputs": _ports(plan, graph.outputs, f"{name}_output"),
    }
    parts = [_part(collected.bodies[at : at + PART]) for at in range(0, len(collected.bodies), PART)] or [_part([])]
    common = {
        "name": name, "NAME": name.upper(), "version": __version__, "summary": in_comment(summarize(graph, source)),
        "arena_size": max(plan.arena.size, 1), "state_size": plan.state_size, "weights_size": weights.size,
        "keep_inputs": keep_inputs, **ports,
    }
    micro_text, stack = assembly(collected.micro, name, target)
    asm_stack = collected.stack | stack
    calls = dispatch(collected.micro, name, target)
    kernels = kernel_text(collected.kernels)
    tables = "\n".join(table.text() for table in collected.tables)
    code = _render(
        "model.c", **common, kernels=kernels, parts=parts, tables=tables, dispatch=calls, reset=reset,
        includes=[file for file in collected.files if file.endswith(".h")],
        uses_infinity=any("PL_INFINITY" in text for text in (*collected.bodies, tables)),
    )
    files: dict[str, str | bytes] = {f"{name}.h": _render("model.h", **common), f"{name}.c": code}
    sources = [f"{name}.c"]
    if weights.size > INCBIN_FROM:
        files[f"{name}_weights.S"] = incbin_source(name)
        files[f"{name}_weights.bin"] = weights.blob()
        sources.append(f"{name}_weights.S")
    elif weights.size:
        files[f"{name}_weights.c"] = c_array(name, weights.blob())
        sources.append(f"{name}_weights.c")
    if micro_text:
        files[f"{name}_kernels.S"] = micro_text
        sources.append(f"{name}_kernels.S")
    files |= _own_files(collected, files)
    sources += [file for file in collected.files if file.endswith((".c", ".S"))]
    metadata = _metadata(plan, common, sources, asm_stack, weights)
    metadata["pools"] = {
        pool: {"bytes": metadata[f"{pool}_bytes"], "memory": (memories or {}).get(pool)}
        for pool in ("arena", "state", "weights")
    }
    files[output.BUILD] = _render(output.BUILD)
    files[f"{name}{_CMAKE}"] = _render(
        "model.cmake", **common, sources=sources, assembly=any(s.endswith(".S") for s in sources),
        level="-Os" if target.small else "-O2", example=output.EXAMPLE,
    )
    files |= build_files or {}
    files[output.EXAMPLE] = _render("example_main.c", **common)
    return Module(name, output.sealed(files, metadata), metadata)


def _own_files(collected: _Collected, files: Mapping[str, str | bytes]) -> dict[str, str]:
    """What kernels bring along, beside the model's own files."""
    for name in collected.files:
        if name in files or Path(name).name != name or not name.endswith((".c", ".h", ".S")):
            raise PilotlightError(
                f"a kernel brings a file called {name}", hint="name it after the kernel, with the ending .c, .h or .S",
                kind="bad-kernel",
            )
    return collected.files


def _render(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(f"{template}.j2").render(**values)


def _steps(plan: Plan, weights: Weights) -> _Collected:
    def locate(value: Value) -> tuple[str, int]:
        if value.is_constant:
            return "w", weights.offset(value)
        pool, offset = plan.locate(value)
        return _BASES[pool], offset

    collected = _Collected()
    for index, node in enumerate(plan.steps):
        step = Step(index, locate, plan.scratch(node), plan.walks_backward(node))
        ops.get(node.op).emit(node, step)
        collected.tables += step.tables
        collected.kernels.update(dict.fromkeys(step.kernels))
        collected.micro |= step.micro
        collected.bring(step)
        lines = "\n".join(step.lines).split("\n")
        head = [f"\n    /* {index}: {in_comment(describe_node(node))} */", f"    PL_STEP({index});"]
        collected.bodies.append("\n".join([*head, *(f"    {line}" if line else "" for line in lines)]))
    return collected


def _part(steps: list[str]) -> dict[str, Any]:
    """Steps that are one function of the generated code, and the pointers they use."""
    body = "\n".join(steps)
    return {
        "body": body, "uses_arena": "(a +" in body, "uses_weights": "(w +" in body, "uses_state": "(s +" in body,
    }


def _reset(plan: Plan, weights: Weights, collected: _Collected) -> str:
    """The body of NAME_reset: zeros where the state starts with zeros, else a copy from the weights."""
    lines = []
    for state, offset in plan.state_offsets.items():
        collected.kernels["mem"] = None
        name = in_comment(state.name)
        if state.initial.any():
            at = weights.add(state.initial)
            size = state.value.bytes
            lines.append(f"    pl_copy(m->state + {offset}, m->weights + {at}, {size}); /* {name} */")
        else:
            lines.append(f"    pl_zero(m->state + {offset}, {state.value.bytes}); /* {name} */")
    return "\n".join(lines or ["    (void)m;"])


def _ports(plan: Plan, ports: Sequence[Port], prefix: str) -> list[dict[str, Any]]:
    words = port_names(port.name for port in ports)
    return [_port(plan, port, word, f"{prefix}_{word}") for port, word in zip(ports, words, strict=True)]


def _port(plan: Plan, port: Port, word: str, c_name: str) -> dict[str, Any]:
    _, offset = plan.locate(port.value)
    return {
        "name": port.name, "word": word, "c_name": c_name, "ctype": port.value.dtype.c, "dtype": port.value.dtype.name,
        "shape": list(port.shape), "c_shape": list(port.value.shape),
        "perm": None if port.perm is None else list(port.perm),
        "scale": port.quant and port.quant.scale, "zero_point": port.quant and port.quant.zero_point,
        "c": port.quant and _quant_numbers(port, port.quant),
        "offset": offset, "bytes": port.value.bytes, "count": port.value.elements, "meaning": port_meaning(port),
    }


def _quant_numbers(port: Port, quant: Quant) -> dict[str, str]:
    """What quantizing in C needs, the same numbers as `graph/ports.py` has."""
    limits = torch.iinfo(port.value.dtype.torch)
    return {
        "scale": c_float(quant.scale), "inverse": c_float(1.0 / quant.scale),
        "low": c_float(limits.min - quant.zero_point), "high": c_float(limits.max - quant.zero_point),
    }


def _metadata(
    plan: Plan, common: dict[str, Any], sources: list[str], asm_stack: dict[str, int], weights: Weights
) -> dict[str, Any]:
    hidden = ("word", "ctype", "c", "count", "meaning")
    steps = [
        {
            "index": i, "label": f"{common['name']}_step_{i}", "op": node.op, "what": describe_node(node, place=False),
            "module": node.place.module, "source": node.place.source, "macs": ops.get(node.op).macs(node),
        }
        for i, node in enumerate(plan.steps)
    ]
    buffers = [
        {"name": b.name, "offset": plan.arena.offsets[b.name], "bytes": b.size, "first": b.first, "last": b.last}
        for b in plan.buffers
    ]
    return {
        "name": common["name"],
        "generator": f"pilotlight {__version__}",
        "model_sha256": plan.graph.sha256,
        "sources": sources,
        "asm_stack": asm_stack,
        "inputs": [{k: v for k, v in p.items() if k not in hidden} for p in common["inputs"]],
        "outputs": [{k: v for k, v in p.items() if k not in hidden} for p in common["outputs"]],
        "arena_bytes": common["arena_size"],
        "arena_lower_bound": plan.arena.lower_bound,
        "arena_no_overlap": plan.arena.no_overlap,
        "state_bytes": plan.state_size,
        "weights_bytes": weights.size,
        "macs": plan.graph.macs,
        "macs_executed": sum(s["macs"] for s in steps),
        "ops": steps,
        "buffers": buffers,
    }
