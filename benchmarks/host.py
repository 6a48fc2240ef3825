"""The networks on this computer: the C that Pilotlight writes, next to other runtimes, on one thread.

Every call takes an input from Python and leaves an output. The systems take turns; a time is the median of the rounds,
in processor time of this process, so that a busy machine has little effect.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.graph.ports import from_memory, to_memory
from pilotlight.quantize import quantize
from pilotlight.toolchain.find import find
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import compile_units, model_units
from runtimes import RUNTIMES, Answer, Network, Run, real

ROUNDS = 15
AT_LEAST = 0.02  # seconds of a round
SAMPLES = 32


@dataclass(frozen=True)
class Host:
    """One network: our microseconds, how many times as long the others take, and why some are missing."""

    network: str
    mode: str
    microseconds: float
    ratios: dict[str, float]
    missing: dict[str, str]

    def cells(self) -> list[str]:
        times = [f"{self.ratios[name]:.2f}" if name in self.ratios else "" for name in RUNTIMES]
        return [self.network, self.mode, f"{self.microseconds:,.0f}", *times]


    def summary(self) -> list[str]:
        """A line for the terminal, with what is missing and why."""
        times = [f"{system} {ratio:.2f}x" for system, ratio in self.ratios.items()]
        absent = [f"{system}: {reason}" for system, reason in self.missing.items()]
        return [self.network, "host", self.mode, f"{self.microseconds:,.0f} us", *times, *absent]


HEAD = ["network", "type", "Pilotlight, µs", *RUNTIMES]


def ours(graph: Graph, x: torch.Tensor, folder: Path) -> tuple[Run, Answer]:
    """The generated C as a library, with the flags of the host's build for speed."""
    build = pl.compile(graph, board="host")
    model, gcc = read_folder(build.write(folder / "c")), find(build.board)
    units = model_units(model, ["-O2", "-fPIC"])
    compile_units(gcc, build.board, folder, units)
    library = folder / "model.so"
    objects = [str(folder / unit.object) for unit in units]
    subprocess.run([*gcc.command, "-shared", *objects, "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    memory = np.zeros(model.arena_bytes + model.state_bytes + 64, np.uint8)
    first = -memory.ctypes.data % 16
    arena = memory.ctypes.data + first
    state = arena + (model.arena_bytes + 15 & ~15)
    weights = ctypes.addressof(ctypes.c_char.in_dll(loaded, f"{model.name}_weights"))
    net = (ctypes.c_void_p * 3)(weights, arena, state)
    meta = build.module.metadata
    (into,), (out,) = meta["inputs"], meta["outputs"]
    source = to_memory(build.lowered.inputs[0], x).tobytes()
    run_c = getattr(loaded, f"{model.name}_run")
    result = memory[first + out["offset"] : first + out["offset"] + out["bytes"]]

    def run() -> bytes:
        ctypes.memmove(arena + into["offset"], source, len(source))
        run_c(net)
        return result.tobytes()

    def answer(written: bytes) -> np.ndarray:
        shaped = np.frombuffer(written, out["dtype"]).reshape(out["c_shape"])
        return real(from_memory(build.lowered.outputs[0], shaped))

    return run, answer


def compare(name: str, mode: str, model: torch.nn.Module, samples: list[torch.Tensor], lite: Path | None) -> Host:
    """One network in one type on every runtime there is."""
    torch.set_num_threads(1)
    x = samples[0]
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, quiet(), torch.no_grad():
        net = Network(model, x, samples[:SAMPLES], lite, Path(folder))
        graph = pl.capture(model, (x,), name)
        graph = quantize(graph, [[sample] for sample in samples]) if mode == "int8" else graph
        want = real(model(x))
        run, answer = ours(graph, x, Path(folder))
        if differs(answer(run()), want, mode):
            raise RuntimeError(f"{name}, {mode}: the outputs are not PyTorch's")
        runs = {"Pilotlight": run}
        for system, start in RUNTIMES.items():
            try:
                run, answer = start(net, mode)
                if differs(answer(run()), want, mode):
                    missing[system] = "its outputs are not PyTorch's"
                else:
                    runs[system] = run
            except ImportError as error:
                missing[system] = f"{error.name or 'it'} is not installed"
            except Exception as error:  # a row of a table, not a reason to stop
                missing[system] = str(error).strip().splitlines()[0][:120] if str(error).strip() else repr(error)
        seconds = medians(runs)
    base = seconds.pop("Pilotlight")
    return Host(name, mode, 1e6 * base, {system: s / base for system, s in seconds.items()}, missing)


def differs(got: np.ndarray, want: np.ndarray, mode: str) -> bool:
    """Not the network that was asked for: off by more than rounding, or by more than int8 explains."""
    if got.shape != want.shape:
        return True
    limit = 1e-3 if mode == "float32" else 0.3
    return float(np.linalg.norm(got - want)) > limit * float(np.linalg.norm(want))


def medians(runs: dict[str, Run]) -> dict[str, float]:
    """Seconds of a call."""
    counts = {}
    for system, run in runs.items():
        run()
        start = time.process_time()
        run()
        counts[system] = max(1, int(AT_LEAST / max(time.process_time() - start, 1e-6)))
    times: dict[str, list[float]] = {system: [] for system in runs}
    for _ in range(ROUNDS):
        for system, run in runs.items():
            start = time.process_time()
            for _ in range(counts[system]):
                run()
            times[system].append((time.process_time() - start) / counts[system])
    return {system: statistics.median(t) for system, t in times.items()}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """The converters of other runtimes log a lot."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    words = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def markdown(rows: list[Host]) -> str:
    """The table, and a line for anything that is not in it."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "---:|" * (len(HEAD) - 2)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for system, reason in row.missing.items():
            reasons.setdefault(f"{system}, {row.mode}: {reason}", []).append(row.network)
    text = [
        "One thread, medians of one run. A number after Pilotlight's time says how many times as long the other",
        "system takes: below 1 it is faster. Pilotlight's C is what a board without vector instructions gets, compiled",
        "with `-O2` for any x86-64; the others have kernels written for this processor's vector extensions.",
    ]
    absent = [f"- {reason} ({', '.join(networks)})" for reason, networks in reasons.items()]
    return "\n".join(["## On this computer", "", *text, "", *lines, "", *absent, ""])
