"""Two entry points on one state, and inputs of every length: the same random float models in other forms."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import pilotlight as pl
from conformance.build import open_strictly
from fuzz.program import Call, Loaded, tensors
from fuzz.truth import Outputs, Truth
from pilotlight.graph.program import mixed
from pilotlight.measure.compare import Truth as SequenceTruth
from pilotlight.programs import ProgramBuild, RunningProgram
from support.c_compilers import SANITIZERS
from support.emulators import quickest

CALLS = 7
MORE = 2  # a dimension may be this much longer than in the example


def entries(loaded: Loaded, boards: Sequence[str], work: Path) -> Iterator[tuple[str, str | None]]:
    """Where `forward` and `second`, called in turns, ran, and how they differ from the module's own."""
    module = loaded.model()
    args, kwargs = loaded.inputs(0)
    given = {"first": (module, args, kwargs), "second": (module.second, args, kwargs)}
    program = pl.capture(given, name=type(module).__name__)
    order = mixed(list(given), CALLS)
    rows = [tensors(loaded.inputs(call)) for call in range(CALLS)]
    truth = SequenceTruth(program.reference.along(order), rows)
    for where in ("host", *boards):
        build = pl.compile(program, where, options=quickest(where))
        with _opened(build, where, work) as running:
            running.reset()
            got = [running.entry(name).flat(row) for name, row in zip(order, rows, strict=True)]
        yield where, _difference(program.entries, order, truth, got)


@contextmanager
def _opened(build: ProgramBuild, where: str, work: Path) -> Iterator[RunningProgram]:
    with build.open(sanitize=SANITIZERS and where == "host", count=False, timeout=60.0) as running:
        yield running
    build.close()


def _difference(graphs: Any, order: list[str], truth: SequenceTruth, got: list[Outputs]) -> str | None:
    for name, graph in graphs.items():
        runs = [k for k, called in enumerate(order) if called == name]
        names = [port.name for port in graph.outputs if not port.is_size]
        for row in truth.of_runs(runs).compare([got[k] for k in runs], names):
            if not row.match:
                return f"output {row.name} of {name} is off by {row.max_abs_error:g}, allowed is {row.limit:g}"
    return None


def lengths(loaded: Loaded, boards: Sequence[str], work: Path) -> Iterator[tuple[str, str | None]]:
    """The same for inputs of which one dimension, the first that is not 1, has every length."""
    module, call = loaded.model(), loaded.inputs(0)
    bound = inspect.signature(module.forward).bind(*call[0], **call[1]).arguments
    plain = [x for x in bound.values() if isinstance(x, torch.Tensor)]
    found = [(axis, n) for x in plain for axis, n in enumerate(x.shape) if n > 1]
    if not found:
        raise pl.PilotlightError("no input has a dimension that could vary", kind="unsupported")
    axis, size = found[0]
    most, dimension = size + MORE, torch.export.Dim("T", min=1, max=size + MORE)

    def vary(x: Any) -> bool:
        return isinstance(x, torch.Tensor) and x.dim() > axis and x.shape[axis] == size

    shapes = {
        name: {axis: dimension} if vary(x) else pytree.tree_map(lambda leaf: None, x) for name, x in bound.items()
    }
    args, kwargs = call
    graph = pl.capture(module, args, type(module).__name__, kwargs=kwargs, dynamic_shapes=shapes)

    def cut(given: Call, n: int) -> Call:
        def one(x: Any) -> Any:
            return x.index_select(axis, torch.arange(n) % size) if vary(x) else x

        return tuple(map(one, given[0])), {name: one(x) for name, x in given[1].items()}

    for where in ("host", *boards):
        build = pl.compile(graph, where, options=quickest(where))
        context = open_strictly(build, work / "model") if where == "host" else build.open(timeout=60.0, count=False)
        with context as running:
            for n in range(1, most + 1):
                calls = [cut(loaded.inputs(number), n) for number in range(2)]
                running.reset()
                difference = Truth(loaded, calls).differs([running.flat(tensors(c)) for c in calls])
                yield where, difference and f"at length {n}: {difference}"
