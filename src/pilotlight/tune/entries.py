"""Measured kernels for entry points that share an arena and weights.

Each entry point is solved by itself within the arena that all of them have. Weights that several use are stored once
only if their layers pack them in the same way, so such layers may choose among the kernels with one packing: the one
that is fastest for all of them together, or what they have without measurements.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from pilotlight.graph import Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.tune.network import Network, Room, Solution

Member = tuple[str, Node]  # an entry point and a layer of it
Packing = tuple[bytes, ...]


def solve_entries(networks: Mapping[str, Network], room: Room) -> dict[str, Solution]:
    """The kernels of each entry point. Flash that one leaves is for the next."""
    groups = shared_layers(networks)
    for members in groups:
        _agree(networks, members)
    while True:
        left = room.flash - sum(network.flash(network.default) for network in networks.values())
        found = {}
        for entry, network in networks.items():
            usual = network.flash(network.default)
            solution = network.solve(replace(room, flash=usual + left))
            left -= max(0, network.flash(_candidates(network, solution)) - usual)
            found[entry] = solution
        apart = [members for members in groups if len(_packings(found, members)) > 1 and _pin(networks, members)]
        if not apart:
            return found


def shared_layers(networks: Mapping[str, Network]) -> list[list[Member]]:
    """Layers of several entry points with the same constants."""
    by_constants: dict[Packing, list[Member]] = defaultdict(list)
    for entry, network in networks.items():
        for node in network.measured:
            by_constants[_digest([np.asarray(value.data) for value in node.inputs[1:]])].append((entry, node))
    return [members for members in by_constants.values() if len({entry for entry, _ in members}) > 1]


def _agree(networks: Mapping[str, Network], members: Sequence[Member]) -> None:
    """Leave the members the kernels with the packing that is fastest for all, and what they have by default."""
    totals: dict[Packing, int] = {}
    for place, (entry, node) in enumerate(members):
        best: dict[Packing, int] = {}
        for kernel in networks[entry].measured[node]:
            packed = packing(kernel.candidate)
            best[packed] = min(best.get(packed, kernel.cost), kernel.cost)
        totals = {p: totals.get(p, 0) + cost for p, cost in best.items() if p in totals or place == 0}
    chosen = min(totals, key=lambda p: totals[p], default=None)
    for entry, node in members:
        network = networks[entry]
        usual = network.default[node]
        network.measured[node] = [
            kernel for kernel in network.measured[node]
            if kernel.candidate is usual or packing(kernel.candidate) == chosen
        ]


def _pin(networks: Mapping[str, Network], members: Sequence[Member]) -> bool:
    """Leave the members what they have by default; whether there was more."""
    changed = False
    for entry, node in members:
        network = networks[entry]
        only = [kernel for kernel in network.measured[node] if kernel.candidate is network.default[node]]
        changed = changed or len(only) < len(network.measured[node])
        network.measured[node] = only
    return changed


def _packings(found: Mapping[str, Solution], members: Sequence[Member]) -> set[Packing]:
    return {packing(found[entry].selection[node].candidate) for entry, node in members}


def _candidates(network: Network, solution: Solution) -> dict[Node, Candidate]:
    return {node: solution.selection[node].candidate for node in network.measured}


@cache
def packing(candidate: Candidate) -> Packing:
    """What its constants are as bytes."""
    return _digest(candidate.constants)


def _digest(arrays: Sequence[np.ndarray]) -> Packing:
    return tuple(hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest() for array in arrays)
