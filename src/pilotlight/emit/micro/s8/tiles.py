"""The inputs of Winograd's form: `tiles_s8` for two tiles, `spread_s8` for what lies at the border.

First by rows of a column, into spare memory (4 rows, 6 columns, 2 halves); then by columns of a row. A word holds two
channels; four channels at a time, the last first, because border inputs lie where the results are written.
"""

from __future__ import annotations

from pilotlight.emit.micro.asm import Core, Function, RegisterList
from pilotlight.emit.micro.s8.conv import SAVED

X, ROW, ROW3, COLUMN, T = (Core(n) for n in range(5))
ODD, EVEN, SPARE = [Core(n) for n in range(5, 9)], [Core(n) for n in range(9, 13)], Core(14)
V, VALUES = Core(0), [Core(n) for n in range(1, 13)]  # of the second half
FORMS = ((2, "ssub16", 0, 2), (3, "ssub16", 3, 1), (0, "sadd16", 1, 2), (1, "ssub16", 2, 1))  # place, then of which
FRAME = 32  # x, row, 3 rows, column, t, channels, v, fours


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
    f.add("ldmia", Core(0), RegisterList(tuple(Core(n) for n in range(1, 8))))  # x, row, column, channels, t, v, fours
    f.add("sub", "sp", "sp", FRAME)
    f.add("strd", Core(1), Core(2), "[sp]")
    f.add("add", Core(8), Core(2), "r2, lsl #1")
    f.add("strd", Core(8), Core(3), "[sp, #8]")
    f.add("strd", Core(5), Core(4), "[sp, #16]")
    f.add("strd", Core(6), Core(7), "[sp, #24]")
    f.label("four")
    f.add("ldmia", "sp", RegisterList((X, ROW, ROW3, COLUMN, T)))
    for column in range(6):
        _column(f, column)
    f.add("ldr", V, "[sp, #24]")
    f.add("sub", V, V, 256)
    f.add("str", V, "[sp, #24]")
    for row in range(4):
        _row(f, row)
    x, channels, fours = VALUES[:3]
    f.add("ldr", x, "[sp]")
    f.add("ldr", channels, "[sp, #20]")
    f.add("ldr", fours, "[sp, #28]")
    f.add("sub", x, x, channels)
    f.add("str", x, "[sp]")
    f.add("subs", fours, fours, 1)
    f.add("str", fours, "[sp, #28]")
    f.add("bne", "four")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _column(f: Function, column: int) -> None:
    """Rows 1, 2, 0, 3 of a column into spare memory."""
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
        f.add("strd", even, odd, f"[{T}, #{48 * row + 8 * column}]")


def _row(f: Function, row: int) -> None:
    """Columns 1, 2, 0, 3 of a row, both tiles."""
    f.add("ldr", SPARE, "[sp, #16]")
    if row:
        f.add("add", SPARE, SPARE, 48 * row)
    f.add("ldmia", SPARE, RegisterList(tuple(VALUES)))
    for half in (0, 1):
        d = VALUES[half::2]
        for column, op, a, b in FORMS:
            left, right = d[0], SPARE if column == 2 else d[5]
            f.add(op, left, d[a], d[b])
            f.add(op, right, d[a + 2], d[b + 2])
            f.add("strd", left, right, f"[{V}, #{128 * half + 32 * column + 8 * row}]")
