"""`--input` and `--bake` for an ONNX model, whose file says what its inputs are called and of which type they are."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from pilotlight.capture.inputs import parse_input
from pilotlight.capture.onnx.types import TORCH, type_name
from pilotlight.errors import PilotlightError
from pilotlight.graph.builder import check_size
from pilotlight.graph.dtypes import from_torch

Ports = dict[str, onnx.ValueInfoProto]


def ports(graph: onnx.GraphProto) -> Ports:
    """The inputs that are given when the model runs; old files list their weights among them."""
    weights = {tensor.name for tensor in graph.initializer}
    return {port.name: port for port in graph.input if port.name not in weights}


def read_baked(
    wanted: Ports, baked: Sequence[str] | Mapping[str, Any], path: Path
) -> dict[str, np.ndarray]:
    """Inputs whose values are part of the compiled model: `axes=1`, `sizes=[1,3,8,8]`, `k=k.npy`."""
    pairs = baked.items() if isinstance(baked, Mapping) else [_pair(text) for text in baked]
    values: dict[str, np.ndarray] = {}
    for name, value in pairs:
        if name not in wanted:
            raise _wrong(f"--bake: {path} has no input {name!r}", wanted)
        values[name] = _array(value, wanted[name])
    return values


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise PilotlightError(
            f"--bake {text!r} is not understood", kind="usage",
            hint="write NAME=VALUE, such as axes=1, or NAME=FILE.npy",
        )
    return name, value


def _array(value: Any, port: onnx.ValueInfoProto) -> np.ndarray:
    kind = port.type.tensor_type.elem_type
    if kind not in TORCH or TORCH[kind] == torch.bfloat16:
        raise PilotlightError(f"--bake: input {port.name!r} is of type {type_name(kind)}, which cannot be given",
                              kind="dtype")
    wanted = onnx.helper.tensor_dtype_to_np_dtype(kind)
    if isinstance(value, str) and value.endswith(".npy"):
        try:
            array = np.load(value, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise PilotlightError(
                f"--bake {port.name}={value} cannot be read: {error}", hint="write it with numpy.save",
                kind="broken-file",
            ) from error
    else:
        try:
            array = np.asarray(ast.literal_eval(value) if isinstance(value, str) else value)
        except (ValueError, SyntaxError) as error:
            raise PilotlightError(
                f"--bake {port.name}={value} is neither a number, nor a list of numbers, nor a .npy file",
                hint=f"write {port.name}=1 or {port.name}=[1,2]", kind="usage",
            ) from error
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and wanted.kind != "f"):
        raise PilotlightError(
            f"--bake: the value of {port.name!r} is {array.dtype}; expected {type_name(kind)}", kind="wrong-input"
        )
    rank = len(port.type.tensor_type.shape.dim) if port.type.tensor_type.HasField("shape") else array.ndim
    if array.ndim == 0 and rank == 1:
        array = array.reshape(1)
    if array.ndim != rank:
        raise PilotlightError(
            f"--bake: the value of {port.name!r} has {array.ndim} axes; expected {rank}", kind="wrong-input"
        )
    return array.astype(wanted)


def read_examples(wanted: Ports, inputs: Sequence[str], path: Path) -> dict[str, torch.Tensor]:
    """An example for each input, with the shape that `--input` or the file gives it."""
    shapes: dict[str, str] = {}
    for number, text in enumerate(inputs):
        name, equals, shape = text.rpartition("=")
        if not equals:
            if number >= len(wanted):
                raise _wrong(f"{path} takes {len(wanted)} inputs, got {len(inputs)}", wanted)
            name = list(wanted)[number]
        if name not in wanted:
            raise _wrong(f"{path} has no input {name!r}", wanted)
        shapes[name] = shape
    return {name: _example(port, shapes.get(name), number) for number, (name, port) in enumerate(wanted.items())}


def _example(port: onnx.ValueInfoProto, given: str | None, number: int) -> torch.Tensor:
    what = f"input {port.name!r}"
    if not port.type.HasField("tensor_type"):
        kind = port.type.WhichOneof("value") or "nothing"
        raise PilotlightError(f"{what} is a {kind.removesuffix('_type')}; expected a tensor", kind="unsupported")
    kind = port.type.tensor_type.elem_type
    if kind not in TORCH:
        raise PilotlightError(
            f"{what} has type {type_name(kind)}, which no kernel handles", kind="dtype",
            hint="export the model with inputs of float32 or int8",
        )
    dtype = from_torch(TORCH[kind], what)
    if given is None:
        given = "x".join(map(str, _sizes(port))) or "scalar"
    shape, colon, named = given.partition(":")
    example = parse_input(f"{shape}:{named if colon else dtype.name}", number)
    if example.dtype != dtype.torch:
        raise PilotlightError(
            f"{what} has type {dtype.name} in the file; --input says {named}", hint=f"write {port.name}={shape}",
            kind="wrong-input",
        )
    dims = port.type.tensor_type.shape.dim if port.type.tensor_type.HasField("shape") else None
    if dims is not None:
        fits = len(dims) == example.dim() and all(
            not d.HasField("dim_value") or d.dim_value in (n, 0, -1) for d, n in zip(dims, example.shape, strict=True))
        if not fits:
            raise PilotlightError(
                f"{what} is {_shown(port)} in the file; --input says {shape}", hint="give sizes for its names only",
                kind="wrong-input",
            )
    check_size(dtype, example.shape, what)
    return example


def _sizes(port: onnx.ValueInfoProto) -> list[int]:
    """The shape in the file; an error if it has sizes that only a call knows."""
    kind = port.type.tensor_type
    if kind.HasField("shape") and all(d.HasField("dim_value") and d.dim_value > 0 for d in kind.shape.dim):
        return [int(d.dim_value) for d in kind.shape.dim]
    whole = "x".join(str(d.dim_value) if d.HasField("dim_value") and d.dim_value > 0 else "1" for d in kind.shape.dim)
    raise PilotlightError(
        f"input {port.name!r} is {_shown(port)} in the file: its size is not known before the model runs",
        hint=f"give it: --input {port.name}={whole or '1x3x96x96'}, or its value with --bake {port.name}=VALUE",
        kind="dynamic-shape",
    )


def _shown(port: onnx.ValueInfoProto) -> str:
    kind = port.type.tensor_type
    if not kind.HasField("shape"):
        return "of any shape"
    return "x".join(str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in kind.shape.dim) \
        or "a scalar"


def _wrong(message: str, wanted: Ports) -> PilotlightError:
    takes = ", ".join(f"{name}={_shown(port)}" for name, port in wanted.items()) or "none"
    return PilotlightError(message, hint=f"its inputs are: {takes}", kind="wrong-input")
