"""The tests of the onnx package: a model, inputs and expected outputs each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import loader

EVERY = 4  # by name: these run on a board as well
SMALL = ("simple", "pytorch-converted", "pytorch-operator")


@dataclass(frozen=True)
class OnnxTest:
    """One test, with the operator that it is about."""

    name: str
    kind: str
    operator: str
    model: onnx.ModelProto
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float
    chosen: bool = False  # to run on a board as well


@cache
def node_tests() -> list[OnnxTest]:
    """The tests of single operators, without those of their definitions in other operators."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = loader.load_model_tests(kind="node")
    tests = []
    for test in sorted(found, key=lambda t: t.name):
        if not test.name.endswith("_expanded") and "_expanded_" not in test.name:
            ((inputs, outputs),) = test.data_sets
            tests.append(OnnxTest(test.name, "node", operator_of(test.model), test.model, list(map(_array, inputs)),
                                  list(map(_array, outputs)), test.rtol, test.atol, len(tests) % EVERY == 0))
    return tests


def _array(value: Any) -> Any:
    """Some tests have their data as ONNX stores them."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def operator_of(model: onnx.ModelProto) -> str:
    nodes = [node for node in model.graph.node if node.op_type not in ("Constant", "Identity")]
    first = (nodes or list(model.graph.node))[0]
    return f"{first.domain}.{first.op_type}" if first.domain not in ("", "ai.onnx") else first.op_type


@cache
def file_tests() -> list[OnnxTest]:
    """The tests that are files: networks that PyTorch exported, and a few of ONNX's own."""
    return [test for kind in SMALL for test in _files(kind)]


def _files(kind: str) -> Iterator[OnnxTest]:
    for found in sorted(loader.load_model_tests(kind=kind), key=lambda t: t.name):
        if found.model_dir is None:
            continue
        folder = Path(found.model_dir)
        model = onnx.load(folder / "model.onnx")
        data = sorted(folder.glob("test_data_set_*"))[0]
        inputs = [_tensor(path, port) for path, port in zip(_numbered(data, "input"), model.graph.input, strict=False)]
        outputs = [_tensor(path, port) for path, port in
                   zip(_numbered(data, "output"), model.graph.output, strict=False)]
        yield OnnxTest(found.name, kind, kind, model, inputs, outputs, found.rtol, found.atol)


def _numbered(folder: Path, what: str) -> list[Path]:
    return sorted(folder.glob(f"{what}_*.pb"), key=lambda path: int(path.stem.rpartition("_")[2]))


def _tensor(path: Path, port: onnx.ValueInfoProto) -> Any:
    if not port.type.HasField("tensor_type"):
        return [None]
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
