"""TFLM's answers as the truth of a `.tflite` file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from pilotlight.capture.tflite.model import FileTensor, TfliteModel
from pilotlight.capture.tflite.site import DTYPES
from pilotlight.capture.tflite.tflm import TflmInterpreter
from pilotlight.graph import Answers
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
