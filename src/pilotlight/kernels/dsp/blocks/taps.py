"""Four channels of one pixel of a depthwise layer with any kernel: `taps_s8_4`."""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import TAPS, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, shift_left
from pilotlight.kernels.dsp.blocks.names import DspBlock

X, W, ODD, EVEN = (Core(n) for n in range(4))
ACC = [Core(n) for n in range(4, 8)]
W0, W1, COLUMNS, ROWS, COLUMN, SPARE = Core(8), Core(9), Core(10), Core(11), Core(12), Core(14)
ARGUMENTS = all_fields(TAPS)
FRAME = 4 * len(TAPS)  # x, kh, kw, column, row, w, w_end, y, zy, lo, hi


def taps(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    f.add("push", SAVED)
    f.add("ldmia", Core(0), ARGUMENTS)
    f.add("push", ARGUMENTS)
    f.add("mov", COLUMN, Core(4))
    f.add("mov", W, Core(6))
    f.label("channels")
    if block.finish.twice:
        f.add("str", W, f"[sp, #{TAPS['w']}]")
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList(tuple(ACC)))
    if block.finish.twice:
        for a in ACC:
            f.add("asr", a, a, 8)
    f.add("ldrd", X, ROWS, "[sp]")
    f.label("row")
    f.add("ldr", COLUMNS, f"[sp, #{TAPS['kw']}]")
    f.label("tap")
    f.add("ldr", ODD, f"[{X}]")
    f.add("ldrd", W0, W1, f"[{W}], #8")
    f.add("add", X, X, COLUMN)
    f.add("sxtb16", EVEN, ODD)
    f.add("sxtb16", ODD, ODD, "ror #8")
    f.add("smlabb", ACC[0], EVEN, W0, ACC[0])
    f.add("smlatt", ACC[2], EVEN, W0, ACC[2])
    f.add("smlabb", ACC[1], ODD, W1, ACC[1])
    f.add("smlatt", ACC[3], ODD, W1, ACC[3])
    f.add("subs", COLUMNS, COLUMNS, 1)
    f.add("bne", "tap")
    f.add("ldr", SPARE, f"[sp, #{TAPS['row']}]")
    f.add("add", X, X, SPARE)
    f.add("subs", ROWS, ROWS, 1)
    f.add("bne", "row")
    multipliers, y, zy = [ODD, EVEN, W0, W1], COLUMNS, SPARE
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList(tuple(multipliers)))
    f.add("ldrd", y, zy, f"[sp, #{TAPS['y']}]")
    if block.finish.twice:
        f.add("ldr", X, f"[sp, #{TAPS['w']}]")
    for a, m in zip(ACC, multipliers, strict=True):
        shift_left(f, a, block.finish)
        if block.finish.twice:
            right, offset = ROWS, y
            f.add("ldr", right, f"[{X}], #4")
            f.add("lsl", offset, zy, right)
            multiply(f, a, m, offset, block.finish, offset)
            f.add("asr", a, a, right)
        else:
            f.add("smmlar", a, a, m, zy)
    if block.finish.twice:
        f.add("ldr", y, f"[sp, #{TAPS['y']}]")
    if block.finish.clamp:
        f.add("ldrd", ODD, EVEN, f"[sp, #{TAPS['lo']}]")
    for a in ACC:
        limit(f, a, block.finish, *((ODD, EVEN) if block.finish.clamp else (None, None)))
        f.add("strb", a, f"[{y}], #1")
    f.add("ldr", X, "[sp]")
    f.add("str", y, f"[sp, #{TAPS['y']}]")
    f.add("add", X, X, 4)
    f.add("str", X, "[sp]")
    f.add("ldr", SPARE, f"[sp, #{TAPS['w_end']}]")
    f.add("cmp", W, SPARE)
    f.add("bne", "channels")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f
