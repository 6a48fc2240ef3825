"""Slices and permutes around operators that walk with strides become part of the walk."""

from __future__ import annotations

import numpy as np

from pilotlight import ops
from pilotlight.codegen.loops import element_indices
from pilotlight.graph import Graph, Node, Value
from pilotlight.ops.strided import Strided, StridedWalk
from pilotlight.ops.views import Window
from pilotlight.passes.edit import Editor

MOST_KEPT = 4  # a tensor is kept alive for a window only if it is at most this many times larger
LARGE = 1 << 22  # elements above which walks are not composed


def absorb_windows(graph: Graph) -> Graph:
    """Let operators read through the slices and permutes before them and write through the permute after them."""
    edit = Editor(graph)
    for node in edit:
        op = ops.get(node.op)
        if isinstance(op, Strided):
            for k in range(op.strided):
                _absorb_input(edit, node, op, k)
            _absorb_output(edit, node, op)
    return edit.done()


def _absorb_input(edit: Editor, node: Node, op: Strided, k: int) -> None:
    """Try every tensor up a chain of windows; the farthest that fits wins."""
    value = node.inputs[k]
    if k in node.attrs.get("reads", {}) or value.elements > LARGE:
        return
    shape, index = value.shape, np.arange(value.elements)
    best: tuple[Value, StridedWalk] | None = None
    copied = False
    base = value
    while (above := edit.producers.get(base)) is not None and isinstance(ops.get(above.op), Window):
        window = ops.get(above.op)
        assert isinstance(window, Window)
        index = element_indices(above.output.shape, *window.walk(above))[index]
        copied |= window.view_offset(above) is None
        base = above.inputs[0]
        walk = _affine(index.reshape(shape))
        if walk is not None and copied and base.bytes <= MOST_KEPT * value.bytes and not base.is_constant:
            if _try(node, op, k, base, walk):
                best = (base, walk)
            node.inputs[k] = value
            node.attrs.get("reads", {}).pop(k, None)
    if best is not None:
        edit.read(node, [*node.inputs[:k], best[0], *node.inputs[k + 1 :]])
        node.attrs["reads"] = {**node.attrs.get("reads", {}), k: best[1]}
    elif not node.attrs.get("reads", True):
        del node.attrs["reads"]


def _try(node: Node, op: Strided, k: int, base: Value, walk: StridedWalk) -> bool:
    node.inputs[k] = base
    node.attrs["reads"] = {**node.attrs.get("reads", {}), k: walk}
    return op.accepts(node)


def _absorb_output(edit: Editor, node: Node, op: Strided) -> None:
    y = node.output
    if not edit.alone(y) or y.elements > LARGE:
        return
    (permute,) = edit.readers(y)
    if permute.op != "permute":
        return
    window = ops.get("permute")
    assert isinstance(window, Window)
    from_y = element_indices(permute.output.shape, *window.walk(permute))
    place = np.empty_like(from_y)
    place[from_y] = np.arange(len(from_y))
    walk = _affine(place.reshape(y.shape))
    if walk is None:
        return
    node.attrs["writes"] = (permute.output.shape, walk)
    node.outputs = permute.outputs
    accepted = op.accepts(node)
    node.outputs = [y]
    if accepted:
        edit.remove(permute)
        edit.write(node, permute.outputs)
    else:
        del node.attrs["writes"]


def _affine(index: np.ndarray) -> StridedWalk | None:
    """The strides of an index array, if it has any; dimensions of size 1 get 0."""
    offset = int(index.flat[0]) if index.size else 0
    strides = []
    for axis, size in enumerate(index.shape):
        first = [0] * index.ndim
        first[axis] = min(1, size - 1)
        strides.append(int(index[tuple(first)]) - offset if index.size else 0)
    walk = StridedWalk(index.shape, tuple(strides), offset)
    same = np.array_equal(element_indices(index.shape, walk.strides, offset), index.reshape(-1))
    return walk if same else None
