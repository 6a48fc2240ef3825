"""Weights that a file stores sparsely, as dense arrays.

The dimensions of a sparse tensor, those of its blocks after them, are stored in `traversal_order`; each is dense, or
lists for every place of the dimensions before it which indices have values (compressed sparse rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pilotlight.errors import PilotlightError

Broken = Callable[[str], PilotlightError]
_SPARSE_CSR = 1


def dense_values(schema: Any, sparsity: Any, values: np.ndarray, shape: tuple[int, ...], broken: Broken) -> np.ndarray:
    """All elements of a sparse tensor, zeros included."""
    order = [int(n) for n in sparsity.TraversalOrderAsNumpy()] if sparsity.TraversalOrderLength() else []
    blocks = [int(n) for n in sparsity.BlockMapAsNumpy()] if sparsity.BlockMapLength() else []
    levels = [sparsity.DimMetadata(k) for k in range(sparsity.DimMetadataLength())]
    rank = len(shape)
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise broken(f"sparse in {len(levels)} dimensions with the order {order}; its shape is {list(shape)}")
    if any(not 0 <= axis < rank for axis in blocks):
        raise broken(f"its blocks are along {blocks}; its shape is {list(shape)}")
    sizes = [int(n) for n in shape]
    block_sizes = [0] * len(blocks)
    for level, dimension in zip(levels, order, strict=True):
        if dimension >= rank:
            block_sizes[dimension - rank] = int(level.DenseSize())
    for axis, size in zip(blocks, block_sizes, strict=True):
        if size <= 0 or sizes[axis] % size:
            raise broken(f"blocks of {size} do not fill axis {axis} of {list(shape)}")
        sizes[axis] //= size
    extent = [*sizes, *block_sizes]
    places = np.zeros((1, len(extent)), np.int64)
    for level, dimension in zip(levels, order, strict=True):
        places = _next_level(schema, level, dimension, extent[dimension], places, len(values), broken)
    if len(places) != len(values):
        raise broken(f"{len(values)} values for {len(places)} places")
    index = [places[:, axis] for axis in range(rank)]
    for number, axis in enumerate(blocks):
        index[axis] = index[axis] * block_sizes[number] + places[:, rank + number]
    dense = np.zeros(shape, values.dtype)
    dense[tuple(index)] = values
    return dense


def _next_level(
    schema: Any, level: Any, dimension: int, extent: int, places: np.ndarray, most: int, broken: Broken
) -> np.ndarray:
    """The places with values, one dimension further."""
    if level.Format() != _SPARSE_CSR:
        if len(places) * extent > max(most, 1):
            raise broken(f"more than its {most} values")
        found = np.repeat(places, extent, axis=0)
        found[:, dimension] = np.tile(np.arange(extent), len(places))
        return found
    segments, indices = (
        _numbers(schema, kind, table, broken) for kind, table in (
            (level.ArraySegmentsType(), level.ArraySegments()), (level.ArrayIndicesType(), level.ArrayIndices())
        )
    )
    counts = np.diff(segments)
    if len(segments) != len(places) + 1 or segments[0] != 0 or np.any(counts < 0) or segments[-1] != len(indices):
        raise broken("its rows do not end where the next begin")
    if len(indices) and (indices.min() < 0 or indices.max() >= extent):
        raise broken(f"an index is outside its {extent}")
    found = np.repeat(places, counts, axis=0)
    found[:, dimension] = indices
    return found


def _numbers(schema: Any, kind: int, table: Any, broken: Broken) -> np.ndarray:
    kinds: dict[int, Any] = {1: schema.Int32Vector, 2: schema.Uint16Vector, 3: schema.Uint8Vector}
    if kind not in kinds or table is None:
        raise broken("a list of its rows is missing")
    vector = kinds[kind]()
    vector.Init(table.Bytes, table.Pos)
    return np.array(vector.ValuesAsNumpy() if vector.ValuesLength() else [], np.int64)
