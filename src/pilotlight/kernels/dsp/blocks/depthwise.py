"""Four channels of one or two output rows of a 3x3 depthwise layer: `depthwise_s8_R_wS`, with `_fN` for N pixels, and
`_gN` for N pixels by two, which share loads.

The six words of a channel's weights stay in registers along the rows. A patch word holds two input rows, so that two
output rows share every load: (0, 1) and (2, 3) times weights (0, 1) and (1, 2), whole or by halves.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import DEPTHWISE, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, shift_left
from pilotlight.kernels.dsp.blocks.names import DspBlock

A, B, X, Y = (Core(n) for n in range(4))
WEIGHTS = [Core(n) for n in range(4, 10)]
P, Q, OC, PIXELS = Core(10), Core(11), Core(12), Core(14)
ROW = PIXELS  # from an output row to the next, where pixels are not counted
FRAME = 52  # start, start, multiplier, zy, lo, hi, x, w, y, pixels, oc, y_row, w_end
TWICE = 8  # more of it where sums are rounded twice: zy, bits to the right; above, zy is what is added to a product
COLUMN = 32  # bytes of a patch column
SUMS = [(A, B), (PIXELS, OC)]  # of two pixels, each of two rows


def depthwise(block: DspBlock) -> Function:
    frame = FRAME + (TWICE if block.finish.twice else 0)
    f = Function(block.name, stack=4 * len(SAVED.registers) + frame)
    f.add("push", SAVED)
    f.add("ldmia", Core(0), all_fields(DEPTHWISE))
    f.add("sub", "sp", "sp", frame)
    f.add("str", Core(7), f"[sp, #{FRAME if block.finish.twice else 12}]")
    f.add("strd", Core(8), Core(9), "[sp, #16]")
    f.add("strd", Core(1), Core(2), "[sp, #24]")
    f.add("strd", Core(3), Core(4), "[sp, #32]")
    f.add("strd", Core(5), Core(6), "[sp, #40]")
    f.add("mov", OC, Core(5))
    if block.steps:
        f.add("mov", ROW, Core(6))
    f.add("add", P, Core(2), 4 * 32)
    f.add("str", P, "[sp, #48]")
    f.label("channel")
    f.add("ldrd", X, P, "[sp, #24]")
    f.add("ldmia", MemoryOperand(P, update=True), RegisterList(tuple(WEIGHTS)))
    f.add("ldrd", A, B, f"[{P}], #8")
    f.add("add", Q, X, 8)
    f.add("strd", Q, P, "[sp, #24]")
    if block.finish.twice:
        f.add("ldr", P, f"[sp, #{FRAME}]")
        f.add("lsl", P, P, A)
        f.add("str", P, "[sp, #12]")
        f.add("str", A, f"[sp, #{FRAME + 4}]")
        f.add("asr", A, A, 8)
    f.add("strd", A, A, "[sp]")
    f.add("str", B, "[sp, #8]")
    if block.steps:
        f.add("ldr", Y, "[sp, #32]")
    else:
        f.add("ldrd", Y, PIXELS, "[sp, #32]")
    f.add("add", Q, Y, 1)
    f.add("str", Q, "[sp, #32]")
    if block.chained:
        for first in range(0, block.steps, 2):
            _together(f, block, min(2, block.steps - first))
    elif block.steps:
        for _ in range(block.steps):
            _pixel(f, block)
    else:
        f.label("pixel")
        _pixel(f, block)
        f.add("subs", PIXELS, PIXELS, 1)
        f.add("bne", "pixel")
    f.add("ldr", P, "[sp, #28]")
    f.add("ldr", Q, "[sp, #48]")
    f.add("cmp", P, Q)
    f.add("bne", "channel")
    f.add("add", "sp", "sp", frame)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _pixel(f: Function, block: DspBlock) -> None:
    both = block.count == 2
    outputs = [A, B] if both else [A]
    if both:
        f.add("ldrd", A, B, "[sp]")
    else:
        f.add("ldr", A, "[sp]")
    for column in range(3):
        first, second = WEIGHTS[2 * column : 2 * column + 2]
        later = f"[{X}, #{COLUMN * (column - block.step)}]"
        f.add("ldrd", P, Q, f"[{X}], #{COLUMN * block.step}" if column == 0 else later)
        f.add("smlad", A, P, first, A)
        if both:
            f.add("smlatb", B, P, first, B)
        f.add("smlabt", A, Q, second, A)
        if both:
            f.add("smlad", B, Q, second, B)
    _finish(f, block, outputs)
    if both and block.steps:
        f.add("strb", B, f"[{Y}, {ROW}]")
    elif both:
        f.add("ldr", P, "[sp, #44]")
        f.add("strb", B, f"[{Y}, {P}]")
    f.add("strb", A, f"[{Y}]")
    f.add("add", Y, Y, OC)


def _together(f: Function, block: DspBlock, pixels: int) -> None:
    """One or two pixels: a column that both see is loaded once. All sums start from the one register that is the last
    to be overwritten."""
    both = block.count == 2
    sums = SUMS[:pixels]
    start = sums[-1][0]
    f.add("ldr", start, "[sp]")
    on = block.step * pixels
    for column in range((pixels - 1) * block.step + 3):
        f.add("ldrd", P, Q, f"[{X}, #{COLUMN * (column - on)}]" if column else f"[{X}], #{COLUMN * on}")
        for p, (a, b) in enumerate(sums):
            tap = column - p * block.step
            if not 0 <= tap < 3:
                continue
            first, second = WEIGHTS[2 * tap : 2 * tap + 2]
            if both:
                f.add("smlatb", b, P, first, b if tap else start)
            f.add("smlad", a, P, first, a if tap else start)
            f.add("smlabt", a, Q, second, a)
            if both:
                f.add("smlad", b, Q, second, b)
    _finish(f, block, [output for pair in sums for output in pair[: block.count]])
    oc, row = P, Q
    f.add("ldrd", oc, row, "[sp, #40]")
    for a, b in sums:
        if both:
            f.add("strb", b, f"[{Y}, {row}]")
        f.add("strb", a, f"[{Y}]")
        f.add("add", Y, Y, oc)


def _finish(f: Function, block: DspBlock, outputs: list[Core]) -> None:
    """From sums to outputs, through P and Q."""
    f.add("ldrd", P, Q, "[sp, #8]")
    for output in outputs:
        shift_left(f, output, block.finish)
        multiply(f, output, P, Q, block.finish, Q)
        if block.finish.nudge and output is not outputs[-1]:
            f.add("ldr", Q, "[sp, #12]")
    if block.finish.twice:
        f.add("ldr", P, f"[sp, #{FRAME + 4}]")
        for output in outputs:
            f.add("asr", output, output, P)
    if block.finish.clamp:
        f.add("ldrd", P, Q, "[sp, #16]")
    for output in outputs:
        limit(f, output, block.finish, *((P, Q) if block.finish.clamp else (None, None)))
