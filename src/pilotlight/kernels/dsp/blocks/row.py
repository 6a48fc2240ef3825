"""Filters over one row of int8 inputs: `row_s8_F`, with `_gN` and `_iN` for turns of exactly N steps, and `_i` for
cores that hide loads between products.

A step is four inputs. The registers that are left take one or two pairs of filters: weights are first used as they
are, then widened in place.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import ROW, all_fields
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, separate
from pilotlight.kernels.dsp.blocks.loop import rest, unrolled
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.blocks.order import mixed

X, W, X0, X1 = (Core(n) for n in range(4))
L0, L1 = Core(12), Core(14)
ARGUMENTS = all_fields(ROW)
FRAME = 4 * len(ROW)  # x, steps left out, x_end, w, w_end, y, zy, lo, hi


def row(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    acc = [Core(4 + n) for n in range(block.count)]
    pairs = list(zip(acc[::2], acc[1::2], strict=True))
    f.add("push", SAVED)
    f.add("ldmia", Core(0), ARGUMENTS)
    if not block.steps:
        rest(f, Core(2), _unroll(block))
    f.add("push", ARGUMENTS)
    f.add("mov", W, Core(4))
    f.label("block")
    f.add("ldmia", MemoryOperand(W, update=True), RegisterList(tuple(acc)))
    if block.steps:
        f.add("ldr", X, "[sp]")
        f.label("taps")
        f.body += _turn(block, pairs, block.steps)
    else:
        f.add("ldrd", X, X0, "[sp]")
        unrolled(f, _turn(block, pairs, 1), _unroll(block), X0)
    f.add("ldr", L0, f"[sp, #{ROW['x_end']}]")
    f.add("cmp", X, L0)
    f.add("bne", "taps")
    y, zy = X1, X0
    f.add("ldrd", y, zy, f"[sp, #{ROW['y']}]")
    for a, b in pairs:
        f.add("ldrd", L0, L1, f"[{W}], #8")
        separate(f, a, b, block.finish)
        multiply(f, a, L0, zy, block.finish, X)
        multiply(f, b, L1, zy, block.finish, X)
        if block.finish.clamp:
            f.add("ldrd", L0, L1, f"[sp, #{ROW['lo']}]")
        for output in (a, b):
            limit(f, output, block.finish, *((L0, L1) if block.finish.clamp else (None, None)))
            f.add("strb", output, f"[{y}], #1")
    f.add("str", y, f"[sp, #{ROW['y']}]")
    f.add("ldr", L0, f"[sp, #{ROW['w_end']}]")
    f.add("cmp", W, L0)
    f.add("bne", "block")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _unroll(block: DspBlock) -> int:
    """Steps in a turn of a loop: fewer where there are few filters, or a block for each shift."""
    return 4 if block.count == 8 and not block.finish.down else 2


def _turn(block: DspBlock, pairs: list[tuple[Core, Core]], steps: int) -> list[AsmInstruction]:
    """Some steps: the loads of one or two pairs of filters one after another, or all loads between products."""
    f = Function("")
    spare = [(L0, L1)] if block.count == 8 else [(Core(10), Core(11)), (L0, L1)]
    for _ in range(steps):
        f.add("ldr", X1, f"[{X}], #4")
        for first in range(0, len(pairs), len(spare)):
            some = list(zip(pairs[first:], spare, strict=False))
            for _, words in some:
                if block.mixed:
                    for word in words:
                        f.add("ldr", word, f"[{W}], #4")
                else:
                    f.add("ldrd", *words, f"[{W}], #8")
            if first == 0:
                f.add("sxtb16", X0, X1)
                f.add("sxtb16", X1, X1, "ror #8")
            for (a, _), (even, odd) in some:
                f.add("smlad", a, X0, even, a)
                f.add("smlad", a, X1, odd, a)
            for _, words in some:
                for word in words:
                    f.add("sxtb16", word, word)
            for (_, b), (even, odd) in some:
                f.add("smlad", b, X0, even, b)
                f.add("smlad", b, X1, odd, b)
    return mixed(f.body) if block.mixed else f.body
