"""Inputs whose sizes are given at run time: planned at the largest, the rest filled with zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from pilotlight.errors import PilotlightError
from pilotlight.graph.graph import Port
from pilotlight.graph.ports import describe_port

SHOWN = 32  # lengths up to this many are all tried


def torch_ports(ports: Sequence[Port]) -> list[Port]:
    """The inputs that PyTorch has: all but the sizes."""
    return [port for port in ports if not port.is_size]


def with_lengths(ports: Sequence[Port], inputs: Sequence[Any]) -> list[torch.Tensor]:
    """What the model reads for these tensors: bounded dimensions filled up with zeros, their lengths as well."""
    lengths: dict[int, int] = {}
    full = []
    for port, given in zip(torch_ports(ports), inputs, strict=True):
        x = torch.as_tensor(given).detach()
        for axis, where in port.sizes if x.dim() == len(port.shape) else ():
            low, high = ports[where].limits
            n = x.shape[axis]
            if not low <= n <= high or lengths.setdefault(where, n) != n:
                expected = str(lengths[where]) if low <= n <= high else f"{low} to {high}"
                raise PilotlightError(
                    f"input {describe_port(port)} has {n} along dimension {axis}; expected {expected}",
                    hint="inputs that share a dimension have the same length in it", kind="wrong-input",
                )
            padding = [0, 0] * (x.dim() - axis - 1) + [0, high - n]
            x = F.pad(x, padding)
        full.append(x)
    tensors = iter(full)
    return [torch.tensor(lengths.get(k, 0)) if port.is_size else next(tensors) for k, port in enumerate(ports)]


def at_lengths(
    ports: Sequence[Port], row: Sequence[torch.Tensor], lengths: Mapping[int, int]
) -> list[torch.Tensor]:
    """An example cut or repeated to these lengths, by the number of the port that has them."""
    found = []
    for port, x in zip(torch_ports(ports), row, strict=True):
        for axis, where in port.sizes:
            x = x.index_select(axis, torch.arange(lengths[where]) % x.shape[axis])
        found.append(x)
    return found


def every_length(ports: Sequence[Port]) -> list[dict[int, int]]:
    """Each length that the inputs may have, or some of many; several change together."""
    limits = {k: port.limits for k, port in enumerate(ports) if port.is_size}
    count = max((high - low + 1 for low, high in limits.values()), default=0)
    steps = range(count) if count <= SHOWN else [round(k * (count - 1) / (SHOWN - 1)) for k in range(SHOWN)]
    return [{k: min(low + step, high) for k, (low, high) in limits.items()} for step in steps]


def vary_lengths(ports: Sequence[Port], rows: Sequence[list[torch.Tensor]]) -> list[list[torch.Tensor]]:
    """The same samples at other lengths: the shortest, the longest, then some in between."""
    ways = every_length(ports)
    if not ways:
        return list(rows)
    order = [0, -1, *(k * 7 % len(ways) for k in range(1, len(rows)))]
    return [at_lengths(ports, row, ways[order[number]]) for number, row in enumerate(rows)]
