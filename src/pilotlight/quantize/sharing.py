"""One root for the tensors that share a scale.

PT2E has a specification for each operand and each result, some of which refer to another's (`SharedQuantizationSpec`).
What refers to each other shares a scale, and so do the readers of a tensor and its writer where they want the same. To
build such a group, torchao makes one member the root, follows its reference, and does not end where that leads back
into the group: concatenations of concatenations of one tensor are enough. So all of a group refer to its first member,
which refers to none. Results with a specification of their own keep it: whether they do is read elsewhere.
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule
from torchao.quantization.pt2e.quantizer import EdgeOrNode, SharedQuantizationSpec

KEY = "quantization_annotation"
COMPARED = ("dtype", "is_dynamic", "quant_min", "quant_max", "qscheme", "ch_axis", "scale", "zero_point")


def refer_to_one_root(model: GraphModule) -> None:
    """Rewrite the annotations of every group in which one member refers to another."""
    specs = _specs(model)
    groups = _Groups(specs)
    for place, spec in specs.items():
        if isinstance(spec, SharedQuantizationSpec):
            groups.join(place, spec.edge_or_node)
    for node in model.graph.nodes:
        same: dict[tuple[Any, ...], EdgeOrNode] = {}
        for place in (node, *((node, user) for user in node.users)):
            if place in specs:
                groups.join(place, same.setdefault(_wanted(specs, place), place))
    sharing = {groups.root(place) for place, spec in specs.items() if isinstance(spec, SharedQuantizationSpec)}
    for place, spec in specs.items():
        root = groups.root(place)
        if root not in sharing or place == root:
            continue
        if isinstance(place, tuple):
            place[1].meta[KEY].input_qspec_map[place[0]] = SharedQuantizationSpec(root)
        elif isinstance(spec, SharedQuantizationSpec):
            place.meta[KEY].output_qspec = SharedQuantizationSpec(root)


def _specs(model: GraphModule) -> dict[EdgeOrNode, Any]:
    """The specifications of operands and results, in the order in which torchao takes them."""
    specs: dict[EdgeOrNode, Any] = {}
    for node in model.graph.nodes:
        annotation = node.meta.get(KEY)
        if annotation is not None:
            specs |= {(x, node): spec for x, spec in annotation.input_qspec_map.items()}
            specs |= {} if annotation.output_qspec is None else {node: annotation.output_qspec}
    return specs


def _wanted(specs: dict[EdgeOrNode, Any], place: EdgeOrNode) -> tuple[Any, ...]:
    """What torchao compares."""
    while isinstance(spec := specs[place], SharedQuantizationSpec):
        place = spec.edge_or_node
    return tuple(getattr(spec, name, None) for name in COMPARED)


class _Groups:
    """Disjoint sets; the root of each is its first member."""

    def __init__(self, specs: dict[EdgeOrNode, Any]):
        self.above = {place: place for place in specs}
        self.order = {place: k for k, place in enumerate(specs)}

    def root(self, place: EdgeOrNode) -> EdgeOrNode:
        root = place
        while self.above[root] != root:
            root = self.above[root]
        while place != root:
            self.above[place], place = root, self.above[place]
        return root

    def join(self, one: EdgeOrNode, other: EdgeOrNode) -> None:
        first, second = sorted((self.root(one), self.root(other)), key=self.order.__getitem__)
        self.above[second] = first
