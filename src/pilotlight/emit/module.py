"""Writes the folder of a compiled model: header, source, weights, metadata, build file, example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
import torch

from pilotlight import ops
from pilotlight.codegen.step import Step, Table, c_float
from pilotlight.codegen.target import Target
from pilotlight.emit import output
from pilotlight.emit.metadata import describe_module
from pilotlight.emit.streaming import push_interface
from pilotlight.emit.weights import INCBIN_FROM, Weights, c_array, incbin_source
from pilotlight.errors import PilotlightError
from pilotlight.graph import Port, Quant, Value
from pilotlight.graph.describe import port_meaning, size_meaning, summarize
from pilotlight.graph.names import in_comment, port_names
from pilotlight.kernels.blocks import assembly, dispatch
from pilotlight.kernels.text import kernel_text, without_includes
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
    weights: bytes = b""  # the constants, which are in the files too

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

    bodies: list[list[str]] = field(default_factory=list)  # of the steps, by entry point
    tables: list[Table] = field(default_factory=list)
    kernels: dict[str, None] = field(default_factory=dict)
    micro: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)  # that kernels bring along
    stack: dict[str, int] = field(default_factory=dict)  # of assembly functions in them
    needs: dict[str, None] = field(default_factory=dict)  # functions that the project has to bring
    fails: bool = False  # a run returns an error

    @property
    def headers(self) -> list[str]:
        """Those that the model includes: not those of a library, which is in a folder."""
        return [file for file in self.files if file.endswith(".h") and "/" not in file]

    def bring(self, step: Step) -> None:
        """The files of a step's kernels; two of one name must be the same."""
        for name, text in step.files.items():
            if self.files.setdefault(name, text) != text:
                raise PilotlightError(
                    f"two kernels bring different files called {name}", hint="rename one of them", kind="bad-kernel"
                )
        self.stack |= step.stack
        self.needs |= step.needs
        self.fails = self.fails or step.fails


def emit_module(
    plan: Plan, target: Target, *, keep_inputs: bool = False, source: str = "",
    memories: Mapping[str, str] | None = None, build_files: Mapping[str, str] | None = None,
) -> Module:
    """Everything that a project needs to run the planned model; `memories` names the board's memory of each pool,
    `build_files` are those that come along for the board."""
    return emit_program(
        plan.graph.name, {"": plan}, target, keep_inputs=keep_inputs, source=source, memories=memories,
        build_files=build_files,
    )


def emit_program(
    name: str, plans: Mapping[str, Plan], target: Target, *, keep_inputs: bool = False, source: str = "",
    memories: Mapping[str, str] | None = None, build_files: Mapping[str, str] | None = None,
) -> Module:
    """The files of planned entry points that share arena, state and weights; a single one has no name."""
    weights = Weights()
    collected = _Collected()
    entries = [_entry(entry, plan, weights, collected) for entry, plan in plans.items()]
    _check_names(name, entries)
    reset = _reset(plans.values(), weights, collected)
    graphs = [plan.graph for plan in plans.values()]
    state_size = max(plan.state_size for plan in plans.values())
    stream = push_interface(graphs[0], state_size)
    if stream is not None and collected.fails:
        raise PilotlightError(
            f"{name} streams, and a step of it that fails would have nobody to tell",
            hint="leave out what computes on another engine, or compile without streaming", kind="unsupported",
        )
    if stream is not None and stream["pushes"]:
        collected.kernels["mem"] = None
    common = {
        "name": name, "NAME": name.upper(), "version": __version__, "summary": in_comment(summarize(graphs, source)),
        "arena_size": max(1, *(plan.arena.size for plan in plans.values())),
        "state_size": state_size + (stream["bytes"] if stream else 0), "weights_size": weights.size,
        "keep_inputs": keep_inputs, "entries": entries, "stream": stream, "fails": collected.fails,
        "notes": {in_comment(key): in_comment(text) for key, text in graphs[0].notes.items()},
    }
    micro_text, stack = assembly(collected.micro, name, target)
    asm_stack = collected.stack | stack
    for_kernels, kernels = without_includes(kernel_text(collected.kernels))
    for_calls, calls = without_includes(dispatch(collected.micro, name, target))
    tables = "\n".join(table.text() for table in collected.tables)
    code = _render(
        "model.c", **common, kernels=kernels, tables=tables, dispatch=calls, reset=reset,
        library=sorted({*for_kernels, *for_calls}), includes=collected.headers,
        uses_infinity=any("PL_INFINITY" in text for text in (*chain(*collected.bodies), tables)),
    )
    files: dict[str, str | bytes] = {f"{name}.h": _render("model.h", **common), f"{name}.c": code}
    sources = [f"{name}.c"]
    blob = weights.blob()
    if weights.size > INCBIN_FROM:
        files[f"{name}_weights.S"] = incbin_source(name)
        files[f"{name}_weights.bin"] = blob
        sources.append(f"{name}_weights.S")
    elif weights.size:
        files[f"{name}_weights.c"] = c_array(name, blob)
        sources.append(f"{name}_weights.c")
    if micro_text:
        files[f"{name}_kernels.S"] = micro_text
        sources.append(f"{name}_kernels.S")
    files |= _own_files(collected, files)
    sources += [file for file in collected.files if file.endswith((".c", ".S"))]
    metadata = describe_module(plans, common, sources, asm_stack)
    if collected.needs:
        metadata["needs"] = list(collected.needs)
    if collected.fails:
        metadata["fails"] = True
    if stream is not None:
        metadata["stream"] = {key: stream[key] for key in ("hop", "latency", "rate", "warm", "pushes", "bytes")}
    metadata["pools"] = {
        pool: {"bytes": metadata[f"{pool}_bytes"], "memory": (memories or {}).get(pool)}
        for pool in ("arena", "state", "weights")
    }
    files[output.BUILD] = _render(output.BUILD)
    files[f"{name}{_CMAKE}"] = _render(
        "model.cmake", **common, sources=sources, assembly=any(s.endswith(".S") for s in sources),
        libraries=[s for s in sources if "/" in s], level="-Os" if target.small else "-O2", example=output.EXAMPLE,
    )
    files |= build_files or {}
    files[output.EXAMPLE] = _render("example_main.c", **common)
    return Module(name, output.sealed(files, metadata), metadata, blob)


def _own_files(collected: _Collected, files: Mapping[str, str | bytes]) -> dict[str, str]:
    """What kernels bring along, beside the model's own files."""
    for name in collected.files:
        path = PurePosixPath(name)
        known = name.endswith((".c", ".h", ".S")) or (len(path.parts) > 1 and path.name == "LICENSE")
        if name in files or path.is_absolute() or ".." in path.parts or str(path) != name or not known:
            raise PilotlightError(
                f"a kernel brings a file called {name}", hint="name it after the kernel, with the ending .c, .h or .S",
                kind="bad-kernel",
            )
    return collected.files


def _render(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(f"{template}.j2").render(**values)


def _entry(name: str, plan: Plan, weights: Weights, collected: _Collected) -> dict[str, Any]:
    """One entry point as the templates see it."""
    prefix, first = plan.graph.name, sum(map(len, collected.bodies))
    bodies = _steps(plan, weights, collected, first)
    collected.bodies.append(bodies)
    return {
        "name": name, "prefix": prefix, "first": first,
        "inputs": _ports(plan, plan.graph.inputs, f"{prefix}_input"),
        "outputs": _ports(plan, plan.graph.outputs, f"{prefix}_output"),
        "parts": [_part(bodies[at : at + PART]) for at in range(0, len(bodies), PART)] or [_part([])],
    }


def _check_names(name: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """No two functions of a module have one name."""
    made = [f"{name}_{verb}" for verb in ("reset", "push", "next", "lost")]
    made += [f"{entry['prefix']}_run" for entry in entries]
    made += [port["c_name"] for entry in entries for port in (*entry["inputs"], *entry["outputs"])]
    twice = sorted({function for function in made if made.count(function) > 1})
    if twice:
        raise PilotlightError(
            f"two functions of {name} would be called {twice[0]} in C", hint="rename the entry point or its input",
            kind="usage",
        )


def _steps(plan: Plan, weights: Weights, collected: _Collected, first: int) -> list[str]:
    """The C of each step; steps are numbered from `first`."""

    def locate(value: Value) -> tuple[str, int]:
        if value.is_constant:
            return "w", weights.offset(value)
        pool, offset = plan.locate(value)
        return _BASES[pool], offset

    bodies: list[str] = []
    failed = False  # a step before, in the same function, may have failed
    for index, node in enumerate(plan.steps, first):
        step = Step(index, locate, plan.scratch(node), plan.walks_backward(node))
        ops.get(node.op).emit(node, step)
        collected.tables += step.tables
        collected.kernels.update(dict.fromkeys(step.kernels))
        collected.micro |= step.micro
        collected.bring(step)
        failed = failed and len(bodies) % PART > 0
        if failed:
            step.enclose("if (status == 0)")
        failed = failed or step.fails
        lines = "\n".join(step.lines).split("\n")
        head = [f"\n    /* {index}: {in_comment(describe_node(node))} */", f"    PL_STEP({index});"]
        bodies.append("\n".join([*head, *(f"    {line}" if line else "" for line in lines)]))
    return bodies


def _part(steps: list[str]) -> dict[str, Any]:
    """Steps that are one function of the generated code, and the pointers they use."""
    body = "\n".join(steps)
    return {
        "body": body, "uses_arena": "&a[" in body, "uses_weights": "&w[" in body, "uses_state": "&s[" in body,
        "fails": re.search(r"^ *status = ", body, re.MULTILINE) is not None,
    }


def _reset(plans: Iterable[Plan], weights: Weights, collected: _Collected) -> str:
    """The body of NAME_reset: zeros where the state starts with zeros, else a copy from the weights."""
    lines = []
    states = {offset: state for plan in plans for state, offset in plan.state_offsets.items()}
    for offset, state in states.items():
        collected.kernels["mem"] = None
        name = in_comment(state.name)
        if state.initial.any():
            at = weights.add(state.initial)
            size = state.value.bytes
            lines.append(f"    pl_copy(&m->state[{offset}], &m->weights[{at}], {size}); /* {name} */")
        else:
            lines.append(f"    pl_zero(&m->state[{offset}], {state.value.bytes}); /* {name} */")
    return "\n".join(lines or ["    (void)m;"])


def _ports(plan: Plan, ports: Sequence[Port], prefix: str) -> list[dict[str, Any]]:
    words = port_names(port.name for port in ports)
    return [
        _port(plan, port, word, f"{prefix}_{word}") | {"sizes": size_meaning(ports, port)}
        for port, word in zip(ports, words, strict=True)
    ]


def _port(plan: Plan, port: Port, word: str, c_name: str) -> dict[str, Any]:
    _, offset = plan.locate(port.value)
    quant = port.quant or port.value.quant  # integers that stand for real numbers, whichever the caller sees
    return {
        "name": port.name, "word": word, "c_name": c_name, "ctype": port.value.dtype.c, "dtype": port.value.dtype.name,
        "shape": list(port.shape), "c_shape": list(port.value.shape),
        "perm": None if port.perm is None else list(port.perm),
        "scale": quant and quant.scale, "zero_point": quant and quant.zero_point,
        "c": quant and _quant_numbers(port, quant),
        "offset": offset, "bytes": port.value.bytes, "count": port.value.elements, "meaning": port_meaning(port),
        "limits": port.limits if port.is_size and port.limits[1] else None,
    }


def _quant_numbers(port: Port, quant: Quant) -> dict[str, str]:
    """What quantizing in C needs, the same numbers as `graph/ports.py` has."""
    limits = torch.iinfo(port.value.dtype.torch)
    return {
        "scale": c_float(quant.scale), "inverse": c_float(1.0 / quant.scale),
        "low": c_float(limits.min - quant.zero_point), "high": c_float(limits.max - quant.zero_point),
    }
