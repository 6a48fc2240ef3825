"""Instructions of a layer on a core with the DSP extension, counted in the blocks and their drivers; good to a few
per cent, which is enough to choose between two kernels."""

from __future__ import annotations

from pilotlight.kernels.pack_f32 import Conv2dShape

STEP = {1: 8, 2: 13, 3: 18}  # four taps of two filters, by number of pixels
WIDE_STEP = {1: 7, 2: 12, 3: 17}
POINT = 0.9  # cycles of an instruction, next to one of those: on a Cortex-M4 12 take 15, where 18 take 25


def conv(s: Conv2dShape, pixels: int, steps: int, wide: bool, gathered: int) -> int:
    """`pixels` of a row share a patch into which `gathered` values are copied; `steps` of four taps."""
    pairs = -(-s.oc // s.groups // 2)
    each = WIDE_STEP if wide else STEP
    total = 0
    for size in [pixels] * (s.ow // pixels) + [s.ow % pixels] * (s.ow % pixels > 0):
        group = 60 + 60 * s.kh + 3 * gathered // 2 * size // pixels
        while size > 0:
            taken = 1 if size == 1 else 2 if size in (2, 4) else 3
            group += 60 + pairs * (each[taken] * steps + 3 * -(-steps // 4) + 17 + (8 if wide else 10) * taken)
            size -= taken
        total += group
    return s.n * s.oh * s.groups * total


def point(s: Conv2dShape, steps: int, wide: bool) -> int:
    """Two pixels at a time, four filters or the two that are left."""
    fours, twos = divmod(-(-s.oc // 2), 2)
    turns = -(-steps // 8)
    four = (22 if wide else 24) * steps + 3 * turns + (46 if wide else 50)
    two = (18 if wide else 14) * steps + 3 * -(-steps // 2) + 32
    both = 70 + 9 * (s.ic // 4) + 16 * (s.ic % 4) + fours * four + twos * (two + 60) + (s.oc % 4 == 3) * 40
    return s.n * s.oh * -(-s.ow // 2) * both


def winograd(s: Conv2dShape, unroll: int) -> int:
    """Two tiles of 2x2 outputs and four filters at a time, `unroll` pairs of channels in a turn."""
    steps, fours = s.ic // 2, -(-s.oc // 4)
    turns = steps // unroll
    place = 11 * steps + (3 * turns + 4 if turns > 1 else 0)
    four = 16 * place + (426 if turns > 1 else 392)
    across, down = -(-s.ow // 4), -(-s.oh // 2)
    inside = max(0, (s.iw + s.left - 6) // 4 + 1 - (s.left > 0)) * max(0, (s.ih + s.top - 4) // 2 + 1 - (s.top > 0))
    border = max(0, across * down - inside) * 24 * (s.ic + 14)
    return s.n * (across * down * (fours * four + s.ic // 4 * 276 + 220) + border)


def unfolded(s: Conv2dShape, unroll: int, tall: int) -> int:
    """The same where weights come into that form once for `tall` rows of tiles."""
    fours, across, down = -(-s.oc // 4), -(-s.ow // 4), -(-s.oh // 2)
    turns = -(-down // tall)
    return winograd(s, unroll) + s.n * fours * (turns * (125 * s.ic + 60) + across * down * 130)
