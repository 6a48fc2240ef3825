"""Dot products whose loads go ahead of them: four filters at pairs of pixels, or eight filters at one pixel.

A product of 16 inputs takes the multiplier two cycles, and the instruction after it starts in the second one. So every
product is followed by the load of what a later one needs: weights go through three registers, inputs are loaded anew
behind their last product. Chunks of a turn are written out; nothing is loaded ahead of the next turn or block.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pilotlight.kernels.mve.arguments import DOT
from pilotlight.kernels.mve.function import HeliumFunction
from pilotlight.kernels.mve.names import Dot, Rounding
from pilotlight.kernels.mve.rounding import multiply, shift_right

FIRST, SECOND = ("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr")  # sums, of each pixel or of eight filters
WEIGHTS = ("q2", "q3", "q7")
STRUCT, END = 64, 68  # where the stack has its address, and the end of bias
REACH = 128  # bytes of inputs that offsets reach


def dot_ahead(t: HeliumFunction, block: Dot) -> None:
    two, looped = block.pixels == 2, block.turns > 1
    t.load("r0", DOT, ("r1", "end"))
    t.push(("r0", "r1", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d15")
    for q, field in (("q4", "zy"), ("q5", "lo"), ("q6", "hi")):
        t.load("r0", DOT, ("r2", field))
        t.write(f"vdup.32 {q}, r2")
    t.load("r0", DOT, ("r7", "x0"), ("r11", "x1"), ("r1", "y0"), ("r3", "y1"), ("r5", "w"), ("r9", "bias"))
    t.label("block")
    start, loads = list(_start(block)), _loads(block)
    x, *others = islice(loads, 3)
    if looped:
        counter = "r1" if two else "r3"
        t.lines("\n".join([*start, f"mov {counter}, #{block.turns}", "turn:", x, *others]))
        _turn(t, block, loads)
        t.write(f"subs {counter}, {counter}, #1")
        t.branch("bne", "turn")
    else:  # the first loads take place while the bias comes
        t.lines("\n".join([x, start[0], others[0], *start[1:3], others[1], *start[3:]]))
        _turn(t, block, loads)
    _outputs(t, block)
    if two:
        _pairs(t, block)
    else:
        t.write("vstrb.32 q0, [r1], #4")
        t.write("vstrb.32 q1, [r1], #4")
        t.branch("bne", "block")
        t.leave()


def _start(block: Dot) -> Iterator[str]:
    """Sums begin with the bias, those of two pixels with the same."""
    yield f"ldm r9!, {{{', '.join(FIRST)}}}"
    if block.pixels == 1:
        yield f"ldm r9!, {{{', '.join(SECOND)}}}"
    some = (*FIRST, *SECOND) if block.pixels == 1 else FIRST
    for sum_ in some if block.rounding.twice else ():
        yield f"asr {sum_}, {sum_}, #8"
    for first, second in zip(FIRST, SECOND, strict=True) if block.pixels == 2 else ():
        yield f"mov {second}, {first}"


def _turn(t: HeliumFunction, block: Dot, loads: Iterator[str]) -> None:
    """Products, and between them the loads after the first three."""
    for product, room in _products(block):
        t.write(product)
        for load in islice(loads, room):
            t.write(load)


def _far(block: Dot) -> bool:
    return block.turns > 1 or 16 * block.chunks > REACH


def _loads(block: Dot) -> Iterator[str]:
    """In the order in which registers become free: weights in turn, inputs of the next chunk after the last use of
    those before, or into another register."""
    weight = 0

    def weights(count: int) -> Iterator[str]:
        nonlocal weight
        for _ in range(count):
            yield f"vldrb.8 {WEIGHTS[weight % 3]}, [r5], #16"
            weight += 1

    def inputs(chunk: int) -> Iterator[str]:
        place = "], #16" if _far(block) else f", #{16 * chunk}]" if chunk else "]"
        if chunk < block.chunks:
            for q, x in (("q0", "r7"), ("q1", "r11")) if block.pixels == 2 else ((f"q{chunk % 2}", "r7"),):
                yield f"vldrb.8 {q}, [{x}{place}"

    yield from inputs(0)
    for chunk in range(block.chunks):
        if block.pixels == 2:
            yield from weights(4 if chunk == 0 else 3)
            yield from weights(1 if chunk + 1 < block.chunks else 0)
            yield from inputs(chunk + 1)
        else:
            yield from weights(5)
            yield from inputs(chunk + 1)
            yield from weights(3)


def _products(block: Dot) -> Iterator[tuple[str, int]]:
    """Each, and how many loads follow."""
    weight = 0
    for chunk in range(block.chunks):
        if block.pixels == 2:
            for at, (one, two) in enumerate(zip(FIRST, SECOND, strict=True)):
                w = WEIGHTS[weight % 3]
                yield f"vmladava.s8 {one}, q0, {w}", 1
                yield f"vmladava.s8 {two}, q1, {w}", int(at >= 2)
                weight += 1
        else:
            for at, sum_ in enumerate((*FIRST, *SECOND)):
                yield f"vmladava.s8 {sum_}, q{chunk % 2}, {WEIGHTS[weight % 3]}", 2 if at == 3 else 1
                weight += 1


def _outputs(t: HeliumFunction, block: Dot) -> None:
    """Eight sums to outputs in q0 and q1; the flags say whether these were the last filters."""
    rounding = block.rounding
    second = "q3" if block.pixels == 2 else "q2"
    t.write("vldrw.32 q3, [r9], #16")
    t.write("vmov d0, r0, r2")
    t.write("vmov d1, r4, r6")
    t.write("vmov d2, r8, r10")
    t.write("vmov d3, r12, lr")
    multiply(t, "q0", "q3", rounding)
    if block.pixels == 1:
        t.write("vldrw.32 q2, [r9], #16")
    t.write(f"ldr r0, [sp, #{END}]")
    multiply(t, "q1", second, rounding)
    _shift(t, rounding, block.pixels)
    for op, constant in (("vadd.i32", "q4"), ("vmax.s32", "q5"), ("vmin.s32", "q6")):
        for q in ("q0", "q1"):
            t.write(f"{op} {q}, {q}, {constant}")
    if block.pixels == 1 and _far(block):
        t.write(f"sub r7, r7, #{16 * block.chunks * block.turns}")
    t.write("cmp r9, r0")


def _shift(t: HeliumFunction, rounding: Rounding, pixels: int) -> None:
    """The second rounding, where there is one."""
    if not rounding.twice:
        return
    for q, where in (("q0", -32 if pixels == 2 else -64), ("q1", -32 if pixels == 2 else -48)):
        shift_right(t, q, "q2", "q3", rounding, f"[r9, #{where}]")


def _pairs(t: HeliumFunction, block: Dot) -> None:
    """Stores the outputs of two pixels; after the last filters goes on to the next two. In a loop the places of outputs
    are in the struct."""
    looped = block.turns > 1
    if looped:
        t.write(f"ldr r4, [sp, #{STRUCT}]")
        t.write(f"ldrd r1, r3, [r4, #{DOT['y0']}]")
    if _far(block):
        for x in ("r7", "r11"):
            t.write(f"sub {x}, {x}, #{16 * block.chunks * block.turns}")
    t.branch("beq", "last")
    t.write("vstrb.32 q0, [r1], #4")
    t.write("vstrb.32 q1, [r3], #4")
    if looped:
        t.write(f"strd r1, r3, [r4, #{DOT['y0']}]")
    t.branch("b", "block")
    t.label("last")
    t.write(f"ldr r0, [sp, #{STRUCT}]")
    t.load("r0", DOT, ("r2", "last"))
    t.write("vctp.32 r2")
    t.write("vpstt")
    t.write("vstrbt.32 q0, [r1]")
    t.write("vstrbt.32 q1, [r3]")
    t.load("r0", DOT, ("r2", "pixels"))
    t.write("subs r2, r2, #2")
    t.branch("ble", "done")
    t.write(f"str r2, [r0, #{DOT['pixels']}]")
    t.load("r0", DOT, ("r4", "step"), ("r6", "x_pixel"), ("r5", "w"), ("r9", "bias"))
    t.write("add r1, r1, r4")
    t.write("add r3, r3, r4")
    if looped:
        t.write(f"strd r1, r3, [r0, #{DOT['y0']}]")
    t.write("add r7, r7, r6, lsl #1")
    t.write("add r11, r11, r6, lsl #1")
    t.branch("b", "block")
    t.label("done")
    t.leave()
