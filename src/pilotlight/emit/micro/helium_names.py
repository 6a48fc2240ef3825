"""The names of the int8 Helium blocks, and the numbers by which the drivers choose among them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotlight.errors import PilotlightError

STRAIGHT = 4  # chunks of 16 inputs that are written out instead of looped over
TAPS = 9  # of a depthwise block that have a register each
COPIES = ("rows_s8", "fill_s8")

_DOT = re.compile(r"dot_s8_(?:1x4|2x4_(?:c(\d)|(even|odd)))(?:_k(\d+))?")
_DW = re.compile(r"dw_s8_(?:t(\d)|many)((?:_16)?)(?:_(8|15))?(?:_k(\d+))?((?:_c)?)")


@dataclass(frozen=True)
class Dot:
    """Four filters at `pixels` pixels over chunks of 16 inputs."""

    pixels: int
    chunks: int  # written out; 0: a loop
    odd: bool  # the loop has an odd number of chunks
    shift: int

    @staticmethod
    def of(pixels: int, depth: int, shift: int) -> Dot:
        chunks = -(-depth // 16)
        looped = pixels == 1 or chunks > STRAIGHT
        return Dot(pixels, 0 if looped else chunks, pixels == 2 and looped and chunks % 2 == 1, shift)

    @property
    def name(self) -> str:
        depth = f"c{self.chunks}" if self.chunks else "odd" if self.odd else "even"
        return (f"dot_s8_2x4_{depth}" if self.pixels == 2 else "dot_s8_1x4") + _shift(self.shift)

    @property
    def kind(self) -> int:
        """One number for both pixel counts: where there is one pixel only the shift matters."""
        return (self.chunks or STRAIGHT + 1 + self.odd) + 8 * self.shift


@dataclass(frozen=True)
class Depthwise:
    """`taps` taps, whole blocks of 16 channels or none, and a rest of 0, at most 8 or at most 15 channels."""

    taps: int  # 0: more than nine, in a loop
    whole: bool
    rest: int
    shift: int
    limits: bool  # inside int8

    @staticmethod
    def of(taps: int, channels: int, shift: int, lo: int, hi: int) -> Depthwise:
        rest = channels % 16
        rest = 0 if rest == 0 else 8 if rest <= 8 and taps <= TAPS else 15
        return Depthwise(taps if taps <= TAPS else 0, channels >= 16, rest, shift, (lo, hi) != (-128, 127))

    @property
    def name(self) -> str:
        parts = "_16" * self.whole + (f"_{self.rest}" if self.rest else "")
        return f"dw_s8_{f't{self.taps}' if self.taps else 'many'}{parts}{_shift(self.shift)}{'_c' * self.limits}"

    @property
    def kind(self) -> int:
        return self.taps + 16 * self.whole + 32 * self.rest + 512 * self.limits + 1024 * self.shift


def _shift(shift: int) -> str:
    return f"_k{shift}" if shift else ""


def parse(name: str) -> Dot | Depthwise:
    if found := _DOT.fullmatch(name):
        pixels = 2 if name.startswith("dot_s8_2") else 1
        return Dot(pixels, int(found[1] or 0), found[2] == "odd", int(found[3] or 0))
    if found := _DW.fullmatch(name):
        return Depthwise(int(found[1] or 0), bool(found[2]), int(found[3] or 0), int(found[4] or 0), bool(found[5]))
    raise PilotlightError(f"no micro-kernel is called {name!r}", kind="internal")
