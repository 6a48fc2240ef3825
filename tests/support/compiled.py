"""Compiled models for tests: run on the host against PyTorch, and in this process with a look at every step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pilotlight as pl
from pilotlight.capture.reference import variations
from pilotlight.compiler import Build, from_memory, to_memory
from pilotlight.graph import Graph
from pilotlight.measure.compare import Truth
from support.c_compilers import SANITIZERS, compile_c
from zoo import load

Tensors = list[torch.Tensor]


@cache
def zoo_graph(name: str) -> Graph:
    """A model of the zoo, captured once in this process; passes work on copies."""
    module, inputs = load(name)
    return pl.capture(module, inputs, name)


@cache
def zoo_build(name: str) -> Build:
    """A model of the zoo for the host."""
    return pl.compile(zoo_graph(name))


def rows_of(graph: Graph, count: int = 3) -> list[Tensors]:
    """The example a graph was captured with, and variations of it."""
    example = graph.truth.example
    return [example, *variations(example, count)]


def assert_matches(graph: Graph, rows: list[Tensors], outputs: list[Tensors]) -> None:
    """Outputs, run by run, are PyTorch's by the rule for whole models."""
    for match in Truth(graph.truth, rows).compare(outputs, [p.name for p in graph.outputs if not p.is_size]):
        assert match.match, f"output {match.name}: off by {match.max_abs_error:g}, allowed is {match.limit:g}"


def check(module: torch.nn.Module, inputs: Sequence[Any], runs: int = 3, **choices: Any) -> Build:
    """Compile, run on the host with sanitizers where there are any, compare with PyTorch."""
    graph = pl.capture(module, inputs, "net")
    build = pl.compile(graph, **choices)
    rows = rows_of(graph, runs)
    with build.open("host", sanitize=SANITIZERS) as running:
        running.reset()
        outputs = [running.flat(row) for row in rows]
    assert_matches(graph, rows, outputs)
    return build


class Library:
    """A build as a shared library in this process, called step by step.

    `between(n)` is called before every step. The arena and the state lie between guard bytes.
    """

    GUARD = 4096

    def __init__(self, build: Build, folder: Path):
        self.build, self.meta = build, build.module.metadata
        self.arena = self._memory(self.meta["arena_bytes"])
        self.state = self._memory(self.meta["state_bytes"])
        source = build.write(folder)
        (folder / "between.h").write_text("void (*between)(int);\n")
        target = folder / f"{build.name}.so"
        macro = "-DPL_STEP(n)=between(n)"
        flags = ["-std=gnu99", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-include", "between.h", macro, "-I."]
        units = [["-c", name, "-o", f"{name}.o"] for name in self.meta["sources"]]
        first = [f for f in flags if f != "-shared"]
        for unit in units:
            compile_c(["gcc", *(first if unit[1] == f"{build.name}.c" else ["-fPIC", "-I."]), *unit], source)
        compile_c(["gcc", "-shared", *(u[-1] for u in units), "-o", target.name], source)
        self._library = ctypes.CDLL(str(target.resolve()))
        weights = ctypes.addressof(ctypes.c_char.in_dll(self._library, f"{build.name}_weights")) \
            if self.meta["weights_bytes"] else 0
        self._model = (ctypes.c_void_p * 3)(weights, self.arena.ctypes.data, self.state.ctypes.data)

    def _memory(self, size: int) -> np.ndarray:
        """`size` bytes at a multiple of 16, guarded on both sides."""
        whole = np.full(size + 2 * self.GUARD + 16, 0xA5, np.uint8)
        start = self.GUARD + -(whole.ctypes.data + self.GUARD) % 16
        self._guards = [*getattr(self, "_guards", []), whole[:start], whole[start + size :]]
        return whole[start : start + size]

    def reset(self) -> None:
        getattr(self._library, f"{self.build.name}_reset")(ctypes.byref(self._model))

    def run(self, inputs: Tensors, between: Callable[[int], None] = lambda n: None) -> Tensors:
        """Fill the inputs, run, read the outputs, which are checked for being inside the arena."""
        for port, row, x in zip(self.build.lowered.inputs, self.meta["inputs"], inputs, strict=True):
            self.arena[row["offset"] : row["offset"] + row["bytes"]] = np.frombuffer(
                to_memory(port, x).tobytes(), np.uint8
            )
        failures: list[BaseException] = []

        def guarded(n: int) -> None:
            try:
                between(n)
            except BaseException as error:  # ctypes would print and forget it
                failures.append(error)

        callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(guarded)
        ctypes.c_void_p.in_dll(self._library, "between").value = ctypes.cast(callback, ctypes.c_void_p).value
        getattr(self._library, f"{self.build.name}_run")(ctypes.byref(self._model))
        guarded(len(self.build.plan.steps))
        if failures:
            raise failures[0]
        assert all((guard == 0xA5).all() for guard in self._guards), "written outside of arena and state"
        return [self._output(port, row) for port, row in
                zip(self.build.lowered.outputs, self.meta["outputs"], strict=True)]

    def _output(self, port: Any, row: dict[str, Any]) -> torch.Tensor:
        data = self.arena[row["offset"] : row["offset"] + row["bytes"]].tobytes()
        return from_memory(port, np.frombuffer(data, row["dtype"]).reshape(row["c_shape"]))
