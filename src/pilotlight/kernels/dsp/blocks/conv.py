"""Pairs of filters at one to three pixels: `conv_s8_P_sS`, with `_fN` and `_gN` for windows of exactly N steps, and
`_i` for cores that hide loads between products.

A step is four taps: two words of packed weights, or four wide ones, and two words of inputs for each pixel.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import CONV, all_fields
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, separate, shift_left
from pilotlight.kernels.dsp.blocks.loop import rest, unrolled
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.blocks.order import mixed

UNROLL = 4
X, L0, L1, T0, W = (Core(n) for n in range(5))
ACC = [(Core(5), Core(6)), (Core(7), Core(8)), (Core(9), Core(10))]
T1, X0, X1 = Core(11), Core(12), Core(14)
SAVED = RegisterList((*(Core(n) for n in range(4, 12)), Core(14)))
ARGUMENTS = all_fields(CONV)
FRAME = 4 * len(CONV)  # x, steps left out, x_end, w, w_end, y, zy, y_pixel, lo, hi


def conv(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    acc = ACC[: block.count]
    f.add("push", SAVED)
    f.add("ldmia", Core(0), ARGUMENTS)
    step = _step(block)
    if not block.steps:
        rest(f, Core(2), UNROLL)
    if block.mixed and block.count == 3:  # from the first pixel on: single loads do not reach far back
        for pointer in (Core(1), Core(3)):
            f.add("sub", pointer, pointer, block.step)
    f.add("push", ARGUMENTS)
    f.label("pair")
    f.add("ldrd", *acc[0], f"[{W}], #8")
    for a, b in acc[1:]:
        f.add("mov", a, acc[0][0])
        f.add("mov", b, acc[0][1])
    if block.chained:
        _chain(f, block)
    elif block.steps:
        f.add("ldr", X, "[sp]")
        for _ in range(block.steps):
            f.body += step
    else:
        _loop(f, step)
    _outputs(f, block)
    f.add("ldr", T0, f"[sp, #{CONV['w_end']}]")
    f.add("cmp", W, T0)
    f.add("bne", "pair")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _chain(f: Function, block: DspBlock) -> None:
    """All taps by twos, weights of 16 bits: first all loads of two taps, then their products. Loads that follow one
    another take a cycle each on some cores."""
    f.add("ldr", X, "[sp]")
    if block.count == 3:
        f.add("sub", X, X, block.step)  # the driver points to the pixel in the middle
    inputs = [X0, X1, T0][: block.count]
    for pair in range(2 * block.steps):
        f.add("ldrd", L0, L1, f"[{W}], #8")
        for p, x in enumerate(inputs):
            f.add("ldr", x, f"[{X}, #{4 * pair + p * block.step}]")
        for x, (a, b) in zip(inputs, ACC, strict=False):
            f.add("smlad", a, x, L0, a)
            f.add("smlad", b, x, L1, b)


def _loop(f: Function, step: list[AsmInstruction]) -> None:
    f.add("ldrd", X, T0, "[sp]")
    unrolled(f, step, UNROLL, T0)
    f.add("ldr", T0, f"[sp, #{CONV['x_end']}]")
    f.add("cmp", X, T0)
    f.add("bne", "taps")


def _step(block: DspBlock) -> list[AsmInstruction]:
    f = Function("")
    _load(f, block, L0, L1, W)
    if block.wide:
        _load(f, block, T0, T1, W)
    order = {1: [0], 2: [1, 0], 3: [1, 2, 0] if block.mixed else [0, 2, 1]}[block.count]
    base = order[-1]  # the pixel that x points to comes last and moves it on
    for i, p in enumerate(order):
        a, b = ACC[p]
        _load(f, block, X0, X1, X, None if p == base else (p - base) * block.step)
        if block.wide:  # first filter's taps 0 1, second's; first's taps 2 3, second's
            products = [(a, X0, L0), (b, X0, L1), (a, X1, T0), (b, X1, T1)]
        else:
            if i == 0:
                f.add("sxtb16", T0, L0)
                f.add("sxtb16", T1, L1)
            products = [(a, X0, L0), (b, X0, T0), (a, X1, L1), (b, X1, T1)]
        for sum_, x, w in products:
            f.add("smlad", sum_, x, w, sum_)
    return mixed(f.body) if block.mixed else f.body


def _load(f: Function, block: DspBlock, a: Core, b: Core, base: Core, offset: int | None = None) -> None:
    """Two words; moves the base on where there is no offset."""
    if not block.mixed:
        f.add("ldrd", a, b, f"[{base}], #8" if offset is None else f"[{base}, #{offset}]")
        return
    for word, more in ((a, 0), (b, 4)):
        f.add("ldr", word, f"[{base}], #4" if offset is None else f"[{base}, #{offset + more}]")


def _outputs(f: Function, block: DspBlock) -> None:
    acc, finish = ACC[: block.count], block.finish
    y, zy, y_pixel = X0, T0, T1
    lo, hi = (X, X1) if finish.clamp else (None, None)
    if finish.twice:
        _rounded_twice(f, block)
        y, y_pixel = X1, X0
        lo, hi = (L0, L1) if finish.clamp else (None, None)
    else:
        f.add("ldrd", L0, L1, f"[{W}], #8")
        f.add("ldrd", zy, y_pixel, f"[sp, #{CONV['zy']}]")
    f.add("ldr", y, f"[sp, #{CONV['y']}]")
    if lo and hi:
        f.add("ldrd", lo, hi, f"[sp, #{CONV['lo']}]")
    for a, b in acc:
        if not finish.twice:
            _whole(f, a, b, block)
            f.add("smmlar", a, a, L0, zy)
            f.add("smmlar", b, b, L1, zy)
        limit(f, a, finish, lo, hi)
        limit(f, b, finish, lo, hi)
    for which in (0, 1):
        for p, shift in ((1, ""), (2, ", lsl #1")):
            if p < len(acc):
                f.add("strb", acc[p][which], f"[{y}, {y_pixel}{shift}]")
        f.add("strb", acc[0][which], f"[{y}], #1")
    f.add("str", y, f"[sp, #{CONV['y']}]")


def _whole(f: Function, a: Core, b: Core, block: DspBlock) -> None:
    """Both filters' sums, shifted."""
    if block.wide:
        shift_left(f, a, block.finish)
        shift_left(f, b, block.finish)
    else:
        separate(f, a, b, block.finish)


def _rounded_twice(f: Function, block: DspBlock) -> None:
    """Up to the last bit to the right; leaves y_pixel in X0. Around the multipliers are the bits of each filter, less
    one."""
    right_a, right_b, offset_a, offset_b, zy = X, T0, X1, T1, T1
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList((right_a, L0, L1, right_b)))
    if block.finish.nudge:
        f.add("ldr", zy, f"[sp, #{CONV['zy']}]")
    else:
        f.add("ldrd", zy, X0, f"[sp, #{CONV['zy']}]")
    f.add("lsl", offset_a, zy, right_a)
    f.add("lsl", offset_b, zy, right_b)
    for a, b in ACC[: block.count]:
        _whole(f, a, b, block)
        multiply(f, a, L0, offset_a, block.finish, X0)
        multiply(f, b, L1, offset_b, block.finish, X0)
        f.add("asr", a, a, right_a)
        f.add("asr", b, b, right_b)
    if block.finish.nudge:
        f.add("ldr", X0, f"[sp, #{CONV['y_pixel']}]")
