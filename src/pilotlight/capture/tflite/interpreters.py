"""TFLM and LiteRT on this computer, from PyPI's `tflite-micro` and `ai-edge-litert`, each in a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.capture.tflite.model import TfliteModel
from pilotlight.errors import PilotlightError

_SCRIPT = Path(__file__).with_name("interpreter_process.py")
_SMALLEST_ARENA, _LARGEST_ARENA = 1 << 20, 1 << 30
SECONDS = 120.0  # for one request


@dataclass(frozen=True)
class Runtime:
    """What runs `.tflite` files."""

    name: str
    module: str
    package: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None


TFLM = Runtime("TFLM", "tflite_micro", "tflite-micro")
LITERT = Runtime("LiteRT", "ai_edge_litert", "ai-edge-litert")


class InterpreterProcess:
    """One process that runs a model at a time; it is started again after it died."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None
        self.loaded: object = None  # whose model it holds

    def ask(self, request: dict[str, Any], data: bytes = b"") -> tuple[dict[str, Any], list[np.ndarray]]:
        """The answer; an error says what the runtime said, or that it died."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(request | {"bytes": len(data)}).encode() + b"\n" + data)
            process.stdin.flush()
            line = process.stdout.readline()
            fields = json.loads(line) if line else None
            arrays = [] if fields is None else [
                np.frombuffer(process.stdout.read(size), dtype).reshape(shape).copy()
                for dtype, shape, size in fields["arrays"]
            ]
        except (OSError, ValueError):
            fields, arrays = None, []
        finally:
            late.cancel()
        said = self._output()
        if fields is None:
            with contextlib.suppress(OSError):
                process.kill()
            code = process.wait()
            self._process, self.loaded = None, None
            raise PilotlightError(
                f"{self._runtime.name} cannot run this file: its process ended with {code}{_last(said)}",
                hint=f"the file may be damaged, or use {self._runtime.name} in a way that it does not check",
                kind="unsupported",
            )
        if "error" in fields:
            raise PilotlightError(
                f"{self._runtime.name} cannot run this file: {fields['error']}{_last(said)}", kind="unsupported"
            )
        return fields, arrays

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.loaded = None
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_SCRIPT), self._runtime.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._said,
            )
        return self._process

    def _output(self) -> str:
        """What it printed since the last time."""
        self._said.seek(0)
        text = self._said.read().decode("utf-8", "replace")
        self._said.seek(0)
        self._said.truncate()
        return str(text)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process, self.loaded = None, None


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f" ({lines[-1]})" if lines else ""


_PROCESSES = {runtime: InterpreterProcess(runtime) for runtime in (TFLM, LITERT)}
for _shared in _PROCESSES.values():
    atexit.register(_shared.close)


class Interpreter:
    """A model in a runtime; what it keeps between calls lasts until `reset`."""

    def __init__(self, model: TfliteModel, runtime: Runtime = TFLM):
        if not runtime.installed:
            raise PilotlightError(
                f"comparing with {runtime.name} needs the package {runtime.package}, which is not installed",
                hint="install it with: pip install 'pilotlight[tflite]', or "
                f"pip install --pre --no-deps {runtime.package}",
                kind="missing-tool",
            )
        self._model, self._process = model, _PROCESSES[runtime]
        self._most = _LARGEST_ARENA if runtime is TFLM else 0
        main = model.subgraphs[0]
        self._inputs, self._outputs = len(main.inputs), len(main.outputs)
        self._load()

    def _load(self) -> None:
        """With as much memory as it takes."""
        arena = max(_SMALLEST_ARENA, 10 * len(self._model.data))
        while True:
            request = {"do": "load", "arena": arena, "inputs": self._inputs}
            try:
                self._process.ask(request, self._model.data)
                break
            except PilotlightError as error:
                small = "rena" in error.message or "allocat" in error.message.lower() or "emory" in error.message
                if not small or arena >= self._most:
                    raise
                arena *= 8
        self._process.loaded = self

    def _here(self) -> None:
        if self._process.loaded is not self:
            self._load()

    def reset(self) -> None:
        self._here()
        self._process.ask({"do": "reset"})

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        self._here()
        data = [np.ascontiguousarray(x).tobytes() for x in inputs]
        request = {"do": "run", "sizes": [len(d) for d in data], "outputs": self._outputs}
        return self._process.ask(request, b"".join(data))[1]

    def allocations(self) -> str:
        """TFLM's own report about its arena, after a run."""
        return str(self._process.ask({"do": "allocations"})[0]["text"])
