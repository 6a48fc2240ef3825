"""The generator of int8 blocks for Cortex-M with the M-profile vector extension (Helium).

Every function takes one pointer to a struct of `blocks_mve_s8.h`, whose fields it knows by their order, and keeps
to the standard calling convention. Names carry what a function is generated for:

    dot_s8_1x4        one pixel by four filters, any depth, tail predicated
    dot_s8_2x4_cN     pairs of pixels by four filters, depth of N times 16 (N up to 9) without a loop
    dot_s8_2x4_even   the same, more chunks of 16, an even number; `_odd`: an odd number
    dot_s8_nx4        any number of pixels by four filters, depth of 16; weights stay in registers
    dw_s8_tN_16_8     depthwise of N taps (up to 9): whole blocks of 16 channels, then a rest of at most 8
    dw_s8_many_16_15  depthwise of any even number of taps, then a rest of at most 15
    dw_s8_tN_16_r     depthwise of few channels: blocks of 16 bytes hold whole pixels, all with the same weights
    rows_s8, fill_s8  copies and fills of patches
    window_s8         where the taps of a window are

and the endings `_kN` (accumulators shifted left by N before the multiply) and `_c` (limits inside int8).
"""

from __future__ import annotations

from pilotlight.kernels.mve.depthwise import depthwise, depthwise_many, window
from pilotlight.kernels.mve.names import Dot, parse
from pilotlight.kernels.mve.text import Text

DOT = {
    name: 4 * i
    for i, name in enumerate(
        (
            *("x0", "x1", "y0", "y1", "w", "bias", "end", "depth", "x_pixel", "last", "pairs", "pixels", "step"),
            *("zy", "shift", "lo", "hi"),
        )
    )
}

ROWS = {
    name: 4 * i
    for i, name in enumerate(("y", "x", "bytes", "pixels", "x_pixel", "y_pixel", "rows", "x_row", "y_row"))
}


def generate(name: str) -> Text:
    """The function of that name."""
    text = Text(name)
    if name == "rows_s8":
        _rows(text)
    elif name == "fill_s8":
        _fill(text)
    elif name == "window_s8":
        window(text)
    elif not isinstance(block := parse(name), Dot):
        (depthwise if block.taps else depthwise_many)(text, block)
    elif block.pixels == 1:
        _dot_one(text, block.shift)
    elif block.pixels == 0:
        _dot_any(text, block.shift)
    elif block.chunks:
        _dot_straight(text, block)
    else:
        _dot_loop(text, block)
    return text


def _dot_straight(t: Text, block: Dot) -> None:
    """Eight sums in the even registers. The struct's address and the end of bias lie on the stack."""
    t.load("r0", DOT, ("r1", "end"))
    t.push(("r0", "r1", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d13")
    _constants(t, "r0")
    t.add(f"ldrd r7, r11, [r0, #{DOT['x0']}]")
    t.add(f"ldrd r1, r3, [r0, #{DOT['y0']}]")
    t.load("r0", DOT, ("r5", "w"), ("r9", "bias"))
    t.label("block")
    _start_two(t)
    far = 16 * block.chunks > 128  # than an offset reaches
    for chunk in range(block.chunks):
        place = "], #16" if far else f", #{16 * chunk}]" if chunk else "]"
        _chunk_two(t, f"[r7{place}", f"[r11{place}")
    if far:
        for x in ("r7", "r11"):
            t.add(f"sub {x}, {x}, #{16 * block.chunks}")
    t.add("vmov d0, r0, r2")
    t.add("vmov d1, r4, r6")
    t.add("ldr r0, [sp, #52]")
    _requantize_two(t, block.shift)
    t.add("cmp r9, r0")
    t.branch("beq", "last")
    t.add("vstrb.32 q0, [r1], #4")
    t.add("vstrb.32 q1, [r3], #4")
    t.branch("b", "block")
    t.label("last")
    t.add("ldr r0, [sp, #48]")
    _store_last_two(t, "r0", "r2")
    t.load("r0", DOT, ("r4", "step"), ("r6", "x_pixel"), ("r5", "w"), ("r9", "bias"))
    t.add("add r1, r1, r4")
    t.add("add r3, r3, r4")
    t.add("add r7, r7, r6, lsl #1")
    t.add("add r11, r11, r6, lsl #1")
    t.branch("b", "block")
    t.label("done")
    t.leave()


def _dot_loop(t: Text, block: Dot) -> None:
    """Eight sums in the even registers, lr among them, so the inner loop counts by hand."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d13")
    t.add("mov r11, r0")
    _constants(t, "r11")
    t.label("pair")
    t.load("r11", DOT, ("r5", "w"), ("r9", "bias"))
    t.label("block")
    t.add(f"ldrd r1, r3, [r11, #{DOT['x0']}]")
    _start_two(t)
    t.load("r11", DOT, ("r7", "pairs"))
    if block.odd:
        _chunk_two(t, "[r1], #16", "[r3], #16")
    t.label("chunks")
    _chunk_two(t, "[r1], #16", "[r3], #16")
    _chunk_two(t, "[r1], #16", "[r3], #16")
    t.add("subs r7, r7, #1")
    t.branch("bne", "chunks")
    t.load("r11", DOT, ("r7", "end"))
    t.add("vmov d0, r0, r2")
    t.add("vmov d1, r4, r6")
    t.add(f"ldrd r1, r3, [r11, #{DOT['y0']}]")
    _requantize_two(t, block.shift)
    t.add("cmp r9, r7")
    t.branch("beq", "last")
    t.add("vstrb.32 q0, [r1], #4")
    t.add("vstrb.32 q1, [r3], #4")
    t.add(f"strd r1, r3, [r11, #{DOT['y0']}]")
    t.branch("b", "block")
    t.label("last")
    _store_last_two(t, "r11", "r7")
    t.load("r11", DOT, ("r0", "step"), ("r2", "x_pixel"))
    t.add(f"ldrd r4, r6, [r11, #{DOT['x0']}]")
    t.add("add r1, r1, r0")
    t.add("add r3, r3, r0")
    t.add(f"strd r1, r3, [r11, #{DOT['y0']}]")
    t.add("add r4, r4, r2, lsl #1")
    t.add("add r6, r6, r2, lsl #1")
    t.add(f"strd r4, r6, [r11, #{DOT['x0']}]")
    t.branch("b", "pair")
    t.label("done")
    t.leave()


def _constants(t: Text, struct: str) -> None:
    """Zero point and limits to q4, q5, q6."""
    for q, field in (("q4", "zy"), ("q5", "lo"), ("q6", "hi")):
        t.load(struct, DOT, ("r2", field))
        t.add(f"vdup.32 {q}, r2")


def _start_two(t: Text) -> None:
    """The sums of two pixels begin with the bias; r9 moves on to the multipliers."""
    t.add("ldm r9, {r0, r2, r4, r6}")
    t.add("ldm r9!, {r8, r10, r12, lr}")


def _chunk_two(t: Text, first: str, second: str) -> None:
    """Sixteen inputs of two pixels by four filters."""
    t.add(f"vldrb.8 q0, {first}")
    t.add(f"vldrb.8 q1, {second}")
    for one, two in (("r0", "r8"), ("r2", "r10"), ("r4", "r12"), ("r6", "lr")):
        t.add("vldrb.8 q2, [r5], #16")
        t.add(f"vmladava.s8 {one}, q0, q2")
        t.add(f"vmladava.s8 {two}, q1, q2")


def _requantize_two(t: Text, shift: int) -> None:
    """Eight sums, four of them in q0 already, to outputs in q0 and q1; r9 moves on to the next block."""
    t.add("vmov d2, r8, r10")
    t.add("vmov d3, r12, lr")
    t.add("vldrw.32 q3, [r9], #16")
    for q in ("q0", "q1"):
        if shift:
            t.add(f"vshl.i32 {q}, {q}, #{shift}")
        t.add(f"vrmulh.s32 {q}, {q}, q3")
        t.add(f"vadd.i32 {q}, {q}, q4")
        t.add(f"vmax.s32 {q}, {q}, q5")
        t.add(f"vmin.s32 {q}, {q}, q6")


def _store_last_two(t: Text, struct: str, count: str) -> None:
    """Stores the last block of filters and goes to `done` unless there are more pixels."""
    t.load(struct, DOT, (count, "last"))
    t.add(f"vctp.32 {count}")
    t.add("vpstt")
    t.add("vstrbt.32 q0, [r1]")
    t.add("vstrbt.32 q1, [r3]")
    t.load(struct, DOT, (count, "pixels"))
    t.add(f"subs {count}, {count}, #2")
    t.branch("ble", "done")
    t.add(f"str {count}, [{struct}, #{DOT['pixels']}]")


def _dot_one(t: Text, shift: int) -> None:
    """Four sums. The inner loop predicates its tail, so x needs no padding."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"))
    t.load("r0", DOT, ("r3", "y0"), ("r5", "w"), ("r7", "depth"), ("r8", "x0"), ("r9", "bias"), ("r10", "end"))
    t.load("r0", DOT, ("r11", "last"), ("r12", "zy"), ("r1", "lo"), ("r2", "hi"))
    t.add("vdup.32 q2, r1")
    t.add("vdup.32 q3, r2")
    t.label("block")
    t.add("mov r1, r8")
    t.add("ldm r9!, {r0, r2, r4, r6}")
    t.add("dlstp.8 lr, r7")
    t.label("chunk")
    t.add("vldrb.8 q0, [r1], #16")
    for sum_ in ("r0", "r2", "r4", "r6"):
        t.add("vldrb.8 q1, [r5], #16")
        t.add(f"vmladava.s8 {sum_}, q0, q1")
    t.branch("letp lr,", "chunk")
    t.add("vldrw.32 q1, [r9], #16")
    t.add("vmov d0, r0, r2")
    t.add("vmov d1, r4, r6")
    if shift:
        t.add(f"vshl.i32 q0, q0, #{shift}")
    t.add("vrmulh.s32 q0, q0, q1")
    t.add("vadd.i32 q0, q0, r12")
    t.add("vmax.s32 q0, q0, q2")
    t.add("vmin.s32 q0, q0, q3")
    t.add("cmp r9, r10")
    t.branch("beq", "last")
    t.add("vstrb.32 q0, [r3], #4")
    t.branch("b", "block")
    t.label("last")
    t.add("vctp.32 r11")
    t.add("vpst")
    t.add("vstrbt.32 q0, [r3]")
    t.leave()


def _dot_any(t: Text, shift: int) -> None:
    """Four filters at all pixels, then the next four; a pixel is 16 bytes."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d15")
    t.add("mov r11, r0")
    t.load("r11", DOT, ("r5", "w"), ("r8", "step"), ("r9", "bias"), ("r10", "y0"), ("r12", "zy"))
    t.load("r11", DOT, ("r1", "lo"), ("r2", "hi"))
    t.add("vdup.32 q6, r1")
    t.add("vdup.32 q7, r2")
    t.label("block")
    t.load("r11", DOT, ("r1", "x0"), ("r7", "end"), ("lr", "pixels"))
    t.add("mov r3, r10")
    for q in ("q0", "q1", "q2", "q3"):
        t.add(f"vldrb.8 {q}, [r5], #16")
    t.add("vldrw.32 q4, [r9, #16]")
    t.add("add r0, r9, #32")
    t.add("dls lr, lr")
    t.add("cmp r0, r7")
    t.branch("beq", "rest")
    t.label("pixel")
    _pixel_any(t, shift)
    t.add("vstrb.32 q5, [r3]")
    t.add("add r3, r3, r8")
    t.branch("le lr,", "pixel")
    t.add("add r9, r9, #32")
    t.add("add r10, r10, #4")
    t.branch("b", "block")
    t.label("rest")
    t.load("r11", DOT, ("r7", "last"))
    t.add("vctp.32 r7")
    t.label("last")
    _pixel_any(t, shift)
    t.add("vpst")
    t.add("vstrbt.32 q5, [r3]")
    t.add("add r3, r3, r8")
    t.branch("le lr,", "last")
    t.leave()


def _pixel_any(t: Text, shift: int) -> None:
    t.add("vldrb.8 q5, [r1], #16")
    t.add("ldm r9, {r0, r2, r4, r6}")
    for sum_, q in (("r0", "q0"), ("r2", "q1"), ("r4", "q2"), ("r6", "q3")):
        t.add(f"vmladava.s8 {sum_}, q5, {q}")
    t.add("vmov d10, r0, r2")
    t.add("vmov d11, r4, r6")
    if shift:
        t.add(f"vshl.i32 q5, q5, #{shift}")
    t.add("vrmulh.s32 q5, q5, q4")
    t.add("vadd.i32 q5, q5, r12")
    t.add("vmax.s32 q5, q5, q6")
    t.add("vmin.s32 q5, q5, q7")


def _rows(t: Text) -> None:
    """Rows of runs of bytes; one loop for runs of at most 16, one for longer ones."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "lr"))
    t.load("r0", ROWS, ("r1", "x"), ("r2", "bytes"), ("r4", "x_pixel"), ("r5", "y_pixel"), ("r7", "rows"))
    t.load("r0", ROWS, ("r3", "pixels"), ("r9", "x_row"), ("r10", "y_row"), ("r0", "y"))
    t.add("cmp r2, #16")
    t.branch("bhi", "long")
    t.add("vctp.8 r2")
    t.label("short_row")
    t.add("mov r6, r0")
    t.add("mov r8, r1")
    t.add("dls lr, r3")
    t.label("short")
    t.add("vpstt")
    t.add("vldrbt.8 q0, [r8]")
    t.add("vstrbt.8 q0, [r6]")
    t.add("add r8, r8, r4")
    t.add("add r6, r6, r5")
    t.branch("le lr,", "short")
    _next_row(t, "short_row")
    t.leave()
    t.label("long")
    t.add("add r6, r2, #15")
    t.add("bic r6, r6, #15")
    t.add("sub r4, r4, r6")
    t.add("sub r5, r5, r6")
    t.label("row")
    t.add("mov r6, r0")
    t.add("mov r8, r1")
    t.add("mov r12, r3")
    t.label("pixel")
    t.add("dlstp.8 lr, r2")
    t.label("bytes")
    t.add("vldrb.8 q0, [r8], #16")
    t.add("vstrb.8 q0, [r6], #16")
    t.branch("letp lr,", "bytes")
    t.add("add r8, r8, r4")
    t.add("add r6, r6, r5")
    t.add("subs r12, r12, #1")
    t.branch("bne", "pixel")
    _next_row(t, "row")
    t.leave()


def _next_row(t: Text, label: str) -> None:
    t.add("add r1, r1, r9")
    t.add("add r0, r0, r10")
    t.add("subs r7, r7, #1")
    t.branch("bne", label)


def _fill(t: Text) -> None:
    """fill_s8(y, bytes, value)."""
    t.push(("r4", "lr"))
    t.add("vdup.8 q0, r2")
    t.branch("wlstp.8 lr, r1,", "done")
    t.label("bytes")
    t.add("vstrb.8 q0, [r0], #16")
    t.branch("letp lr,", "bytes")
    t.label("done")
    t.leave()
