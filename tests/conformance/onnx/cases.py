"""A test as a case: its data arrive at run time; what a compiled model must know before, such as axes, is baked in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from conformance.cases import Case
from conformance.onnx.tests import OnnxTest
from pilotlight.capture.onnx import operators
from pilotlight.capture.onnx.file import normalized
from pilotlight.capture.onnx.importer import imported
from pilotlight.capture.onnx.inputs import ports
from pilotlight.capture.onnx.support import check_operators
from pilotlight.capture.onnx.types import as_tensor
from pilotlight.errors import PilotlightError
from pilotlight.graph.dtypes import from_torch

RUN_TIME, BAKED, CONSTANT = "run time", "baked", "constant"  # which inputs arrive at run time: all, some, none


@dataclass(frozen=True)
class OnnxCase(Case):
    """The test's module with the inputs that it is given at run time, and what it should give."""

    test: OnnxTest
    baked: tuple[str, ...]

    def expected(self) -> list[torch.Tensor]:
        return [_checked(value, f"output {k}") for k, value in enumerate(self.test.outputs)]


def fixed_inputs(graph: onnx.GraphProto) -> set[str]:
    """Inputs that operators need before the model runs: shapes, axes, counts."""
    found = set()
    for node in graph.node:
        operator = operators.find(node.domain, node.op_type)
        if operator is not None:
            found |= {name for k, name in enumerate(node.input) if operator.input_name(k) in operator.fixed}
    return found


def make_case(test: OnnxTest, index: int) -> OnnxCase:
    """Raises PilotlightError where the test is refused."""
    model = normalized(test.model, Path(test.name))
    check_operators(model)
    wanted = fixed_inputs(model.graph)
    given: dict[str, torch.Tensor] = {}
    baked: dict[str, np.ndarray] = {}
    for name, value in zip(ports(model.graph), test.inputs, strict=False):
        if name in wanted and not isinstance(value, list | None):
            baked[name] = np.asarray(value)
        else:
            given[name] = _checked(value, f"input {name!r}")
    for k, value in enumerate(test.outputs):
        _checked(value, f"output {k}")
    body = imported(model.graph, given, baked)
    kind = CONSTANT if not given else BAKED if baked else RUN_TIME
    return OnnxCase(test.operator, kind, index, body, tuple(given.values()), {}, test, tuple(baked))


def _checked(value: Any, what: str) -> torch.Tensor:
    """A tensor of a type that kernels handle."""
    if isinstance(value, list | None):
        raise PilotlightError(f"{what} is a sequence or an optional value; expected a tensor", kind="unsupported")
    array = np.asarray(value)
    tensor = as_tensor(array) if array.dtype.name not in ("int4", "uint4", "int2", "uint2") else None
    if tensor is None:
        name = "string" if array.dtype.kind in "OUS" else array.dtype.name
        raise PilotlightError(f"{what} has type {name}, which no kernel handles", kind="dtype")
    from_torch(tensor.dtype, what)
    return tensor


def named(tests: Sequence[OnnxTest], operator: str) -> list[OnnxTest]:
    return [test for test in tests if test.operator == operator]
