"""The inputs of Winograd's form: `tiles_s8` for two tiles, `spread_s8` for what lies at the border.

First by rows of each column, then by columns of each row; between the two a row lies where its results will. A word
holds two channels; four channels at a time, the last first, because border inputs lie where results are written.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function, RegisterList, Shifted
from pilotlight.kernels.dsp.blocks.arguments import TILES, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED

V, ROW, ROW3, COLUMN, X = (Core(n) for n in range(5))
ODD, EVEN, SPARE = [Core(n) for n in range(5, 9)], [Core(n) for n in range(9, 13)], Core(14)
VALUES = [Core(n) for n in range(1, 13)]  # of a row
FORMS = ((2, "ssub16", 0, 2), (3, "ssub16", 3, 1), (0, "sadd16", 1, 2), (1, "ssub16", 2, 1))  # place, then of which
FOUR = 256  # bytes of the results of four channels
FRAME = 28  # v, row, 3 rows, column, x, channels, fours


def spread() -> Function:
    """n words to places 96 bytes apart: r0 from, r1 to, r2 n."""
    f = Function("spread_s8")
    f.label("word")
    f.add("ldr", Core(3), f"[{Core(0)}], #4")
    f.add("str", Core(3), f"[{Core(1)}], #96")
    f.add("subs", Core(2), Core(2), 1)
    f.add("bne", "word")
    f.add("bx", "lr")
    return f


def tiles() -> Function:
    f = Function("tiles_s8", stack=4 * len(SAVED.registers) + FRAME)
    f.add("push", SAVED)
    f.add("ldmia", Core(0), all_fields(TILES))
    f.add("sub", "sp", "sp", FRAME)
    f.add("sub", Core(5), Core(5), FOUR)
    f.add("strd", Core(5), Core(2), "[sp]")
    f.add("add", Core(2), Core(2), Shifted(Core(2), 1))
    f.add("strd", Core(2), Core(3), "[sp, #8]")
    f.add("strd", Core(1), Core(4), "[sp, #16]")
    f.add("str", Core(6), "[sp, #24]")
    f.label("four")
    f.add("ldmia", "sp", RegisterList((V, ROW, ROW3, COLUMN, X)))
    for column in range(6):
        _column(f, column)
    for row in range(4):
        _row(f, row)
    x, channels, fours = VALUES[:3]
    f.add("sub", V, V, FOUR)
    f.add("str", V, "[sp]")
    f.add("ldrd", x, channels, "[sp, #16]")
    f.add("ldr", fours, "[sp, #24]")
    f.add("sub", x, x, channels)
    f.add("str", x, "[sp, #16]")
    f.add("subs", fours, fours, 1)
    f.add("str", fours, "[sp, #24]")
    f.add("bne", "four")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _column(f: Function, column: int) -> None:
    """Rows 1, 2, 0, 3 of a column."""
    for d, where in zip(ODD, (f"[{X}]", f"[{X}, {ROW}]", f"[{X}, {ROW}, lsl #1]", f"[{X}, {ROW3}]"), strict=True):
        f.add("ldr", d, where)
    if column < 5:
        f.add("add", X, X, COLUMN)
    for even, odd in zip(EVEN, ODD, strict=True):
        f.add("sxtb16", even, odd)
        f.add("sxtb16", odd, odd, "ror #8")
    # the sum goes where the first difference was stored from
    for row, op, a, b in FORMS:
        even, odd = (EVEN[0], ODD[0]) if op == "sadd16" else (EVEN[a], ODD[a])
        f.add(op, even, EVEN[a], EVEN[b])
        f.add(op, odd, ODD[a], ODD[b])
        f.add("strd", even, odd, f"[{V}, #{32 * column + 8 * row}]")


def _row(f: Function, row: int) -> None:
    """Columns 1, 2, 0, 3 of a row, both tiles."""
    for column in range(6):
        f.add("ldrd", *VALUES[2 * column : 2 * column + 2], f"[{V}, #{32 * column + 8 * row}]")
    for half in (0, 1):
        d = VALUES[half::2]
        for column, op, a, b in FORMS:
            left, right = d[0], SPARE if column == 2 else d[5]
            f.add(op, left, d[a], d[b])
            f.add(op, right, d[a + 2], d[b + 2])
            f.add("strd", left, right, f"[{V}, #{128 * half + 32 * column + 8 * row}]")
