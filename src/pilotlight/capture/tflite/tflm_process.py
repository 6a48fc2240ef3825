"""Runs TFLM in a process of its own, as a script: whatever a file makes it do, the process that asked goes on.

Requests and answers are frames on standard input and output: a JSON line, then as many bytes as it says.
"""

import importlib
import json
import os
import sys
import tempfile
from typing import Any, BinaryIO

import numpy as np


class TflmServer:
    """Holds one model."""

    def __init__(self, source: BinaryIO, sink: BinaryIO):
        self._source, self._sink = source, sink
        self._runtime: Any = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
        self._interpreter: Any = None
        self._made: tuple[bytes, int] = (b"", 0)
        self._inputs: list[tuple[Any, tuple[int, ...]]] = []

    def serve(self) -> None:
        for line in self._source:
            request = json.loads(line)
            data = self._source.read(request["bytes"])
            try:
                getattr(self, f"do_{request['do']}")(request, data)
            except Exception as error:
                self._answer({"error": f"{type(error).__name__}: {error}"})

    def _answer(self, fields: dict[str, Any], *arrays: np.ndarray) -> None:
        data = [np.ascontiguousarray(a).tobytes() for a in arrays]
        fields["arrays"] = [[str(a.dtype), list(a.shape), len(d)] for a, d in zip(arrays, data, strict=True)]
        self._sink.write(json.dumps(fields).encode() + b"\n" + b"".join(data))
        self._sink.flush()

    def _start(self) -> None:
        data, arena = self._made
        self._interpreter = self._runtime.Interpreter.from_bytes(data, arena_size=arena)

    def do_load(self, request: dict[str, Any], data: bytes) -> None:
        self._made = (data, request["arena"])
        self._start()
        details = [self._interpreter.get_input_details(k) for k in range(request["inputs"])]
        self._inputs = [(d["dtype"], tuple(d["shape"])) for d in details]
        self._answer({})

    def do_reset(self, request: dict[str, Any], data: bytes) -> None:
        self._start()
        self._answer({})

    def do_run(self, request: dict[str, Any], data: bytes) -> None:
        at = 0
        for k, ((dtype, shape), size) in enumerate(zip(self._inputs, request["sizes"], strict=True)):
            self._interpreter.set_input(np.frombuffer(data[at : at + size], dtype).reshape(shape), k)
            at += size
        self._interpreter.invoke()
        self._answer({}, *(np.array(self._interpreter.get_output(k)) for k in range(request["outputs"])))

    def do_allocations(self, request: dict[str, Any], data: bytes) -> None:
        with tempfile.TemporaryFile() as log:
            before = os.dup(2)
            os.dup2(log.fileno(), 2)
            self._interpreter.print_allocations()
            os.dup2(before, 2)
            os.close(before)
            log.seek(0)
            self._answer({"text": log.read().decode("utf-8", "replace")})


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what TFLM prints is no answer
    TflmServer(sys.stdin.buffer, answers).serve()
