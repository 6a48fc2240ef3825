"""Fours of filters at one or two pixels: `quad_s8_P_sS_gN` and `_iN`, N steps of four taps in a turn.

Two words hold two taps of four filters. They are first used as they are and then widened in place, so that eight sums,
both pointers and what two taps need fill the fourteen registers: 14 instructions for 16 products.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import CONV, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, separate
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.blocks.order import mixed

X, X0, X1, L0, W = (Core(n) for n in range(5))
ACC = [[Core(n) for n in range(5, 9)], [Core(n) for n in range(9, 13)]]  # (pixel, filter)
L1 = Core(14)
ARGUMENTS = all_fields(CONV)
FRAME = 4 * len(CONV)  # x, steps, x_end, w, w_end, y, zy, y_pixel, lo, hi


def quad(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    f.add("push", SAVED)
    f.add("ldmia", Core(0), ARGUMENTS)
    f.add("push", ARGUMENTS)
    f.label("quad")
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList(tuple(ACC[0])))
    if block.count == 2:
        for first, second in zip(*ACC, strict=True):
            f.add("mov", second, first)
    f.add("ldr", X, "[sp]")
    f.label("taps")
    f.body += _turn(block)
    if block.wide:
        f.add("ldr", X0, f"[sp, #{CONV['x_end']}]")
        f.add("cmp", X, X0)
        f.add("bne", "taps")
    _outputs(f, block)
    f.add("ldr", L0, f"[sp, #{CONV['w_end']}]")
    f.add("cmp", W, L0)
    f.add("bne", "quad")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _turn(block: DspBlock) -> list[AsmInstruction]:
    """All taps of a turn by twos."""
    f = Function("")
    pixels = list(zip((X0, X1), ACC, strict=True))[block.count - 1 :: -1]  # the second first, so that it is free early
    for _ in range(2 * block.steps):
        if block.count == 2:
            f.add("ldr", X1, f"[{X}, #{block.step}]")
        if block.mixed:
            f.add("ldr", L0, f"[{W}], #4")
            f.add("ldr", L1, f"[{W}], #4")
        else:
            f.add("ldrd", L0, L1, f"[{W}], #8")
        f.add("ldr", X0, f"[{X}], #4")
        for widened in (0, 1):
            if widened:
                f.add("sxtb16", L0, L0)
                f.add("sxtb16", L1, L1)
            for x, sums in pixels:
                f.add("smlad", sums[widened], x, L0, sums[widened])
                f.add("smlad", sums[2 + widened], x, L1, sums[2 + widened])
    return mixed(f.body) if block.mixed else f.body


def _outputs(f: Function, block: DspBlock) -> None:
    finish, acc = block.finish, ACC[: block.count]
    y, zy, y_pixel = X, X0, X1
    if finish.twice:
        _rounded_twice(f, block)
        f.add("ldr", y, f"[sp, #{CONV['y']}]")
        f.add("ldr", y_pixel, f"[sp, #{CONV['y_pixel']}]")
    else:
        f.add("ldrd", zy, y_pixel, f"[sp, #{CONV['zy']}]")
        f.add("ldr", y, f"[sp, #{CONV['y']}]")
        for pair in (0, 2):
            f.add("ldrd", L0, L1, f"[{W}], #8")
            for sums in acc:
                a, b = sums[pair : pair + 2]
                separate(f, a, b, finish)
                f.add("smmlar", a, a, L0, zy)
                f.add("smmlar", b, b, L1, zy)
    if finish.clamp:
        f.add("ldrd", L0, L1, f"[sp, #{CONV['lo']}]")
    for sums in acc:
        for sum_ in sums:
            limit(f, sum_, finish, *((L0, L1) if finish.clamp else (None, None)))
    for which in range(4):
        if block.count == 2:
            f.add("strb", ACC[1][which], f"[{y}, {y_pixel}]")
        f.add("strb", ACC[0][which], f"[{y}], #1")
    f.add("str", y, f"[sp, #{CONV['y']}]")


def _rounded_twice(f: Function, block: DspBlock) -> None:
    """Up to the last bit to the right. Before each multiplier are the bits of its filter, less one."""
    right, zy, offset, multiplier, spare = X, X0, X1, L0, L1
    f.add("ldr", zy, f"[sp, #{CONV['zy']}]")
    for which in range(4):
        f.add("ldrd", right, multiplier, f"[{W}], #8")
        f.add("lsl", offset, zy, right)
        for sums in ACC[: block.count]:
            if which % 2 == 0:
                separate(f, sums[which], sums[which + 1], block.finish)
            multiply(f, sums[which], multiplier, offset, block.finish, spare)
            f.add("asr", sums[which], sums[which], right)
