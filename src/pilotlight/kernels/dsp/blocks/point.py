"""Four or two filters at two pixels of a 1x1 layer: `point_s8_F`, with `_i` for cores that hide loads between products.

Words of the two pixels, two inputs each, take turns in the patch, so that one load brings two inputs of both. Weights
are first used as they are and then widened in place, so that with four filters eight sums, both pointers and what two
inputs need fill the fourteen registers: 12 instructions for 16 products.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import CONV, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, separate, shift_left
from pilotlight.kernels.dsp.blocks.loop import rest, unrolled
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.blocks.order import mixed

UNROLL = {4: 8, 2: 2}  # steps of four inputs in a turn, by filters
X, X0, X1, L0, W = (Core(n) for n in range(5))
ACC = [[Core(n) for n in range(5, 9)], [Core(n) for n in range(9, 13)]]  # (pixel, filter)
L1 = Core(14)
ARGUMENTS = all_fields(CONV)
FRAME = 4 * len(CONV)  # x, steps left out, x_end, w, w_end, y, zy, y_pixel, lo, hi


def point(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    acc, unroll = [sums[: block.count] for sums in ACC], UNROLL[block.count]
    f.add("push", SAVED)
    f.add("ldmia", Core(0), ARGUMENTS)
    rest(f, Core(2), unroll)
    f.add("push", ARGUMENTS)
    f.label("filters")
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList(tuple(acc[0])))
    for first, second in zip(*acc, strict=True):
        f.add("mov", second, first)
    f.add("ldrd", X, X0, "[sp]")
    unrolled(f, _step(block), unroll, X0)
    f.add("ldr", X0, f"[sp, #{CONV['x_end']}]")
    f.add("cmp", X, X0)
    f.add("bne", "taps")
    _outputs(f, block, acc)
    f.add("ldr", L0, f"[sp, #{CONV['w_end']}]")
    f.add("cmp", W, L0)
    f.add("bne", "filters")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _step(block: DspBlock) -> list[AsmInstruction]:
    """Four inputs of both pixels, by two."""
    f = Function("")
    for _ in range(2):
        if block.wide:
            for first in range(0, block.count, 2):
                _load(f, block, W, L0, L1)
                if first == 0:
                    _load(f, block, X, X0, X1)
                _products(f, first, L0)
                _products(f, first + 1, L1)
            continue
        words = [L0, L1][: block.count // 2]
        _load(f, block, W, *words)
        _load(f, block, X, X0, X1)
        for which in (0, 1):
            for pair, word in enumerate(words):
                _products(f, 2 * pair + which, word)
            for word in words if which == 0 else ():
                f.add("sxtb16", word, word)
    return mixed(f.body) if block.mixed else f.body


def _load(f: Function, block: DspBlock, base: Core, *words: Core) -> None:
    if len(words) == 2 and not block.mixed:
        f.add("ldrd", *words, f"[{base}], #8")
        return
    for word in words:
        f.add("ldr", word, f"[{base}], #4")


def _products(f: Function, which: int, word: Core) -> None:
    """Of one filter with both pixels."""
    for x, sums in ((X1, ACC[1]), (X0, ACC[0])):
        f.add("smlad", sums[which], x, word, sums[which])


def _outputs(f: Function, block: DspBlock, acc: list[list[Core]]) -> None:
    finish, filters = block.finish, range(block.count)
    y, zy, y_pixel = X, X0, X1
    if finish.twice:
        _rounded_twice(f, block, acc)
        f.add("ldr", y, f"[sp, #{CONV['y']}]")
        f.add("ldr", y_pixel, f"[sp, #{CONV['y_pixel']}]")
    else:
        f.add("ldrd", zy, y_pixel, f"[sp, #{CONV['zy']}]")
        f.add("ldr", y, f"[sp, #{CONV['y']}]")
        for pair in filters[::2]:
            f.add("ldrd", L0, L1, f"[{W}], #8")
            for sums in acc:
                a, b = sums[pair : pair + 2]
                _whole(f, a, b, block)
                f.add("smmlar", a, a, L0, zy)
                f.add("smmlar", b, b, L1, zy)
    if finish.clamp:
        f.add("ldrd", L0, L1, f"[sp, #{CONV['lo']}]")
    for sums in acc:
        for sum_ in sums:
            limit(f, sum_, finish, *((L0, L1) if finish.clamp else (None, None)))
    for which in filters:
        f.add("strb", acc[1][which], f"[{y}, {y_pixel}]")
        f.add("strb", acc[0][which], f"[{y}], #1")
    f.add("str", y, f"[sp, #{CONV['y']}]")


def _whole(f: Function, a: Core, b: Core, block: DspBlock) -> None:
    """Two filters' sums, shifted."""
    if block.wide:
        shift_left(f, a, block.finish)
        shift_left(f, b, block.finish)
    else:
        separate(f, a, b, block.finish)


def _rounded_twice(f: Function, block: DspBlock, acc: list[list[Core]]) -> None:
    """Up to the last bit to the right. Before each multiplier are the bits of its filter, less one."""
    right, zy, offset, multiplier, spare = X, X0, X1, L0, L1
    f.add("ldr", zy, f"[sp, #{CONV['zy']}]")
    for which in range(block.count):
        f.add("ldrd", right, multiplier, f"[{W}], #8")
        f.add("lsl", offset, zy, right)
        for sums in acc:
            if which % 2 == 0:
                _whole(f, sums[which], sums[which + 1], block)
            multiply(f, sums[which], multiplier, offset, block.finish, spare)
            f.add("asr", sums[which], sums[which], right)
