"""Calibration data as people have it: samples, or batches as a DataLoader gives them.

An item is the model's inputs (one tensor, a tuple, or a dict by the names of the inputs), or a tuple that begins with
them; what follows, such as labels, is left out. An item whose tensors hold more along the first axis than the model's
own is cut into samples; a remainder that is smaller than the model's batch is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph

Sample = list[torch.Tensor]
LEAF = torch.Tensor | np.ndarray | np.generic | float | int | bool


def read_samples(graph: Graph, calibration: Any, limit: int) -> list[Sample]:
    """At most `limit` samples, each the flat tensors that the graph was captured with."""
    example = graph.truth.example
    args, kwargs = graph.torch_program.example_inputs or ((), {})
    names = [port.name for port in graph.inputs]
    found: list[Sample] = []
    for index, item in enumerate(_items(calibration)):
        for leaves in _readings(item, [*args, *kwargs.values()], names):
            cut = _cut(leaves, example)
            if cut is not None:
                found += cut
                break
        else:
            raise _refused(item, index, example)
        if len(found) >= limit:
            break
    if not found:
        raise PilotlightError(
            "the calibration data is empty", hint="give at least one sample, preferably a hundred", kind="calibration"
        )
    _check_values(found[:limit])
    return found[:limit]


def _items(calibration: Any) -> Iterable[Any]:
    """An iterable of the items; a Dataset has a length and is indexed."""
    if isinstance(calibration, Iterable) and not isinstance(calibration, str | bytes):
        return calibration
    if hasattr(calibration, "__getitem__") and hasattr(calibration, "__len__"):
        return (calibration[k] for k in range(len(calibration)))
    raise PilotlightError(
        f"the calibration data is a {type(calibration).__name__}; expected an iterable of samples",
        hint="give a list of inputs, or a DataLoader", kind="calibration",
    )


def _readings(item: Any, like: Sequence[Any], names: Sequence[str]) -> Iterator[list[Any]]:
    """The ways to read an item as the model's inputs, the most literal first."""
    sequence = isinstance(item, list | tuple)
    structured = _as(item if sequence else [item], like)
    if structured is not None:
        yield structured
    if isinstance(item, Mapping) and all(name in item for name in names):
        yield [item[name] for name in names]
    if not isinstance(item, Mapping):  # whose order says nothing
        yield pytree.tree_leaves(item)[: len(names)]
    if sequence and item and isinstance(item[0], list | tuple | Mapping):
        yield from _readings(item[0], like, names)


def _as(item: Any, like: Any) -> list[Any] | None:
    """The parts of an item where the example has tensors; a sequence may go on, a dict may hold more."""
    if isinstance(like, torch.Tensor):
        return [item] if isinstance(item, LEAF) else None
    if isinstance(like, Mapping):
        if not isinstance(item, Mapping) or not all(key in item for key in like):
            return None
        pairs = [(item[key], part) for key, part in like.items()]
    elif isinstance(like, list | tuple):
        if not isinstance(item, list | tuple):
            return None
        tensors = [part for part in like if _tensors(part)]  # numbers are part of the program
        parts = like if len(item) >= len(like) else tensors
        if len(item) < len(parts):
            return None
        pairs = list(zip(item, parts, strict=False))
    else:
        return []
    found: list[Any] = []
    for part, wanted in pairs:
        leaves = _as(part, wanted)
        if leaves is None:
            return None
        found += leaves
    return found


def _tensors(like: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(like) if isinstance(leaf, torch.Tensor)]


def _cut(leaves: list[Any], example: Sequence[torch.Tensor]) -> list[Sample] | None:
    """An item as samples, if its tensors fit."""
    if len(leaves) != len(example) or not all(isinstance(leaf, LEAF) for leaf in leaves):
        return None
    if not example:
        return [[]]
    columns = [_column(torch.as_tensor(leaf), like) for leaf, like in zip(leaves, example, strict=True)]
    if any(column is None for column in columns) or len({len(column or ()) for column in columns}) > 1:
        return None
    return [list(row) for row in zip(*[column or [] for column in columns], strict=True)]


def _column(x: torch.Tensor, like: torch.Tensor) -> list[torch.Tensor] | None:
    """The samples in one tensor: itself, one that lacks a batch of 1, many side by side, or many along the batch."""
    shape = like.shape
    if x.dtype != like.dtype:
        if not (x.is_floating_point() and like.is_floating_point()):
            return None
        x = x.to(like.dtype)
    if x.shape == shape:
        return [x]
    if shape[:1] == (1,) and x.shape == shape[1:]:
        return [x[None]]
    if x.shape[1:] == shape:
        return list(x)
    if len(shape) > 1 and x.shape[1:] == shape[1:] and shape[0] > 0:
        return [part for part in x.split(shape[0]) if len(part) == shape[0]]
    return None


def _refused(item: Any, index: int, example: Sequence[torch.Tensor]) -> PilotlightError:
    got = ", ".join(_text(leaf) for leaf in pytree.tree_leaves(item))
    want = ", ".join(_text(leaf) for leaf in example)
    return PilotlightError(
        f"calibration sample {index} is {got or 'nothing'}; expected {want}",
        hint="give the shapes and dtypes that the model was captured with, one sample at a time or a batch of them; "
        "what follows the inputs, such as labels, is left out",
        kind="calibration",
    )


def _text(leaf: Any) -> str:
    if not isinstance(leaf, torch.Tensor | np.ndarray):
        return type(leaf).__name__
    return f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}"


def _check_values(samples: list[Sample]) -> None:
    for index, sample in enumerate(samples):
        if any(t.is_floating_point() and not bool(torch.isfinite(t).all()) for t in sample):
            raise PilotlightError(
                f"calibration sample {index} holds NaN or infinity", hint="remove it from the data", kind="calibration"
            )
    for k, column in enumerate(zip(*samples, strict=True)):
        if column[0].is_floating_point() and column[0].numel() > 1:
            first = column[0].flatten()[0]
            if all(bool((t == first).all()) for t in column):
                raise PilotlightError(
                    f"input {k} of the calibration data has the same value {float(first):g} everywhere: "
                    "it shows no range",
                    hint="calibrate with real samples",
                    kind="calibration",
                )


def run_sample(model: Callable[..., object], samples: Sequence[Sequence[torch.Tensor]], number: int) -> None:
    """Run a model on one of the samples; one that PyTorch itself fails on is named."""
    try:
        model(*samples[number])
    except RuntimeError as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise PilotlightError(
            f"the model fails on calibration sample {number}: {text}",
            hint="remove this sample, or change the model so that it accepts it", kind="calibration",
        ) from error
