"""The generator of int8 blocks for Cortex-M with the M-profile vector extension (Helium).

Every function takes one pointer to a struct of `blocks_mve_s8.h`, whose fields it knows by their order, and keeps
to the standard calling convention. Names carry what a function is generated for:

    dot_s8_1x4        one pixel by four filters, any depth, tail predicated
    dot_s8_2x4_cN     pairs of pixels by four filters, depth of N times 16 (N up to 9) without a loop
    dot_s8_2x4_even   the same, more chunks of 16, an even number; `_odd`: an odd number
    dot_s8_2x4_aNxT   the same, depth of N times T times 16, loads ahead of products; dot_s8_1x8_aNxT: eight filters
    dot_s8_nx4        any number of pixels by four filters, depth of 16; weights stay in registers
    dw_s8_tN_16_8     depthwise of N taps (up to 9): whole blocks of 16 channels, then a rest of at most 8
    dw_s8_many_16_15  depthwise of any even number of taps, then a rest of at most 15
    dw_s8_tN_16_r     depthwise of few channels: blocks of 16 bytes hold whole pixels, all with the same weights
    dw_s8_tN_16_p     depthwise with even and odd channels of 16 one after another, instructions reordered
    rows_s8, fill_s8  copies and fills of patches
    window_s8         where the taps of a window are

and the endings `_kN` (accumulators shifted left by N before the multiply), `_t` (rounded twice as TFLM does, with `_n`
also half away from zero for negative ones) and `_c` (limits inside int8).
"""

from __future__ import annotations

from pilotlight.kernels.mve.ahead import dot_ahead
from pilotlight.kernels.mve.arguments import DOT, ROWS
from pilotlight.kernels.mve.depthwise import depthwise, depthwise_many, window
from pilotlight.kernels.mve.function import HeliumFunction
from pilotlight.kernels.mve.names import Dot, Rounding, parse
from pilotlight.kernels.mve.rounding import multiply, shift_right


def generate(name: str) -> HeliumFunction:
    """The function of that name."""
    text = HeliumFunction(name)
    if name == "rows_s8":
        _rows(text)
    elif name == "fill_s8":
        _fill(text)
    elif name == "window_s8":
        window(text)
    elif not isinstance(block := parse(name), Dot):
        (depthwise if block.taps else depthwise_many)(text, block)
    elif block.turns:
        dot_ahead(text, block)
    elif block.pixels == 1:
        _dot_one(text, block.rounding)
    elif block.pixels == 0:
        _dot_any(text, block.rounding)
    elif block.chunks:
        _dot_straight(text, block)
    else:
        _dot_loop(text, block)
    return text


def _dot_straight(t: HeliumFunction, block: Dot) -> None:
    """Eight sums in the even registers. The struct's address and the end of bias lie on the stack."""
    t.load("r0", DOT, ("r1", "end"))
    t.push(("r0", "r1", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d13")
    _constants(t, "r0")
    t.write(f"ldrd r7, r11, [r0, #{DOT['x0']}]")
    t.write(f"ldrd r1, r3, [r0, #{DOT['y0']}]")
    t.load("r0", DOT, ("r5", "w"), ("r9", "bias"))
    t.label("block")
    _start_two(t, block.rounding)
    far = 16 * block.chunks > 128  # than an offset reaches
    for chunk in range(block.chunks):
        place = "], #16" if far else f", #{16 * chunk}]" if chunk else "]"
        _chunk_two(t, f"[r7{place}", f"[r11{place}")
    if far:
        for x in ("r7", "r11"):
            t.write(f"sub {x}, {x}, #{16 * block.chunks}")
    t.write("vmov d0, r0, r2")
    t.write("vmov d1, r4, r6")
    t.write("ldr r0, [sp, #52]")
    _requantize_two(t, block.rounding)
    t.write("cmp r9, r0")
    t.branch("beq", "last")
    t.write("vstrb.32 q0, [r1], #4")
    t.write("vstrb.32 q1, [r3], #4")
    t.branch("b", "block")
    t.label("last")
    t.write("ldr r0, [sp, #48]")
    _store_last_two(t, "r0", "r2")
    t.load("r0", DOT, ("r4", "step"), ("r6", "x_pixel"), ("r5", "w"), ("r9", "bias"))
    t.write("add r1, r1, r4")
    t.write("add r3, r3, r4")
    t.write("add r7, r7, r6, lsl #1")
    t.write("add r11, r11, r6, lsl #1")
    t.branch("b", "block")
    t.label("done")
    t.leave()


def _dot_loop(t: HeliumFunction, block: Dot) -> None:
    """Eight sums in the even registers, lr among them, so the inner loop counts by hand."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d13")
    t.write("mov r11, r0")
    _constants(t, "r11")
    t.label("pair")
    t.load("r11", DOT, ("r5", "w"), ("r9", "bias"))
    t.label("block")
    t.write(f"ldrd r1, r3, [r11, #{DOT['x0']}]")
    _start_two(t, block.rounding)
    t.load("r11", DOT, ("r7", "pairs"))
    if block.odd:
        _chunk_two(t, "[r1], #16", "[r3], #16")
    t.label("chunks")
    _chunk_two(t, "[r1], #16", "[r3], #16")
    _chunk_two(t, "[r1], #16", "[r3], #16")
    t.write("subs r7, r7, #1")
    t.branch("bne", "chunks")
    t.load("r11", DOT, ("r7", "end"))
    t.write("vmov d0, r0, r2")
    t.write("vmov d1, r4, r6")
    t.write(f"ldrd r1, r3, [r11, #{DOT['y0']}]")
    _requantize_two(t, block.rounding)
    t.write("cmp r9, r7")
    t.branch("beq", "last")
    t.write("vstrb.32 q0, [r1], #4")
    t.write("vstrb.32 q1, [r3], #4")
    t.write(f"strd r1, r3, [r11, #{DOT['y0']}]")
    t.branch("b", "block")
    t.label("last")
    _store_last_two(t, "r11", "r7")
    t.load("r11", DOT, ("r0", "step"), ("r2", "x_pixel"))
    t.write(f"ldrd r4, r6, [r11, #{DOT['x0']}]")
    t.write("add r1, r1, r0")
    t.write("add r3, r3, r0")
    t.write(f"strd r1, r3, [r11, #{DOT['y0']}]")
    t.write("add r4, r4, r2, lsl #1")
    t.write("add r6, r6, r2, lsl #1")
    t.write(f"strd r4, r6, [r11, #{DOT['x0']}]")
    t.branch("b", "pair")
    t.label("done")
    t.leave()


def _constants(t: HeliumFunction, struct: str) -> None:
    """Zero point and limits to q4, q5, q6."""
    for q, field in (("q4", "zy"), ("q5", "lo"), ("q6", "hi")):
        t.load(struct, DOT, ("r2", field))
        t.write(f"vdup.32 {q}, r2")


def _start_two(t: HeliumFunction, rounding: Rounding) -> None:
    """The sums of two pixels begin with the bias; r9 moves on to the multipliers."""
    t.write("ldm r9, {r0, r2, r4, r6}")
    t.write("ldm r9!, {r8, r10, r12, lr}")
    _biases(t, rounding, "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")


def _biases(t: HeliumFunction, rounding: Rounding, *sums: str) -> None:
    """Rounded twice, the lowest byte is the shift, to the right where it is negative."""
    for sum_ in sums if rounding.twice else ():
        t.write(f"asr {sum_}, {sum_}, #8")


def _chunk_two(t: HeliumFunction, first: str, second: str) -> None:
    """Sixteen inputs of two pixels by four filters."""
    t.write(f"vldrb.8 q0, {first}")
    t.write(f"vldrb.8 q1, {second}")
    for one, two in (("r0", "r8"), ("r2", "r10"), ("r4", "r12"), ("r6", "lr")):
        t.write("vldrb.8 q2, [r5], #16")
        t.write(f"vmladava.s8 {one}, q0, q2")
        t.write(f"vmladava.s8 {two}, q1, q2")


def _requantize_two(t: HeliumFunction, rounding: Rounding) -> None:
    """Eight sums, four of them in q0 already, to outputs in q0 and q1; r9 moves on to the next block."""
    t.write("vmov d2, r8, r10")
    t.write("vmov d3, r12, lr")
    t.write("vldrw.32 q3, [r9], #16")
    for q in ("q0", "q1"):
        multiply(t, q, "q3", rounding)
    if rounding.twice:
        t.write("vldrw.32 q2, [r9, #-32]")
    for q in ("q0", "q1"):
        shift_right(t, q, "q2", "q3", rounding)
        t.write(f"vadd.i32 {q}, {q}, q4")
        t.write(f"vmax.s32 {q}, {q}, q5")
        t.write(f"vmin.s32 {q}, {q}, q6")


def _store_last_two(t: HeliumFunction, struct: str, count: str) -> None:
    """Stores the last block of filters and goes to `done` unless there are more pixels."""
    t.load(struct, DOT, (count, "last"))
    t.write(f"vctp.32 {count}")
    t.write("vpstt")
    t.write("vstrbt.32 q0, [r1]")
    t.write("vstrbt.32 q1, [r3]")
    t.load(struct, DOT, (count, "pixels"))
    t.write(f"subs {count}, {count}, #2")
    t.branch("ble", "done")
    t.write(f"str {count}, [{struct}, #{DOT['pixels']}]")


def _dot_one(t: HeliumFunction, rounding: Rounding) -> None:
    """Four sums. The inner loop predicates its tail, so x needs no padding."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"))
    t.load("r0", DOT, ("r3", "y0"), ("r5", "w"), ("r7", "depth"), ("r8", "x0"), ("r9", "bias"), ("r10", "end"))
    t.load("r0", DOT, ("r11", "last"), ("r12", "zy"), ("r1", "lo"), ("r2", "hi"))
    t.write("vdup.32 q2, r1")
    t.write("vdup.32 q3, r2")
    t.label("block")
    t.write("mov r1, r8")
    t.write("ldm r9!, {r0, r2, r4, r6}")
    _biases(t, rounding, "r0", "r2", "r4", "r6")
    t.write("dlstp.8 lr, r7")
    t.label("chunk")
    t.write("vldrb.8 q0, [r1], #16")
    for sum_ in ("r0", "r2", "r4", "r6"):
        t.write("vldrb.8 q1, [r5], #16")
        t.write(f"vmladava.s8 {sum_}, q0, q1")
    t.branch("letp lr,", "chunk")
    t.write("vldrw.32 q1, [r9], #16")
    t.write("vmov d0, r0, r2")
    t.write("vmov d1, r4, r6")
    multiply(t, "q0", "q1", rounding)
    shift_right(t, "q0", "q1", "q1", rounding, "[r9, #-32]")
    t.write("vadd.i32 q0, q0, r12")
    t.write("vmax.s32 q0, q0, q2")
    t.write("vmin.s32 q0, q0, q3")
    t.write("cmp r9, r10")
    t.branch("beq", "last")
    t.write("vstrb.32 q0, [r3], #4")
    t.branch("b", "block")
    t.label("last")
    t.write("vctp.32 r11")
    t.write("vpst")
    t.write("vstrbt.32 q0, [r3]")
    t.leave()


def _dot_any(t: HeliumFunction, rounding: Rounding) -> None:
    """Four filters at all pixels, then the next four; a pixel is 16 bytes."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "lr"), "d8", "d15")
    t.write("mov r11, r0")
    t.load("r11", DOT, ("r5", "w"), ("r8", "step"), ("r9", "bias"), ("r10", "y0"), ("r12", "zy"))
    t.load("r11", DOT, ("r1", "lo"), ("r2", "hi"))
    t.write("vdup.32 q6, r1")
    t.write("vdup.32 q7, r2")
    t.label("block")
    t.load("r11", DOT, ("r1", "x0"), ("r7", "end"), ("lr", "pixels"))
    t.write("mov r3, r10")
    for q in ("q0", "q1", "q2", "q3"):
        t.write(f"vldrb.8 {q}, [r5], #16")
    t.write("vldrw.32 q4, [r9, #16]")
    t.write("add r0, r9, #32")
    t.write("dls lr, lr")
    t.write("cmp r0, r7")
    t.branch("beq", "rest")
    t.label("pixel")
    _pixel_any(t, rounding)
    t.write("vstrb.32 q5, [r3]")
    t.write("add r3, r3, r8")
    t.branch("le lr,", "pixel")
    t.write("add r9, r9, #32")
    t.write("add r10, r10, #4")
    t.branch("b", "block")
    t.label("rest")
    t.load("r11", DOT, ("r7", "last"))
    t.write("vctp.32 r7")
    t.label("last")
    _pixel_any(t, rounding)
    t.write("vpst")
    t.write("vstrbt.32 q5, [r3]")
    t.write("add r3, r3, r8")
    t.branch("le lr,", "last")
    t.leave()


def _pixel_any(t: HeliumFunction, rounding: Rounding) -> None:
    t.write("vldrb.8 q5, [r1], #16")
    t.write("ldm r9, {r0, r2, r4, r6}")
    _biases(t, rounding, "r0", "r2", "r4", "r6")
    for sum_, q in (("r0", "q0"), ("r2", "q1"), ("r4", "q2"), ("r6", "q3")):
        t.write(f"vmladava.s8 {sum_}, q5, {q}")
    t.write("vmov d10, r0, r2")
    t.write("vmov d11, r4, r6")
    if rounding.twice:
        t.write("vldrw.32 q4, [r9, #16]")
    multiply(t, "q5", "q4", rounding)
    shift_right(t, "q5", "q4", "q4", rounding, "[r9]")
    t.write("vadd.i32 q5, q5, r12")
    t.write("vmax.s32 q5, q5, q6")
    t.write("vmin.s32 q5, q5, q7")


def _rows(t: HeliumFunction) -> None:
    """Rows of runs of bytes; one loop for runs of at most 16, one for longer ones."""
    t.push(("r4", "r5", "r6", "r7", "r8", "r9", "r10", "lr"))
    t.load("r0", ROWS, ("r1", "x"), ("r2", "bytes"), ("r4", "x_pixel"), ("r5", "y_pixel"), ("r7", "rows"))
    t.load("r0", ROWS, ("r3", "pixels"), ("r9", "x_row"), ("r10", "y_row"), ("r0", "y"))
    t.write("cmp r2, #16")
    t.branch("bhi", "long")
    t.write("vctp.8 r2")
    t.label("short_row")
    t.write("mov r6, r0")
    t.write("mov r8, r1")
    t.write("dls lr, r3")
    t.label("short")
    t.write("vpstt")
    t.write("vldrbt.8 q0, [r8]")
    t.write("vstrbt.8 q0, [r6]")
    t.write("add r8, r8, r4")
    t.write("add r6, r6, r5")
    t.branch("le lr,", "short")
    _next_row(t, "short_row")
    t.leave()
    t.label("long")
    t.write("add r6, r2, #15")
    t.write("bic r6, r6, #15")
    t.write("sub r4, r4, r6")
    t.write("sub r5, r5, r6")
    t.label("row")
    t.write("mov r6, r0")
    t.write("mov r8, r1")
    t.write("mov r12, r3")
    t.label("pixel")
    t.write("dlstp.8 lr, r2")
    t.label("bytes")
    t.write("vldrb.8 q0, [r8], #16")
    t.write("vstrb.8 q0, [r6], #16")
    t.branch("letp lr,", "bytes")
    t.write("add r8, r8, r4")
    t.write("add r6, r6, r5")
    t.write("subs r12, r12, #1")
    t.branch("bne", "pixel")
    _next_row(t, "row")
    t.leave()


def _next_row(t: HeliumFunction, label: str) -> None:
    t.write("add r1, r1, r9")
    t.write("add r0, r0, r10")
    t.write("subs r7, r7, #1")
    t.branch("bne", label)


def _fill(t: HeliumFunction) -> None:
    """fill_s8(y, bytes, value)."""
    t.push(("r4", "lr"))
    t.write("vdup.8 q0, r2")
    t.branch("wlstp.8 lr, r1,", "done")
    t.label("bytes")
    t.write("vstrb.8 q0, [r0], #16")
    t.branch("letp lr,", "bytes")
    t.label("done")
    t.leave()
