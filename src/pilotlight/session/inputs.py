"""Samples from files."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from pilotlight.capture.reference import one_thread
from pilotlight.errors import PilotlightError, no_file
from pilotlight.graph import Answers, Port
from pilotlight.graph.dtypes import convert, to_torch
from pilotlight.graph.lengths import torch_ports

Row = TypeVar("Row")
CALIBRATION_RUNS = 16  # of a quantized model without other inputs
LABELLED_RUNS = 512  # with labels


def calibration_runs(
    samples: list[list[torch.Tensor]], labels: torch.Tensor | None
) -> tuple[list[list[torch.Tensor]], torch.Tensor | None]:
    """The samples that a quantized model runs if no inputs are given: a few, or more if they have labels."""
    count = CALIBRATION_RUNS if labels is None else LABELLED_RUNS
    return samples[:count], None if labels is None else labels[:count]


def possible(answers: Answers, rows: list[Row], least: int, inputs: Callable[[Row], list[torch.Tensor]]) -> list[Row]:
    """The first rows that the model itself takes one after another, such as until a cache is full; `least` must be."""
    for number, row in enumerate(rows):
        try:
            with one_thread():
                answers(*inputs(row))
        except PilotlightError:
            if number < least:
                raise
            return rows[:number]
    return rows


def read_inputs(path: Path, ports: list[Port]) -> tuple[list[list[torch.Tensor]], torch.Tensor | None]:
    """Samples from an .npz: one array per model input, in order; `label`, if present, holds their classes."""
    if not path.is_file():
        raise no_file(path)
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("an .npz file is a zip archive, and this is not")
        with np.load(path) as data:
            arrays = [data[k] for k in data.files if k != "label"]
            label = data["label"] if "label" in data.files else None
    except (OSError, ValueError, TypeError, AttributeError, EOFError, RuntimeError, zlib.error,
            zipfile.BadZipFile) as error:
        raise PilotlightError(
            f"{path} cannot be read: {error}", hint="write it with numpy.savez", kind="broken-file"
        ) from error
    ports = torch_ports(ports)
    if len(arrays) != len(ports):
        raise PilotlightError(
            f"{path} holds {len(arrays)} arrays; the model has {len(ports)} inputs",
            hint="give one array per input, in order, with the samples along the first axis",
            kind="wrong-input",
        )
    columns = [_samples(path, array, port) for array, port in zip(arrays, ports, strict=True)]
    counts = {len(c) for c in columns}
    if counts == {0} or len(counts) != 1:
        raise PilotlightError(f"{path}: the arrays hold {sorted(counts)} samples; expected one number, not 0",
                              kind="wrong-input")
    if label is not None and (label.shape != (len(columns[0]),) or label.dtype.kind not in "iu"):
        raise PilotlightError(
            f"{path}: label is {label.dtype} of shape {list(label.shape)}; expected one whole number, the class, for "
            f"each sample: [{len(columns[0])}]", kind="wrong-input",
        )
    labels = None if label is None else torch.from_numpy(label.astype(np.int64))
    return [list(row) for row in zip(*columns, strict=True)], labels


def _samples(path: Path, array: np.ndarray, port: Port) -> list[torch.Tensor]:
    """Sample i is a[i], or a[i:i+1] where the model's own first dimension is 1 and the array has none."""
    shape, dtype = port.shape, port.value.dtype
    if port.is_complex and array.dtype.kind == "c":
        array = array.astype(np.complex64)
    elif not port.is_complex and array.dtype != dtype.numpy and array.dtype.kind == "f" and dtype.kind in "fh":
        array = convert(array, dtype)
    expected = np.dtype(np.complex64) if port.is_complex else dtype.numpy
    if array.dtype != expected:
        raise PilotlightError(
            f"{path}: input {port.name} is {array.dtype}; expected {'complex64' if port.is_complex else dtype}",
            kind="wrong-input",
        )
    tensor = to_torch(np.ascontiguousarray(array))
    for axis, _ in port.sizes:  # as long as the samples are; what is out of bounds is refused when it runs
        if array.ndim == len(shape) + 1:
            shape = (*shape[:axis], array.shape[axis + 1], *shape[axis + 1 :])
    if array.shape[1:] == shape:
        return list(tensor)
    if shape and shape[0] == 1 and array.shape[1:] == shape[1:]:
        return [tensor[i : i + 1] for i in range(len(tensor))]
    raise PilotlightError(
        f"{path}: input {port.name!r} has samples of shape {list(array.shape[1:])}; expected {list(shape)}",
        hint="the first axis of each array numbers the samples",
        kind="wrong-input",
    )
