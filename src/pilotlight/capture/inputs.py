"""A shape on the command line → an example input."""

from __future__ import annotations

import re

import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph.builder import check_size
from pilotlight.graph.dtypes import BY_NAME


def parse_input(text: str, seed: int = 0) -> torch.Tensor:
    """`1x3x96x96` or `1x3x96x96:int8` as an example input: seeded noise, or zeros for integers."""
    shape, _, dtype = text.partition(":")
    kind = BY_NAME.get(dtype or "float32")
    if kind is None or not re.fullmatch(r"\d+(x\d+)*|scalar", shape):
        raise PilotlightError(
            f"--input {text!r} is not understood",
            hint=f"write a shape such as 1x3x96x96, with a dtype if it is not float32: 1x16:int64 "
            f"(known: {', '.join(BY_NAME)})",
            kind="usage",
        )
    sizes = [] if shape == "scalar" else [int(s) for s in shape.split("x")]
    check_size(kind, sizes, f"--input {text}")
    if kind.kind in "fh":
        return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(kind.torch)
    return torch.zeros(sizes, dtype=kind.torch)
