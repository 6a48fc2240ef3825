"""Tensors with numbers that 8 or 16 bits cannot hold together with the others: a mask's -1e9 or -infinity, and NaN.

One scale for all of them would leave nothing of the others, the end of a range is not infinity, and no integer is NaN:
such a tensor stays float, and so do its readers. For a maximum, the lowest integer does as well as -infinity.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from pilotlight.ops.quantizing import SharedScale
from pilotlight.quantize.flat import states_of
from pilotlight.quantize.operators import treatment
from pilotlight.quantize.samples import run_sample

SAMPLES = 32
FAR = 1e4  # numbers from here on may be such
GAP = 256  # and are, where they are this many times larger than all others


def far_tensors(flat: GraphModule, samples: list[list[torch.Tensor]]) -> set[str]:
    """The names of the nodes whose results were seen to hold such numbers."""
    finder = _Finder(flat)
    states = [(state, state.clone()) for state in states_of(flat).values()]
    for number in range(len(samples[:SAMPLES])):
        run_sample(finder.run, samples, number)
    for state, initial in states:
        state.copy_(initial)
    return finder.found


class _Finder(Interpreter):
    def __init__(self, flat: GraphModule):
        super().__init__(flat)
        self.found: set[str] = set()

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.op != "get_attr" and isinstance(result, torch.Tensor) and result.is_floating_point():
            maximum = all(_takes_largest(user) for user in n.users)
            if _is_far(torch.where(result == -torch.inf, 0.0, result) if maximum else result):
                self.found.add(n.name)
        return result


def _takes_largest(node: Node) -> bool:
    scale = treatment(node).result
    return isinstance(scale, SharedScale) and scale.largest


def _is_far(x: torch.Tensor) -> bool:
    if not bool(x.isfinite().all()):
        return True
    sizes = x.abs()
    far = sizes >= FAR
    near = float(torch.where(far, 0.0, sizes).max()) if bool(far.any()) else 0.0
    return near > 0 and float(sizes[far].min()) > GAP * near
