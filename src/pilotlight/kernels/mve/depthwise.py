"""Depthwise blocks: channels in lanes, one pointer per tap, up to nine of them in registers.

Two products of int8 (weights never reach -128) fit int16, so taps are added in pairs before they are widened:

    16 channels   x · w to int16, even and odd channels apart (vmullb, vmullt)
    pair          added in int16
    sums          four vectors of int32: channels 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15

Narrowing with saturation (twice vqmovn) puts the channels back in order. A rest of at most eight channels is widened
by its loads instead: one vector of int16, two of int32 (even and odd channels). The stream of a block holds its bias,
weights tap by tap (int16 for such a rest), and multipliers, each in the order of these vectors; rounded twice, a vector
of shifts follows on each of multipliers.
"""

from __future__ import annotations

from itertools import cycle

from pilotlight.kernels.mve.arguments import DW, WINDOW
from pilotlight.kernels.mve.function import HeliumFunction
from pilotlight.kernels.mve.names import HeliumDepthwise, Rounding
from pilotlight.kernels.mve.order import scheduled
from pilotlight.kernels.mve.rounding import multiply, shift_right

_SUMS = ("q4", "q5", "q6", "q7")
MIDDLE = 128  # bytes from the start of a stream to where offsets reach all of it from: the fifth tap


def depthwise(t: HeliumFunction, block: HeliumDepthwise) -> None:
    """All channels of consecutive pixels."""
    taps, rest, rounding, limits = block.taps, block.rest, block.rounding, block.limits
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d15")
    t.write("mov r11, r0")
    t.load("r11", DW, ("r10", "y"), ("r7", "x"))
    t.write(f"ldm r7, {{{', '.join(_taps(taps))}}}")
    t.label("pixel")
    t.load("r11", DW, ("r9", "w"), ("r7", "zy"))
    if block.whole:
        t.load("r11", DW, ("lr", "blocks"))
        t.write("dls lr, lr")
        if block.passes:
            t.write(f"add r9, r9, #{MIDDLE}")
        t.label("block")
        if block.repeat:
            t.load("r11", DW, ("r9", "w"))
        if block.repeat and block.passes:
            t.write(f"add r9, r9, #{MIDDLE}")
        if block.passes:
            _two_passes(t, taps, rounding, limits)
        else:
            _sixteen(t, taps, rounding, limits, predicated=False)
        t.branch("le lr,", "block")
        if block.passes and rest:
            t.write(f"sub r9, r9, #{MIDDLE}")
    if rest:
        t.load("r11", DW, ("lr", "rest"))
        t.write("vctp.16 lr" if rest == 8 else "vctp.8 lr")
    if rest == 8:
        _eight(t, taps, rounding, limits)
    elif rest:
        _sixteen(t, taps, rounding, limits, predicated=True)
    t.load("r11", DW, ("r9", "pixels"))
    t.write("subs r9, r9, #1")
    t.branch("beq", "done")
    t.write(f"str r9, [r11, #{DW['pixels']}]")
    t.load("r11", DW, ("r9", "x_pixel"), ("lr", "y_pixel"))
    for x in _taps(taps):
        t.write(f"add {x}, {x}, r9")
    t.write("add r10, r10, lr")
    t.branch("b", "pixel")
    t.label("done")
    t.leave()


def window(t: HeliumFunction) -> None:
    """A pointer for every tap: rows and columns outside 0..size are unsigned numbers beyond it."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"))
    t.load("r0", WINDOW, ("r1", "taps"), ("r2", "x"), ("r3", "padding"), ("r4", "top"), ("r6", "ih"), ("r7", "iw"))
    t.load("r0", WINDOW, ("r9", "kh"), ("r10", "x_col"), ("r11", "dw"), ("r12", "at"))
    t.write("add r2, r2, r12")
    t.label("row")
    t.load("r0", WINDOW, ("lr", "kw"), ("r5", "left"))
    t.write("mov r8, r2")
    t.write("dls lr, lr")
    t.write("cmp r4, r6")
    t.branch("bhs", "outside")
    t.label("tap")
    t.write("cmp r5, r7")
    t.write("ite lo")
    t.write("strlo r8, [r1], #4")
    t.write("strhs r3, [r1], #4")
    t.write("add r8, r8, r10")
    t.write("add r5, r5, r11")
    t.branch("le lr,", "tap")
    t.label("next")
    t.load("r0", WINDOW, ("r5", "x_row"), ("r8", "dh"))
    t.write("add r2, r2, r5")
    t.write("add r4, r4, r8")
    t.write("subs r9, r9, #1")
    t.branch("bne", "row")
    t.leave()
    t.label("outside")
    t.write("str r3, [r1], #4")
    t.branch("le lr,", "outside")
    t.branch("b", "next")


def _taps(count: int) -> list[str]:
    """Nine at most; r7 is left out, because loads that widen need a low register to point with."""
    return ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r12"][:count]


def depthwise_many(t: HeliumFunction, block: HeliumDepthwise) -> None:
    """Two taps in a turn of the inner loop; pointers stay in memory, r1 is what is added to them: r12 for the pixel and
    the channels done."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d15")
    t.write("mov r11, r0")
    t.load("r11", DW, ("r10", "y"), ("r8", "x"), ("r6", "taps"), ("r7", "zy"))
    t.write("lsr r6, r6, #1")
    t.write("mov r12, #0")
    t.label("pixel")
    t.load("r11", DW, ("r9", "w"))
    t.write("mov r1, r12")
    if block.whole:
        t.load("r11", DW, ("r5", "blocks"))
        t.label("block")
        _many(t, block, "whole", predicated=False)
        t.write("add r1, r1, #16")
        t.write("subs r5, r5, #1")
        t.branch("bne", "block")
    if block.rest:
        t.load("r11", DW, ("r5", "rest"))
        t.write("vctp.8 r5")
        _many(t, block, "rest", predicated=True)
    t.load("r11", DW, ("r5", "pixels"))
    t.write("subs r5, r5, #1")
    t.branch("beq", "done")
    t.write(f"str r5, [r11, #{DW['pixels']}]")
    t.load("r11", DW, ("r5", "x_pixel"), ("r4", "y_pixel"))
    t.write("add r12, r12, r5")
    t.write("add r10, r10, r4")
    t.branch("b", "pixel")
    t.label("done")
    t.leave()


def _many(t: HeliumFunction, block: HeliumDepthwise, label: str, predicated: bool) -> None:
    _start(t)
    t.write("mov r4, r8")
    t.write("dls lr, r6")
    t.label(label)
    t.write("ldrd r2, r3, [r4], #8")
    t.write("add r2, r2, r1")
    t.write("add r3, r3, r1")
    _pair(t, "r2", "r3", predicated)
    t.branch("le lr,", label)
    _finish(t, block.rounding, block.limits, predicated)


def _sixteen(t: HeliumFunction, taps: int, rounding: Rounding, limits: bool, predicated: bool) -> None:
    _start(t)
    pointers = _taps(taps)
    for at in range(0, taps, 2):
        _pair(t, pointers[at], pointers[at + 1] if at + 1 < taps else None, predicated)
    _finish(t, rounding, limits, predicated)


def _two_passes(t: HeliumFunction, taps: int, rounding: Rounding, limits: bool) -> None:
    """Even channels of 16 first, then odd ones: with two sums at a time there are registers to load and multiply ahead.
    r9 points to the middle of the stream."""
    f = HeliumFunction("")
    for half, (sums, spare) in enumerate(((("q4", "q5"), ("q0", "q1", "q2", "q3", "q6", "q7")), (
        ("q5", "q6"), ("q0", "q1", "q2", "q3", "q7")))):
        _pass(f, half, taps, rounding, sums, spare)
    f.write("vqmovnb.s16 q4, q4")
    f.write("vqmovnt.s16 q4, q5")
    t.body += scheduled(f.body)
    t.write(f"add r9, r9, #{(192 if rounding.twice else 128) + 16 * taps}")
    _limit(t, limits, "q4")
    t.write("vstrb.8 q4, [r10], #16")


def _pass(
    t: HeliumFunction, half: int, taps: int, rounding: Rounding, sums: tuple[str, str], spare: tuple[str, ...]
) -> None:
    """Half of 16 channels to int16 outputs in the first of the sums."""
    turn = cycle(spare)
    for at, q in enumerate(sums):
        t.write(f"vldrw.32 {q}, [r9, #{16 * (2 * half + at) - MIDDLE}]")
    pointers = _taps(taps)
    for first in range(0, taps, 2):
        products = []
        for tap in range(first, min(first + 2, taps)):
            x, w = next(turn), next(turn)
            t.write(f"vldrb.8 {x}, [{pointers[tap]}]" + ", #16" * half)
            t.write(f"vldrb.8 {w}, [r9, #{16 * tap + 64 - MIDDLE}]")
            t.write(f"vmull{'bt'[half]}.s8 {x}, {x}, {w}")
            products.append(x)
        if len(products) == 2:
            t.write(f"vadd.i16 {products[0]}, {products[0]}, {products[1]}")
        wide = next(turn) if len(products) == 1 else products[1]
        t.write(f"vmovlb.s16 {wide}, {products[0]}")
        t.write(f"vadd.i32 {sums[0]}, {sums[0]}, {wide}")
        t.write(f"vmovlt.s16 {products[0]}, {products[0]}")
        t.write(f"vadd.i32 {sums[1]}, {sums[1]}, {products[0]}")
    size = 32 if rounding.twice else 16
    for at, q in enumerate(sums):
        m, more, place = next(turn), next(turn), 16 * taps + 64 - MIDDLE + size * (2 * half + at)
        t.write(f"vldrw.32 {m}, [r9, #{place}]")
        multiply(t, q, m, rounding)
        shift_right(t, q, m, more, rounding, f"[r9, #{place + 16}]")
    t.write(f"vqmovnb.s32 {sums[0]}, {sums[0]}")
    t.write(f"vqmovnt.s32 {sums[0]}, {sums[1]}")
    t.write(f"vqadd.s16 {sums[0]}, {sums[0]}, r7")


def _start(t: HeliumFunction) -> None:
    for q in _SUMS:
        t.write(f"vldrw.32 {q}, [r9], #16")


def _pair(t: HeliumFunction, first: str, second: str | None, predicated: bool) -> None:
    """One or two taps of 16 channels. Four registers hold sums, so a weight is loaded twice."""

    def load(q: str, pointer: str) -> None:
        if predicated:
            t.write("vpst")
        t.write(f"vldrb{'t' if predicated else ''}.8 {q}, [{pointer}], #16")

    load("q0", first)
    t.write("vldrb.8 q1, [r9], #16")
    t.write("vmullb.s8 q2, q0, q1")
    t.write("vmullt.s8 q0, q0, q1")
    if second:
        load("q1", second)
        t.write("vldrb.8 q3, [r9]")
        t.write("vmullb.s8 q3, q1, q3")
        t.write("vadd.i16 q2, q2, q3")
        t.write("vldrb.8 q3, [r9], #16")
        t.write("vmullt.s8 q3, q1, q3")
        t.write("vadd.i16 q0, q0, q3")
    for products, sums in (("q2", _SUMS[:2]), ("q0", _SUMS[2:])):
        _widen_and_add(t, products, sums)


def _finish(t: HeliumFunction, rounding: Rounding, limits: bool, predicated: bool) -> None:
    """Sums to outputs; r7 holds the zero point."""
    _multiply(t, _SUMS, rounding)
    for narrow, (bottom, top) in (("q0", _SUMS[:2]), ("q1", _SUMS[2:])):
        t.write(f"vqmovnb.s32 {narrow}, {bottom}")
        t.write(f"vqmovnt.s32 {narrow}, {top}")
        t.write(f"vqadd.s16 {narrow}, {narrow}, r7")
    t.write("vqmovnb.s16 q2, q0")
    t.write("vqmovnt.s16 q2, q1")
    _limit(t, limits)
    if predicated:
        t.write("vpst")
        t.write("vstrbt.8 q2, [r10]")
    else:
        t.write("vstrb.8 q2, [r10], #16")


def _eight(t: HeliumFunction, taps: int, rounding: Rounding, limits: bool) -> None:
    for q in _SUMS[:2]:
        t.write(f"vldrw.32 {q}, [r9], #16")
    for at, pointer in enumerate(_taps(taps)):
        q = "q2" if at % 2 else "q0"
        if pointer in ("r8", "r12"):
            t.write(f"mov r7, {pointer}")
            t.write(f"add {pointer}, {pointer}, #16")
            t.write("vpst")
            t.write(f"vldrbt.s16 {q}, [r7]")
        else:
            t.write("vpst")
            t.write(f"vldrbt.s16 {q}, [{pointer}], #16")
        t.write("vldrh.16 q1, [r9], #16")
        t.write(f"vmul.i16 {q}, {q}, q1")
        if at % 2:
            t.write("vadd.i16 q0, q0, q2")
        if at % 2 or at == taps - 1:
            _widen_and_add(t, "q0", _SUMS[:2])
    _multiply(t, _SUMS[:2], rounding)
    t.load("r11", DW, ("r7", "zy"))
    t.write("vqmovnb.s32 q0, q4")
    t.write("vqmovnt.s32 q0, q5")
    t.write("vqadd.s16 q0, q0, r7")
    t.write("vqmovnb.s16 q2, q0")
    _limit(t, limits)
    t.write("mov r7, r10")
    t.write("vpst")
    t.write("vstrbt.16 q2, [r7]")


def _widen_and_add(t: HeliumFunction, products: str, sums: tuple[str, ...]) -> None:
    for half, q in zip("bt", sums, strict=True):
        t.write(f"vmovl{half}.s16 q1, {products}")
        t.write(f"vadd.i32 {q}, {q}, q1")


def _multiply(t: HeliumFunction, sums: tuple[str, ...], rounding: Rounding) -> None:
    for q in sums:
        t.write("vldrw.32 q0, [r9], #16")
        multiply(t, q, "q0", rounding)
        shift_right(t, q, "q0", "q0", rounding, "[r9], #16")


def _limit(t: HeliumFunction, limits: bool, outputs: str = "q2") -> None:
    """Limits outputs; r7 carries the zero point before and after."""
    if not limits:
        return
    for op, field in (("vmax.s8", "lo"), ("vmin.s8", "hi")):
        t.load("r11", DW, ("r7", field))
        t.write("vdup.8 q0, r7")
        t.write(f"{op} {outputs}, {outputs}, q0")
    t.load("r11", DW, ("r7", "zy"))
