"""Arm's TOSA reference model, a program of the PyPI package `tosa-tools`: what a TOSA file gives for inputs.

Its package asks for other versions of numpy and flatbuffers than ours; the program needs neither, so only it is
installed, next to Python (`scripts/setup.sh`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.npu.tosa import TosaGraph

PROGRAM = "tosa_reference_model"


def program() -> str | None:
    """Where the reference model is, if it is installed."""
    beside = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    return beside or shutil.which(PROGRAM)


def run(graph: TosaGraph, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a graph."""
    found = program()
    if found is None:
        raise MissingToolError(
            PROGRAM, None, "to check what the NPU is given", "make setup (it is a program of PyPI's tosa-tools)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.tosa").write_bytes(graph.serialize())
        for tensor, array in zip(graph.inputs, inputs, strict=True):
            np.save(folder / f"{tensor.name}.npy", np.ascontiguousarray(array).reshape(tensor.shape))
        results = [f"result_{k}" for k in range(len(graph.outputs))]

        def names(tensors: list[str], suffix: str = "") -> str:
            return ",".join(tensor + suffix for tensor in tensors)

        given, wanted = [t.name for t in graph.inputs], [t.name for t in graph.outputs]
        command = [
            found, "--tosa_file=model.tosa", f"--flatbuffer_dir={folder}", f"--output_dir={folder}",
            f"--ifm_name={names(given)}", f"--ifm_file={names(given, '.npy')}", f"--ofm_name={names(wanted)}",
            f"--ofm_file={names(results, '.npy')}", "--tosa_level=NONE",
        ]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and "WARN" not in line]
            said = " ".join(lines)[:500] or f"exit code {done.returncode}"
            raise PilotlightError(f"{PROGRAM} refused the graph: {said}", kind="internal")
        return [np.load(folder / f"{name}.npy") for name in results]
