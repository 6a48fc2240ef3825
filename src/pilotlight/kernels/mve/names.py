"""The names of the int8 Helium blocks, and the numbers by which the drivers choose among them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotlight.errors import PilotlightError

STRAIGHT = 9  # chunks of 16 inputs that are written out instead of looped over
TAPS = 9  # of a depthwise block that have a register each
COPIES = ("rows_s8", "fill_s8", "window_s8")

_DOT = re.compile(r"dot_s8_(?:(1|n)x4|2x4_(?:c(\d)|(even|odd)))(?:_k(\d+))?")
_DW = re.compile(r"dw_s8_(?:t(\d)|many)((?:_16)?)((?:_r)?)(?:_(8|15))?(?:_k(\d+))?((?:_c)?)")


@dataclass(frozen=True)
class Dot:
    """Four filters over chunks of 16 inputs, at one pixel, at pairs of pixels, or (one chunk) at any number."""

    pixels: int  # 1, 2, or 0: any number
    chunks: int = 0  # written out; 0: a loop, or one chunk where the number of pixels is any
    odd: bool = False  # the loop has an odd number of chunks
    shift: int = 0

    @staticmethod
    def of(depth: int, shift: int) -> Dot:
        """The block for more than one pixel."""
        chunks = -(-depth // 16)
        if chunks == 1:
            return Dot(0, shift=shift)
        looped = chunks > STRAIGHT
        return Dot(2, 0 if looped else chunks, looped and chunks % 2 == 1, shift)

    @property
    def name(self) -> str:
        depth = f"c{self.chunks}" if self.chunks else "odd" if self.odd else "even"
        pixels = f"2x4_{depth}" if self.pixels == 2 else "1x4" if self.pixels else "nx4"
        return f"dot_s8_{pixels}{_shift(self.shift)}"

    @property
    def kind(self) -> int:
        """The number that drivers choose the block by; blocks for one pixel differ by the shift alone."""
        return (1 if self.pixels == 0 else self.chunks or STRAIGHT + 1 + self.odd) + 16 * self.shift


@dataclass(frozen=True)
class HeliumDepthwise:
    """`taps` taps, whole blocks of 16 channels or none, and a rest of 0, at most 8 or at most 15 channels."""

    taps: int  # 0: more than nine, in a loop
    whole: bool
    rest: int
    shift: int
    limits: bool  # inside int8
    repeat: bool = False  # every block has the weights of the first

    @staticmethod
    def of(taps: int, channels: int, shift: int, lo: int, hi: int) -> HeliumDepthwise:
        rest = channels % 16
        rest = 0 if rest == 0 else 8 if rest <= 8 and taps <= TAPS else 15
        return HeliumDepthwise(taps if taps <= TAPS else 0, channels >= 16, rest, shift, (lo, hi) != (-128, 127))

    @property
    def name(self) -> str:
        parts = "_16" * self.whole + "_r" * self.repeat + (f"_{self.rest}" if self.rest else "")
        return f"dw_s8_{f't{self.taps}' if self.taps else 'many'}{parts}{_shift(self.shift)}{'_c' * self.limits}"

    @property
    def kind(self) -> int:
        flags = 16 * self.whole + 512 * self.limits + 1024 * self.repeat
        return self.taps + flags + 32 * self.rest + 2048 * self.shift


def _shift(shift: int) -> str:
    return f"_k{shift}" if shift else ""


def parse(name: str) -> Dot | HeliumDepthwise:
    if found := _DOT.fullmatch(name):
        pixels = {None: 2, "1": 1, "n": 0}[found[1]]
        return Dot(pixels, int(found[2] or 0), found[3] == "odd", int(found[4] or 0))
    if found := _DW.fullmatch(name):
        taps, rest, shift = (int(n or 0) for n in found.group(1, 4, 5))
        return HeliumDepthwise(taps, bool(found[2]), rest, shift, bool(found[6]), bool(found[3]))
    raise PilotlightError(f"no micro-kernel is called {name!r}", kind="internal")
