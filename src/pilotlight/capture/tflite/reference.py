"""TFLM's answers as the truth of a `.tflite` file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pilotlight.capture.tflite.model import FileTensor, TfliteModel
from pilotlight.capture.tflite.site import DTYPES
from pilotlight.capture.tflite.tflm import TflmInterpreter
from pilotlight.graph import Answers, LayeredAnswers
from pilotlight.graph.dtypes import to_numpy, to_torch

NAME = "TFLM"


class TflmAnswers:
    """A model that TFLM runs again and again."""

    def __init__(self, model: TfliteModel):
        self._interpreter = TflmInterpreter(model)
        main = model.subgraphs[0]
        self._results = [main.tensors[k].shape for k in main.outputs]

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        given = [to_numpy(torch.as_tensor(x)) for x in inputs]
        found = self._interpreter.run(given)
        return [to_torch(array.reshape(shape)) for array, shape in zip(found, self._results, strict=True)]

    def reset(self) -> None:
        self._interpreter.reset()


class TflmLayers:
    """The same for a copy of the file in which the result of every operator is an output."""

    def __init__(self, model: TfliteModel):
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
        self._answers = TflmAnswers(replace(model, data=data, subgraphs=(whole, *model.subgraphs[1:])))
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
    """A file whose first subgraph has these outputs: the list is added at the end, and pointed to. The offsets were
    checked when the file was read."""

    def word(at: int) -> int:
        return int.from_bytes(data[at : at + 4], "little")

    def field(table: int, number: int) -> int:
        places = table - struct.unpack_from("<i", data, table)[0]
        return table + int(struct.unpack_from("<H", data, places + 4 + 2 * number)[0])

    subgraphs = field(word(0), 2)
    first = subgraphs + word(subgraphs) + 4
    pointer = field(first + word(first), 2)
    padded = data + bytes(-len(data) % 4)
    offset = struct.pack("<I", len(padded) - pointer)
    numbers = struct.pack(f"<I{len(outputs)}i", len(outputs), *outputs)
    return padded[:pointer] + offset + padded[pointer + 4 :] + numbers


class TflmReference:
    """TFLM with this file: bytes for integers, the float rule for floats."""

    name = NAME
    keywords = ()

    def __init__(self, model: TfliteModel, stateful: bool):
        self._model, self.stateful = model, stateful
        main = model.subgraphs[0]
        generator = np.random.default_rng(0)
        self.example = [torch.from_numpy(_example(main.tensors[k], generator)) for k in main.inputs]

    def in_float32(self) -> Answers:
        return TflmAnswers(self._model)

    def in_layers(self) -> LayeredAnswers:
        return TflmLayers(self._model)

    def in_float64(self) -> Iterator[Answers]:
        return iter(())


def _example(tensor: FileTensor, generator: np.random.Generator) -> np.ndarray:
    """Random numbers: the whole range of quantized ones, small integers where they may be indices."""
    dtype = DTYPES[tensor.type].numpy
    if tensor.type in ("FLOAT32", "FLOAT16"):
        return generator.standard_normal(tensor.shape).astype(dtype)
    if tensor.affine is not None and tensor.type in ("INT8", "INT16", "UINT8"):
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max + 1, tensor.shape).astype(dtype)
    return generator.integers(0, 2, tensor.shape).astype(dtype)
