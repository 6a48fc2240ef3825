"""The steps of the float transform of real rows (rfft_fpu_f32.h) for Cortex-M with single-precision hardware.

    first4, first2    load the points in the order of their reversed digits, and the first stage; _w: times a window
    stage4            a later stage of radix 4, where it is
    split             from the transform of the pairs to that of the samples

Two neighbouring transforms are computed at a time, so that one instruction loads or stores two complex numbers. A first
stage reads one point after another; where it writes is found by reversing digits to the base of 4: bits reversed, then
neighbours exchanged. Sums and products are those of the C, in its order.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import THUMB, Float, Function, RegisterList

SAVED = "{r4, r5, r6, r7, r8, r9, r10, r11, lr}"
RETURN = "{r4, r5, r6, r7, r8, r9, r10, r11, pc}"
STACK = 36 + 64  # core registers, s16 to s31
HALF = 0x3F000000  # 0.5

Pair = tuple[int, int]  # two float registers: a complex number


class FloatFunction(Function):
    """Saves what it must preserve."""

    def __init__(self, name: str, fused: bool):
        super().__init__(name, stack=STACK)
        self.fused = fused
        self.lines(f"push {SAVED}\nvpush {{d8-d15}}")

    def end(self) -> Function:
        self.lines(f"vpop {{d8-d15}}\npop {RETURN}")
        return self

    def several(self, op: str, pointer: str, first: int, count: int) -> None:
        """Loads or stores neighbouring registers."""
        self.add(op, THUMB.operand(pointer), RegisterList(tuple(Float(n) for n in range(first, first + count))))

    def sums(self, op: str, target: Pair, a: Pair, b: Pair) -> None:
        for t, x, y in zip(target, a, b, strict=True):
            self.add(f"v{op}.f32", Float(t), Float(x), Float(y))

    def product(self, target: Pair, a: Pair, w: Pair, spare: Pair) -> None:
        """target = a * w; it is neither of them."""
        re, im = map(Float, target)
        a_re, a_im, w_re, w_im = map(Float, (*a, *w))
        self.add("vmul.f32", re, a_re, w_re)
        self.add("vmul.f32", im, a_re, w_im)
        if self.fused:
            self.add("vfms.f32", re, a_im, w_im)
            self.add("vfma.f32", im, a_im, w_re)
            return
        one, two = map(Float, spare)
        self.add("vmul.f32", one, a_im, w_im)
        self.add("vmul.f32", two, a_im, w_re)
        self.add("vsub.f32", re, re, one)
        self.add("vadd.f32", im, im, two)


def pair(first: int) -> Pair:
    return first, first + 1


def halves4(f: FloatFunction, points: list[Pair], between: list[Pair]) -> None:
    """Sums and differences of points 0 and 2, then of 1 and 3."""
    a, b, c, d = points
    for target, op, x, y in zip(between, ("add", "sub") * 2, (a, a, b, b), (c, c, d, d), strict=True):
        f.sums(op, target, x, y)


def turn4(f: FloatFunction, between: list[Pair], results: list[Pair]) -> None:
    """These to the transform of the four."""
    s, t, u, v = between
    f.sums("add", results[0], s, u)
    f.sums("sub", results[2], s, u)
    for result, re, im in ((results[1], "add", "sub"), (results[3], "sub", "add")):
        f.add(f"v{re}.f32", Float(result[0]), Float(t[0]), Float(v[1]))
        f.add(f"v{im}.f32", Float(result[1]), Float(t[1]), Float(v[0]))


def first(radix: int, window: bool, fused: bool) -> Function:
    """(x, window, y, points): r0, r3, r4, r5 legs of x, r6-r9 of the window, r2 y, r10 bytes between the two results,
    r11 the place in x, in the highest bits, r12 what is added to it, r1 and lr spare."""
    f = FloatFunction(f"rfft_first{radix}{'_w' if window else ''}_f32", fused)
    bits = radix // 2  # log2 of the radix
    f.lines(f"""
        lsr r12, r3, #{bits}
        clz r12, r12
        add r12, r12, #2
        mov lr, #1
        lsl r12, lr, r12
        lsl r10, r3, #1
        lsl lr, r3, #{3 - bits}
        add r3, r0, lr
    """)
    if radix == 4:
        f.lines("add r4, r3, lr\nadd r5, r4, lr")
    if window:
        f.lines("mov r6, r1\nadd r7, r6, lr")
        if radix == 4:
            f.lines("add r8, r7, lr\nadd r9, r8, lr")
    f.lines(f"""
        mov r11, #0
        next:
        rbit r1, r11
        and lr, r1, #{0x55555555}
        bic r1, r1, lr
        lsl lr, lr, #1
        orr r1, lr, r1, lsr #1
        add r1, r2, r1, lsl #{3 + bits}
    """)
    legs = ("r0", "r3", "r4", "r5")[:radix]
    for leg, (pointer, by) in enumerate(zip(legs, ("r6", "r7", "r8", "r9"), strict=False)):
        at = 16 + 4 * leg
        f.several("vldmia", f"{pointer}!", at, 4)
        if window:
            f.several("vldmia", f"{by}!", 0, 4)
            for n in range(4):
                f.add("vmul.f32", Float(at + n), Float(at + n), Float(n))
    for which in (0, 1):
        points = [pair(16 + 4 * leg + 2 * which) for leg in range(radix)]
        results, spare = (0, 8) if which == 0 else (8, 0)
        if radix == 4:
            between = [pair(spare + 2 * n) for n in range(4)]
            halves4(f, points, between)
            turn4(f, between, [pair(results + 2 * n) for n in range(4)])
        else:
            f.sums("add", pair(results), *points)
            f.sums("sub", pair(results + 2), *points)
        f.several("vstmia", "r1", results, 2 * radix)
        if which == 0:
            f.lines("add r1, r1, r10")
    f.lines("adds r11, r11, r12\nbne next")
    return f.end()


def stage4(fused: bool) -> Function:
    """(y, factors, points, span): r0-r3 legs, r4 factors, r5 their start, r6 bytes of a leg, r7 the end of y, r8 that
    of the first leg."""
    f = FloatFunction("fft_stage4_f32", fused)
    f.lines("""
        mov r5, r1
        lsl r6, r3, #3
        add r7, r0, r2, lsl #3
        group:
        add r1, r0, r6
        add r2, r1, r6
        add r3, r2, r6
        mov r8, r1
        mov r4, r5
        next:
    """)
    for leg in (1, 2, 3):
        f.several("vldmia", f"r{leg}", 4 * leg, 4)
    f.several("vldmia", "r4!", 16, 12)
    # Each product goes where the number before it was, the first to s28: s14 to s27 are free then.
    target = pair(28)
    turned: list[Pair] = []
    for leg in (1, 2, 3):
        for which in (0, 1):
            source = pair(4 * leg + 2 * which)
            f.product(target, source, pair(16 + 6 * which + 2 * (leg - 1)), pair(30))
            turned.append(target)
            target = source
    f.several("vldmia", "r0", 0, 4)
    points = [[pair(2 * which), *turned[which::2]] for which in (0, 1)]
    between = [[pair(n) for n in places] for places in ((14, 16, 18, 20), (22, 24, 26, 30))]
    for which in (0, 1):
        halves4(f, points[which], between[which])
    for which in (0, 1):
        turn4(f, between[which], [pair(4 * leg + 2 * which) for leg in range(4)])
    for leg in range(4):
        f.several("vstmia", f"r{leg}!", 4 * leg, 4)
    f.lines("""
        cmp r0, r8
        bne next
        mov r0, r3
        cmp r0, r7
        bne group
    """)
    return f.end()


def split(fused: bool) -> Function:
    """(y, turns, points): r0 forward, r3 backward, r1 factors, r2 turns left; s30 0.5."""
    f = FloatFunction("rfft_split_f32", fused)
    f.lines(f"""
        mov r4, #{HALF}
        vmov s30, r4
        mov r5, #0
        add r3, r0, r2, lsl #3
        add r1, r1, #8
        lsr r2, r2, #2
    """)
    f.several("vldmia", "r0", 0, 2)
    f.lines("""
        vadd.f32 s2, s0, s1
        vsub.f32 s4, s0, s1
        vmov s3, r5
        vmov s5, r5
    """)
    f.several("vstmia", "r0!", 2, 2)
    f.several("vstmia", "r3", 4, 2)
    f.label("next")
    f.several("vldmia", "r0", 0, 4)
    f.several("vldmdb", "r3!", 4, 4)
    f.several("vldmia", "r1!", 8, 4)
    for a, b, w, at in ((pair(0), pair(6), pair(8), 12), (pair(2), pair(4), pair(10), 20)):
        even, odd, turned = pair(at), pair(at + 2), pair(at + 4)
        for op, target, x, y in (
            ("add", even[0], a[0], b[0]), ("sub", even[1], a[1], b[1]), ("add", odd[0], a[1], b[1]),
            ("sub", odd[1], b[0], a[0]),
        ):
            f.add(f"v{op}.f32", Float(target), Float(x), Float(y))
        for n in (*even, *odd):
            f.add("vmul.f32", Float(n), Float(30), Float(n))
        f.product(turned, odd, w, pair(at + 6))
        for op, target, x, y in (
            ("sub", b[0], even[0], turned[0]), ("sub", b[1], turned[1], even[1]), ("add", a[0], even[0], turned[0]),
            ("add", a[1], even[1], turned[1]),
        ):
            f.add(f"v{op}.f32", Float(target), Float(x), Float(y))
    f.several("vstmia", "r3", 4, 4)  # the middle is both its own: what counts is stored last
    f.several("vstmia", "r0!", 0, 4)
    f.lines("subs r2, r2, #1\nbne next")
    return f.end()
