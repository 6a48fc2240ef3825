"""Runs TFLM or LiteRT in a process of its own, as a script: whatever a file makes it do, who asked goes on.

Requests and answers are frames on standard input and output: a JSON line, then as many bytes as it says.
"""

import importlib
import json
import os
import sys
import tempfile
from typing import Any, BinaryIO

import numpy as np


class Server:
    """Holds one model."""

    def __init__(self, source: BinaryIO, sink: BinaryIO):
        self._source, self._sink = source, sink
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

    def start(self) -> None:
        """The interpreter of the model, as at its first call."""
        raise NotImplementedError

    def input_details(self, k: int) -> dict[str, Any]:
        raise NotImplementedError

    def run(self, inputs: list[np.ndarray], outputs: int) -> list[np.ndarray]:
        raise NotImplementedError

    def do_load(self, request: dict[str, Any], data: bytes) -> None:
        self._made = (data, request["arena"])
        self.start()
        details = [self.input_details(k) for k in range(request["inputs"])]
        self._inputs = [(d["dtype"], tuple(d["shape"])) for d in details]
        self._answer({})

    def do_reset(self, request: dict[str, Any], data: bytes) -> None:
        self.start()
        self._answer({})

    def do_run(self, request: dict[str, Any], data: bytes) -> None:
        at, inputs = 0, []
        for (dtype, shape), size in zip(self._inputs, request["sizes"], strict=True):
            inputs.append(np.frombuffer(data[at : at + size], dtype).reshape(shape))
            at += size
        self._answer({}, *self.run(inputs, request["outputs"]))


class TflmServer(Server):
    """TensorFlow Lite for Microcontrollers, which `tflite-micro` has."""

    def start(self) -> None:
        runtime = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
        self._interpreter = runtime.Interpreter.from_bytes(self._made[0], arena_size=self._made[1])

    def input_details(self, k: int) -> dict[str, Any]:
        return dict(self._interpreter.get_input_details(k))

    def run(self, inputs: list[np.ndarray], outputs: int) -> list[np.ndarray]:
        for k, x in enumerate(inputs):
            self._interpreter.set_input(x, k)
        self._interpreter.invoke()
        return [np.array(self._interpreter.get_output(k)) for k in range(outputs)]

    def do_allocations(self, request: dict[str, Any], data: bytes) -> None:
        with tempfile.TemporaryFile() as log:
            before = os.dup(2)
            os.dup2(log.fileno(), 2)
            self._interpreter.print_allocations()
            os.dup2(before, 2)
            os.close(before)
            log.seek(0)
            self._answer({"text": log.read().decode("utf-8", "replace")})


class LitertServer(Server):
    """LiteRT's reference kernels, which `ai-edge-litert` has."""

    def start(self) -> None:
        library = importlib.import_module("ai_edge_litert.interpreter")
        self._interpreter = library.Interpreter(
            model_content=self._made[0], num_threads=1,
            experimental_op_resolver_type=library.OpResolverType.BUILTIN_REF,
        )
        self._interpreter.allocate_tensors()

    def input_details(self, k: int) -> dict[str, Any]:
        return dict(self._interpreter.get_input_details()[k])

    def run(self, inputs: list[np.ndarray], outputs: int) -> list[np.ndarray]:
        for details, x in zip(self._interpreter.get_input_details(), inputs, strict=True):
            self._interpreter.set_tensor(details["index"], x)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(d["index"]) for d in self._interpreter.get_output_details()[:outputs]]


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an interpreter prints is no answer
    {"TFLM": TflmServer, "LiteRT": LitertServer}[sys.argv[1]](sys.stdin.buffer, answers).serve()
