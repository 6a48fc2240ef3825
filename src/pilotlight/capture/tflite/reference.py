"""The truth of a `.tflite` file: TFLM's answers, or LiteRT's where TFLM cannot run it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from pilotlight.capture.tflite.interpreters import LITERT, TFLM, Interpreter, Runtime
from pilotlight.capture.tflite.model import FileTensor, TfliteModel
from pilotlight.capture.tflite.site import DTYPES
from pilotlight.capture.tflite.weights import FilePatch, written_out
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, LayeredAnswers
from pilotlight.graph.dtypes import to_numpy, to_torch

_OUTPUTS = 2  # field of a subgraph
_EXACT = {  # operators that no runtime rounds
    "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "SHAPE", "RANK", "PACK", "UNPACK", "SPLIT", "SPLIT_V", "CONCATENATION",
    "SLICE", "STRIDED_SLICE", "TRANSPOSE", "PAD", "PADV2", "MIRROR_PAD", "GATHER", "GATHER_ND", "EMBEDDING_LOOKUP",
    "REVERSE_V2", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "FILL",
    "BROADCAST_TO", "ZEROS_LIKE", "TILE", "DYNAMIC_UPDATE_SLICE", "MAX_POOL_2D", "MAXIMUM", "MINIMUM", "REDUCE_MAX",
    "REDUCE_MIN", "TOPK_V2", "ARG_MAX", "ARG_MIN", "SELECT", "SELECT_V2", "DEQUANTIZE", "CAST",
}
_MOST_STEPS = 8  # that an output may be off, whatever the number of layers


class FileAnswers:
    """A model that a runtime runs again and again."""

    def __init__(self, model: TfliteModel, runtime: Runtime = TFLM):
        self._interpreter = Interpreter(model, runtime)
        main = model.subgraphs[0]
        self._results = [main.tensors[k].shape for k in main.outputs]

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        given = [to_numpy(torch.as_tensor(x)) for x in inputs]
        found = self._interpreter.run(given)
        return [to_torch(array.reshape(shape)) for array, shape in zip(found, self._results, strict=True)]

    def reset(self) -> None:
        self._interpreter.reset()


class FileLayers:
    """The same for a copy of the file in which the result of every operator is an output."""

    def __init__(self, model: TfliteModel, runtime: Runtime):
        main = model.subgraphs[0]
        self._outputs = len(main.outputs)
        made = [
            (operator.name, k) for operator in main.operators for k in operator.outputs
            if main.tensors[k].type in DTYPES and main.tensors[k].type != "UINT8" and not main.tensors[k].variable
        ]
        self._operators = [name for name, _ in made]
        outputs = (*main.outputs, *(k for _, k in made))
        whole = replace(main, outputs=outputs)
        data = with_outputs(model.data, outputs)
        self._answers = FileAnswers(replace(model, data=data, subgraphs=(whole, *model.subgraphs[1:])), runtime)
        self._found: list[torch.Tensor] = []

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        results = self._answers(*inputs)
        self._found = results[self._outputs :]
        return results[: self._outputs]

    def layers(self) -> list[tuple[str, torch.Tensor]]:
        return list(zip(self._operators, self._found, strict=True))

    def reset(self) -> None:
        self._answers.reset()


def with_outputs(data: bytes, outputs: Sequence[int]) -> bytes:
    """A file whose first subgraph has these outputs."""
    patch = FilePatch(data)
    first = patch.element(patch.field(patch.word(0), 2), 0)
    patch.point(patch.field(first, _OUTPUTS), len(outputs), struct.pack(f"<{len(outputs)}i", *outputs))
    return bytes(patch.data)


class TfliteReference:
    """TFLM with this file: bytes for integers, the float rule for floats. Weights are given to it written out: integers
    of float layers as float32, sparse ones with their zeros. LiteRT's reference kernels run what TFLM does not; they
    round some layers otherwise, so integers may be off by a step for each layer that rounds."""

    keywords = ()

    def __init__(self, model: TfliteModel, stateful: bool):
        self._model, self.stateful = model, stateful
        main = model.subgraphs[0]
        generator = np.random.default_rng(0)
        self.example = [torch.from_numpy(_example(main.tensors[k], generator)) for k in main.inputs]

    @cached_property
    def _file(self) -> TfliteModel:
        return written_out(self._model)

    @cached_property
    def _runtime(self) -> Runtime:
        """The first that runs the example; if none does, the first that loads the file: other inputs may do."""
        refused, loads = "", None
        for runtime in (TFLM, LITERT):
            if refused and not runtime.installed:
                if loads is not None:
                    return loads
                raise PilotlightError(
                    f"{refused}; LiteRT, which might, needs the package {runtime.package}, which is not installed",
                    hint=f"install it with: pip install --no-deps {runtime.package}", kind="missing-tool",
                )
            try:
                answers = FileAnswers(self._file, runtime)
                loads = loads or runtime
                answers(*self.example)
                return runtime
            except PilotlightError as error:
                if error.kind != "unsupported":
                    raise
                refused = f"{refused}; {error.message}" if refused else error.message
        if loads is None:
            raise PilotlightError(refused, kind="unsupported")
        return loads

    @property
    def name(self) -> str:
        return self._runtime.name

    @property
    def limits(self) -> list[float]:
        """Of LiteRT: a step for each operator that rounds; of a DEQUANTIZE its scale."""
        main = self._model.subgraphs[0]
        if self._runtime is not LITERT:
            return [0.0] * len(main.outputs)
        rounded = sum(
            operator.name not in _EXACT and any(_is_quantized(main.tensors[k]) for k in operator.outputs)
            for operator in main.operators
        )
        steps = min(rounded, _MOST_STEPS)
        scales = {
            operator.outputs[0]: main.tensors[operator.inputs[0]].affine for operator in main.operators
            if operator.name == "DEQUANTIZE"
        }
        found = []
        for k in main.outputs:
            affine = scales.get(k)
            unit = 1.0 if _is_quantized(main.tensors[k]) else 0.0 if affine is None else float(affine.scales[0])
            found.append(steps * unit)
        return found

    def in_float32(self) -> Answers:
        return FileAnswers(self._file, self._runtime)

    def in_layers(self) -> LayeredAnswers:
        return FileLayers(self._file, self._runtime)

    def in_float64(self) -> Iterator[Answers]:
        return iter(())


def _is_quantized(tensor: FileTensor) -> bool:
    return tensor.type in ("INT8", "UINT8", "INT16") and tensor.affine is not None


def _example(tensor: FileTensor, generator: np.random.Generator) -> np.ndarray:
    """Random numbers: the whole range of quantized ones, small integers where they may be indices."""
    dtype = DTYPES[tensor.type].numpy
    if tensor.type in ("FLOAT32", "FLOAT16"):
        return generator.standard_normal(tensor.shape).astype(dtype)
    if tensor.affine is not None and tensor.type in ("INT8", "INT16", "UINT8"):
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max + 1, tensor.shape).astype(dtype)
    return generator.integers(0, 2, tensor.shape).astype(dtype)
