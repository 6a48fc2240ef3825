"""The names of the int8 Helium blocks, and the numbers by which the drivers choose among them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotlight.errors import PilotlightError

STRAIGHT = 9  # chunks of 16 inputs that are written out instead of looped over
AHEAD = 20  # chunks of a turn, with loads ahead of products
TAPS = 9  # of a depthwise block that have a register each
COPIES = ("rows_s8", "fill_s8", "window_s8")

_ROUNDING = r"(?:_k(\d+))?((?:_t)?)((?:_n)?)"
_DOT = re.compile(r"dot_s8_(?:(1|n)x4|2x4_(?:c(\d)|(even|odd))|(2x4|1x8)_a(\d+)x(\d+))" + _ROUNDING)
_DW = re.compile(r"dw_s8_(?:t(\d)|many)((?:_16)?)((?:_r)?)(?:_(8|15))?((?:_p)?)" + _ROUNDING + "((?:_c)?)")


@dataclass(frozen=True)
class Rounding:
    """How sums become outputs: shifted left and rounded once, or rounded twice as TFLM does."""

    shift: int = 0
    twice: bool = False
    nudge: bool = False  # half away from zero for negative ones

    @property
    def number(self) -> int:
        return self.shift + 32 * self.twice + 64 * self.nudge

    def __str__(self) -> str:
        return (f"_k{self.shift}" if self.shift else "") + "_t" * self.twice + "_n" * self.nudge

    @staticmethod
    def parse(shift: str | None, twice: str, nudge: str) -> Rounding:
        return Rounding(int(shift or 0), bool(twice), bool(nudge))


ONCE = Rounding()


@dataclass(frozen=True)
class Dot:
    """Four filters over chunks of 16 inputs, at one pixel, at pairs of pixels, or (one chunk) at any number; with loads
    ahead of products, four at pairs of pixels or eight at one."""

    pixels: int  # 1, 2, or 0: any number
    chunks: int = 0  # written out; 0: a loop, or one chunk where the number of pixels is any
    odd: bool = False  # the loop has an odd number of chunks
    rounding: Rounding = ONCE
    turns: int = 0  # of all chunks, with loads ahead; 0: without

    @staticmethod
    def of(depth: int, rounding: Rounding) -> Dot:
        """The block for more than one pixel."""
        chunks = -(-depth // 16)
        if chunks == 1:
            return Dot(0, rounding=rounding)
        looped = chunks > STRAIGHT
        return Dot(2, 0 if looped else chunks, looped and chunks % 2 == 1, rounding)

    @staticmethod
    def ahead(pixels: int, depth: int, rounding: Rounding) -> Dot:
        """As many chunks in a turn as divide their number."""
        chunks = -(-depth // 16)
        turn = next(n for n in range(min(chunks, AHEAD), 0, -1) if chunks % n == 0)
        return Dot(pixels, turn, rounding=rounding, turns=chunks // turn)

    @property
    def filters(self) -> int:
        return 8 if self.turns and self.pixels == 1 else 4

    @property
    def name(self) -> str:
        if self.turns:
            return f"dot_s8_{self.pixels}x{self.filters}_a{self.chunks}x{self.turns}{self.rounding}"
        depth = f"c{self.chunks}" if self.chunks else "odd" if self.odd else "even"
        pixels = f"2x4_{depth}" if self.pixels == 2 else "1x4" if self.pixels else "nx4"
        return f"dot_s8_{pixels}{self.rounding}"

    @property
    def kind(self) -> int:
        """The number that drivers choose the block by; blocks for one pixel differ by the rounding alone."""
        if self.turns:
            return STRAIGHT + 2 + self.pixels + 16 * self.rounding.number + 2048 * (self.chunks + 32 * self.turns)
        return (1 if self.pixels == 0 else self.chunks or STRAIGHT + 1 + self.odd) + 16 * self.rounding.number


@dataclass(frozen=True)
class HeliumDepthwise:
    """`taps` taps, whole blocks of 16 channels or none, and a rest of 0, at most 8 or at most 15 channels."""

    taps: int  # 0: more than nine, in a loop
    whole: bool
    rest: int
    rounding: Rounding
    limits: bool  # inside int8
    repeat: bool = False  # every block has the weights of the first
    passes: bool = False  # whole blocks take even and odd channels one after another

    @staticmethod
    def of(taps: int, channels: int, rounding: Rounding, lo: int, hi: int) -> HeliumDepthwise:
        rest = channels % 16
        rest = 0 if rest == 0 else 8 if rest <= 8 and taps <= TAPS else 15
        return HeliumDepthwise(taps if taps <= TAPS else 0, channels >= 16, rest, rounding, (lo, hi) != (-128, 127))

    @property
    def name(self) -> str:
        parts = "_16" * self.whole + "_r" * self.repeat + (f"_{self.rest}" if self.rest else "") + "_p" * self.passes
        return f"dw_s8_{f't{self.taps}' if self.taps else 'many'}{parts}{self.rounding}{'_c' * self.limits}"

    @property
    def kind(self) -> int:
        flags = 16 * self.whole + 512 * self.limits + 1024 * self.repeat + (1 << 18) * self.passes
        return self.taps + flags + 32 * self.rest + 2048 * self.rounding.number


def parse(name: str) -> Dot | HeliumDepthwise:
    if found := _DOT.fullmatch(name):
        rounding = Rounding.parse(*found.group(7, 8, 9))
        if found[4]:
            return Dot(int(found[4][0]), int(found[5]), rounding=rounding, turns=int(found[6]))
        pixels = {None: 2, "1": 1, "n": 0}[found[1]]
        return Dot(pixels, int(found[2] or 0), found[3] == "odd", rounding)
    if found := _DW.fullmatch(name):
        rounding = Rounding.parse(*found.group(6, 7, 8))
        taps, rest = (int(n or 0) for n in found.group(1, 4))
        return HeliumDepthwise(taps, bool(found[2]), rest, rounding, bool(found[9]), bool(found[3]), bool(found[5]))
    raise PilotlightError(f"no micro-kernel is called {name!r}", kind="internal")
