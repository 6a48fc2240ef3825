"""The names of int8 micro-kernels.

    conv_s8_P_sS      P pixels whose windows are S bytes apart, pairs of filters
    quad_s8_P_sS      the same at one or two pixels, fours of filters
    point_s8_F        two pixels of a 1x1 layer, F filters
    row_s8_F          F filters over one row of inputs
    depthwise_s8_R_wS R output rows of four channels, 3x3, horizontal stride S
    taps_s8_4         four channels of one pixel, depthwise with any kernel
    winograd_s8_4_uU  four filters at two tiles, 3x3 in Winograd's form, U pairs of channels in a turn
    unfold_s8_4_iC    weights of four filters with C channels into that form
    widen_s8, weave_s8, pairs_s8, tiles_s8, spread_s8  bring inputs into the form that these read

Endings: `_w` weights of 16 bits (Winograd and quad: more than one turn), `_fN` N steps (depthwise: pixels) written out
instead of a loop, `_gN` the same with loads one after another (depthwise: pixels by two), `_iN` with loads between
products (quad and row: N steps in a turn; without a number: of a loop), `_kN` accumulators shifted left by N, `_t`
rounded twice with a shift of each filter's own, `_dN` rounded twice with a shift of N, `_n` negative sums nudged, `_c`
limits tighter than int8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotlight.errors import PilotlightError

_PATTERN = re.compile(
    r"(?:conv_s8_(?P<pixels>[123])_s(?P<stride>\d+)(?P<wide>_w)?(?:_(?P<chain>[fg])(?P<steps>\d+)|(?P<apart>_i))?"
    r"|quad_s8_(?P<some>[12])_s(?P<far>\d+)(?P<looped>_w)?_(?P<way>[gi])(?P<part>\d+)"
    r"|point_s8_(?P<points>[24])(?P<heavy>_w)?(?P<among>_i)?"
    r"|row_s8_(?P<filters>[2468])(?:_(?P<order>[gi])(?P<turn>\d+)|(?P<amid>_i))?"
    r"|depthwise_s8_(?P<rows>[12])_w(?P<step>\d+)(?:_(?P<pace>[fg])(?P<written>\d+))?|taps_s8_(?P<channels>4)"
    r"|winograd_s8_(?P<quad>4)_u(?P<unroll>\d+)(?P<turns>_w)?(?P<between>_i)?|unfold_s8_(?P<folded>4)_i(?P<inputs>\d+)"
    r"|widen_s8|weave_s8|pairs_s8|tiles_s8|spread_s8)"
    r"(?:_k(?P<shift>\d+))?(?:(?P<twice>_t)|_d(?P<down>\d+))?(?P<nudge>_n)?(?P<clamp>_c)?"
)
KINDS = (
    "conv", "quad", "point", "row", "depthwise", "taps", "winograd", "unfold", "widen", "weave", "pairs", "tiles",
    "spread",
)


@dataclass(frozen=True, order=True)
class Finish:
    """How accumulators become outputs."""

    shift: int = 0
    clamp: bool = False
    twice: bool = False  # TFLM's rounding, bits to the right by filter
    down: int = 0  # the same with so many bits for all
    nudge: bool = False  # half away from zero for negative ones

    @property
    def rounding(self) -> str:
        """The name in C (twice_s8.h)."""
        return ("PL_TWICE_NUDGED" if self.nudge else "PL_TWICE") if self.twice or self.down else "PL_ONCE"

    def __str__(self) -> str:
        rounding = "_t" if self.twice else f"_d{self.down}" if self.down else ""
        shift = f"_k{self.shift}" if self.shift else ""
        return shift + rounding + ("_n" if self.nudge else "") + ("_c" if self.clamp else "")


@dataclass(frozen=True, order=True)
class DspBlock:
    """One micro-kernel. `count`: pixels, filters or rows at a time; `step`: the stride it is made for."""

    kind: str
    count: int = 0
    step: int = 0
    wide: bool = False
    finish: Finish = Finish()
    steps: int = 0  # that are written out, of a depthwise block pixels; 0: a loop over any number
    chained: bool = False  # loads one after another, which some cores pipeline
    mixed: bool = False  # loads between products, where some cores hide them

    @property
    def variant(self) -> str:
        """What a layer's table names: everything but the count."""
        letter = {"conv": "s", "quad": "s", "depthwise": "w", "winograd": "u", "unfold": "i"}.get(self.kind)
        step = f"_{letter}{self.step}" if letter else ""
        order = "g" if self.chained else "i" if self.mixed else "f"
        straight = f"_{order}{self.steps or ''}" if self.steps or self.mixed else ""
        return f"{self.kind}_s8{step}{'_w' if self.wide else ''}{straight}{self.finish}"

    @property
    def name(self) -> str:
        count = f"{self.kind}_s8_{self.count}" if self.count else f"{self.kind}_s8"
        return self.variant.replace(f"{self.kind}_s8", count)

    @property
    def constant(self) -> str:
        """The C enumerator of the variant."""
        return f"PL_{self.variant.upper()}"


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of these."""
    return _PATTERN.fullmatch(name) is not None


def parse(name: str) -> DspBlock:
    found = _PATTERN.fullmatch(name)
    if found is None:
        raise PilotlightError(f"no micro-kernel is called {name!r}", kind="internal")
    numbers = found.groupdict()
    counts = ("pixels", "some", "points", "filters", "rows", "channels", "quad", "folded")
    count = next((n for k in counts if (n := numbers[k])), 0)
    step = next((n for k in ("stride", "far", "step", "unroll", "inputs") if (n := numbers[k])), 0)
    wide = (found["wide"] or found["turns"] or found["looped"] or found["heavy"]) is not None
    finish = Finish(
        int(found["shift"] or 0), found["clamp"] is not None, found["twice"] is not None, int(found["down"] or 0),
        found["nudge"] is not None,
    )
    steps = int(next((n for k in ("steps", "written", "turn", "part") if (n := numbers[k])), 0))
    order = found["chain"] or found["order"] or found["way"] or found["pace"]
    between = order == "i" or any(found[k] for k in ("between", "among", "amid", "apart"))
    return DspBlock(name.split("_")[0], int(count), int(step), wide, finish, steps, order == "g", between)


def ordered(names: set[str]) -> list[DspBlock]:
    """By kind and variant, large blocks first: drivers ask for them most."""
    return sorted(map(parse, names), key=lambda b: (KINDS.index(b.kind), b.variant, -b.count))
