"""Bringing int8 inputs into 16-bit form: `widen_s8`, `weave_s8` for 1x1 layers, `pairs_s8` for depthwise layers."""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import PAIRS, all_fields


def widen() -> Function:
    """Four inputs at a time, in the order 0, 2, 1, 3: r0 from, r1 to, r2 how many."""
    f = Function("widen_s8")
    x, y, n, low, high = Core(0), Core(1), Core(2), Core(12), Core(3)

    def four() -> None:
        f.add("ldr", high, f"[{x}], #4")
        f.add("sxtb16", low, high)
        f.add("sxtb16", high, high, "ror #8")
        f.add("strd", low, high, f"[{y}], #8")

    f.add("tst", n, 4)
    f.add("bne", "odd")
    f.label("eight")
    four()
    f.label("odd")
    four()
    f.add("subs", n, n, 8)
    f.add("bgt", "eight")
    f.add("bx", "lr")
    return f


def weave() -> Function:
    """Four inputs of two pixels at a time, in the order 0, 2, 1, 3, words of both in turns: r0 and r1 from, r2 to, r3
    how many of each."""
    f = Function("weave_s8")
    a, b, y, n = (Core(k) for k in range(4))
    low_a, low_b, high_b, high_a = Core(4), Core(5), Core(6), Core(12)
    saved = RegisterList((low_a, low_b, high_b))
    f.stack = 4 * len(saved.registers)

    def four() -> None:
        f.add("ldr", high_a, f"[{a}], #4")
        f.add("ldr", high_b, f"[{b}], #4")
        for low, high in ((low_a, high_a), (low_b, high_b)):
            f.add("sxtb16", low, high)
            f.add("sxtb16", high, high, "ror #8")
        f.add("strd", low_a, low_b, f"[{y}], #8")
        f.add("strd", high_a, high_b, f"[{y}], #8")

    f.add("push", saved)
    f.add("tst", n, 4)
    f.add("bne", "odd")
    f.label("eight")
    four()
    f.label("odd")
    four()
    f.add("subs", n, n, 8)
    f.add("bgt", "eight")
    f.add("pop", saved)
    f.add("bx", "lr")
    return f


def pairs() -> Function:
    """Two rows of four channels; where a row is outside the image its halves are the zero point."""
    f = Function("pairs_s8")
    at, a, b, to, columns, ic, zx = (Core(n) for n in range(7))
    even_a, odd_a, even_b, odd_b, spare, last = (Core(n) for n in (9, 7, 10, 8, 11, 12))
    saved = RegisterList(tuple(Core(n) for n in range(4, 12)))
    f.stack = 4 * len(saved.registers)
    f.add("push", saved)
    f.add("ldmia", Core(0), all_fields(PAIRS))
    f.add("mov", at, 0)
    f.add("cmp", a, 0)
    f.add("beq", "no_a")
    f.add("cmp", b, 0)
    f.add("beq", "no_b")

    def loop(label: str, has_a: bool, has_b: bool) -> None:
        f.label(label)
        if has_a:
            f.add("ldr", odd_a, f"[{a}, {at}]")
        if has_b:
            f.add("ldr", odd_b, f"[{b}, {at}]")
        f.add("add", at, at, ic)
        low, high = [zx, zx], [zx, zx]
        if has_a:
            low = [even_a, odd_a]
            f.add("sxtb16", even_a, odd_a)
            f.add("sxtb16", odd_a, odd_a, "ror #8")
        if has_b:
            high = [even_b, odd_b]
            f.add("sxtb16", even_b, odd_b)
            f.add("sxtb16", odd_b, odd_b, "ror #8")
        f.add("pkhbt", spare, low[1], high[1], "lsl #16")
        f.add("str", spare, f"[{to}, #8]")
        f.add("pkhtb", spare, high[0], low[0], "asr #16")
        f.add("str", spare, f"[{to}, #16]")
        f.add("pkhtb", spare, high[1], low[1], "asr #16")
        f.add("str", spare, f"[{to}, #24]")
        f.add("pkhbt", last, low[0], high[0], "lsl #16")
        f.add("str", last, f"[{to}], #32")
        f.add("subs", columns, columns, 1)
        f.add("bne", label)

    def done() -> None:
        f.add("pop", saved)
        f.add("bx", "lr")

    loop("both", True, True)
    done()
    loop("no_b", True, False)
    done()
    f.label("no_a")
    f.add("cmp", b, 0)
    f.add("beq", "none")
    loop("only_b", False, True)
    done()
    f.label("none")
    for offset in (8, 16, 24):
        f.add("str", zx, f"[{to}, #{offset}]")
    f.add("str", zx, f"[{to}], #32")
    f.add("subs", columns, columns, 1)
    f.add("bne", "none")
    done()
    return f
