"""The names of micro-kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotlight.errors import PilotlightError

_PATTERN = re.compile(r"(mac|dw)_f32_([12])x([1248])")


@dataclass(frozen=True)
class Block:
    """One micro-kernel: `kind` is "mac" or "dw", `pixels` by `filters` outputs at a time."""

    kind: str
    pixels: int
    filters: int

    @property
    def name(self) -> str:
        return f"{self.kind}_f32_{self.pixels}x{self.filters}"


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of these."""
    return _PATTERN.fullmatch(name) is not None


def parse(name: str) -> Block:
    found = _PATTERN.fullmatch(name)
    if found is None:
        raise PilotlightError(f"no micro-kernel is called {name!r}", kind="internal")
    return Block(found[1], int(found[2]), int(found[3]))


def ordered(names: set[str]) -> list[Block]:
    """Convolution before depthwise, large blocks first: the order in which drivers ask for them most."""
    return sorted((parse(n) for n in names), key=lambda b: (b.kind != "mac", -b.pixels, -b.filters))
