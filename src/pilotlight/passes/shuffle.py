"""Channel shuffles as one operator while the layout is chosen.

A shuffle is written reshape → permute → reshape, but it moves nothing across dimensions: it is the same in any
order of them. In three pieces it would stop the permutes that are to meet their inverses after it.
"""

from __future__ import annotations

from pilotlight.graph import Graph, Node
from pilotlight.passes.edit import Editor


def join_shuffles(graph: Graph) -> Graph:
    """reshape → permute → reshape that stays inside one dimension becomes `shuffle`."""
    edit = Editor(graph)
    for node in edit:
        if node.op != "permute" or not edit.alone(node.inputs[0]) or not edit.alone(node.output):
            continue
        split, (merge,) = edit.producers.get(node.inputs[0]), edit.readers(node.output)
        if split is None or split.op != "reshape" or merge.op != "reshape":
            continue
        attrs = _inside_one_dimension(split, node)
        if attrs is not None and merge.output.shape == split.inputs[0].shape:
            edit.exchange(merge, Node("shuffle", split.inputs, merge.outputs, attrs, node.place))
            edit.remove(node)
            edit.remove(split)
    return edit.done()


def _inside_one_dimension(split: Node, permute: Node) -> dict[str, object] | None:
    """The dimension that is split, into what, and in which order the pieces come out."""
    whole, pieces, perm = split.inputs[0].shape, split.output.shape, permute.attrs["perm"]
    count = len(pieces) - len(whole) + 1
    for axis in range(len(whole) if count > 1 else 0):
        sizes, order = pieces[axis : axis + count], perm[axis : axis + count]
        outside = [d for d in range(len(pieces)) if not axis <= d < axis + count]
        rest = (*whole[:axis], *whole[axis + 1 :])
        if tuple(pieces[d] for d in outside) == rest and [perm[d] for d in outside] == outside:
            return {"axis": axis, "sizes": sizes, "order": tuple(p - axis for p in order)}
    return None


def split_shuffles(graph: Graph) -> Graph:
    """Back to operators that have kernels."""
    edit = Editor(graph)
    for node in edit:
        if node.op != "shuffle":
            continue
        (x,), axis, sizes, order = node.inputs, *(node.attrs[k] for k in ("axis", "sizes", "order"))
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        perm = (*range(axis), *(axis + p for p in order), *range(axis + len(sizes), axis + len(sizes) + len(after)))
        apart = graph.fresh("reshape", x.dtype, (*before, *sizes, *after))
        turned = graph.fresh("permute", x.dtype, (*before, *(sizes[p] for p in order), *after))
        edit.exchange(
            node,
            Node("reshape", [x], [apart], {"shape": apart.shape}, node.place),
            Node("permute", [apart], [turned], {"perm": perm}, node.place),
            Node("reshape", [turned], node.outputs, {"shape": node.output.shape}, node.place),
        )
    return edit.done()
