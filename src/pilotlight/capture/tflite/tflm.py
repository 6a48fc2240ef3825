"""TFLM on this computer: PyPI's `tflite-micro`, in a process of its own."""

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
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.capture.tflite.model import TfliteModel
from pilotlight.errors import PilotlightError

_SCRIPT = Path(__file__).with_name("tflm_process.py")
_SMALLEST_ARENA, _LARGEST_ARENA = 1 << 20, 1 << 30
SECONDS = 120.0  # for one request


def tflm_is_installed() -> bool:
    return importlib.util.find_spec("tflite_micro") is not None


class TflmProcess:
    """One process that runs a model at a time; it is started again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None
        self.loaded: object = None  # whose model it holds

    def ask(self, request: dict[str, Any], data: bytes = b"") -> tuple[dict[str, Any], list[np.ndarray]]:
        """The answer; an error says what TFLM said, or that it died."""
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
                f"TFLM cannot run this file: its process ended with {code}{_last(said)}",
                hint="the file may be damaged, or use TFLM in a way that it does not check", kind="unsupported",
            )
        if "error" in fields:
            raise PilotlightError(f"TFLM cannot run this file: {fields['error']}{_last(said)}", kind="unsupported")
        return fields, arrays

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.loaded = None
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
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


_SHARED = TflmProcess()
atexit.register(_SHARED.close)


class TflmInterpreter:
    """A model in TFLM; what it keeps between calls lasts until `reset`."""

    def __init__(self, model: TfliteModel):
        if not tflm_is_installed():
            raise PilotlightError(
                "comparing with TFLM needs the package tflite-micro, which is not installed",
                hint="install it with: pip install 'pilotlight[tflite]', or pip install --pre --no-deps tflite-micro",
                kind="missing-tool",
            )
        self._model = model
        main = model.subgraphs[0]
        self._inputs, self._outputs = len(main.inputs), len(main.outputs)
        self._load()

    def _load(self) -> None:
        """With as much memory as it takes."""
        arena = max(_SMALLEST_ARENA, 10 * len(self._model.data))
        while True:
            request = {"do": "load", "arena": arena, "inputs": self._inputs}
            try:
                _SHARED.ask(request, self._model.data)
                break
            except PilotlightError as error:
                small = "rena" in error.message or "allocat" in error.message.lower() or "emory" in error.message
                if not small or arena >= _LARGEST_ARENA:
                    raise
                arena *= 8
        _SHARED.loaded = self

    def _here(self) -> None:
        if _SHARED.loaded is not self:
            self._load()

    def reset(self) -> None:
        self._here()
        _SHARED.ask({"do": "reset"})

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        self._here()
        data = [np.ascontiguousarray(x).tobytes() for x in inputs]
        request = {"do": "run", "sizes": [len(d) for d in data], "outputs": self._outputs}
        return _SHARED.ask(request, b"".join(data))[1]

    def allocations(self) -> str:
        """TFLM's own report about its arena, after a run."""
        return str(_SHARED.ask({"do": "allocations"})[0]["text"])
