"""The steps of the int16 transform (rfft_s16.h): a complex number is a word, its real part in the low half.

    load, radix4, radix2, split

A rounded sum (a + b + 1) >> 1 is `SHSUB16` of a and the complement of b. A product with a factor is `SMLSD` and
`SMLADX` from half of the lowest bit that stays, and `PKHTB` takes 16 bits of each.
"""

from __future__ import annotations

from collections.abc import Iterator

from pilotlight.kernels.assembly.arguments import ArgumentStruct
from pilotlight.kernels.assembly.instructions import Function

STEP = ArgumentStruct("pl_fft_s16_t", ("x", "w", "y", "m", "s", "shift", "size"))
STEPS = ("load", "radix4", "radix2", "split")
SAVED = "{r4, r5, r6, r7, r8, r9, r10, r11, lr}"
RETURN = "{r4, r5, r6, r7, r8, r9, r10, r11, pc}"
MARGIN, HALF = 524288, 16384  # PL_FFT_MARGIN, PL_FFT_HALF
PUSHED = 36  # bytes of SAVED


def functions() -> Iterator[Function]:
    yield load()
    yield radix4()
    yield radix2()
    yield split()


def _begin(name: str, frame: int) -> Function:
    f = Function(f"fft_{name}_s16", stack=PUSHED + frame)
    f.write(f"push {SAVED}")
    if frame:
        f.write(f"sub sp, sp, #{frame}")
    return f


# ---- radix 4: r0-r4 numbers, r5-r7 factors, r8 sizes, r9 x, r10 bytes to the next x, r11 y, r12 bytes to the next y,
# lr HALF

FRAME = 20  # the margin, where x is after this row, the factors, where x is after all rows, the arguments
A, B, C, D, E = "r0", "r1", "r2", "r3", "r4"


def radix4() -> Function:
    f = _begin("radix4", FRAME)
    f.lines(f"""
        str r0, [sp, #16]
        ldmia r0, {{r1, r2, r3, r4, r5, r6}}
        mov r9, r1
        mov r11, r3
        lsl r12, r5, #2
        mul r10, r4, r12
        str r2, [sp, #8]
        add r7, r1, r12
        str r7, [sp, #4]
        add r7, r1, r10
        str r7, [sp, #12]
        mov r7, #{MARGIN}
        str r7, [sp]
        mov r8, #0
        mov lr, #{HALF}
        cmp r6, #1
        beq one_plain
        bhi two_plain
    """)
    for shift, name in enumerate(("zero", "one", "two")):
        _rows4(f, name, shift)
    f.lines(f"""
        done:
        ldr r0, [sp, #16]
        str r8, [r0, #{STEP["size"]}]
        add sp, sp, #{FRAME}
        pop {RETURN}
    """)
    return f


def _rows4(f: Function, name: str, shift: int) -> None:
    """The first row, without factors; then rows of one number each, or of more."""
    f.label(f"{name}_plain")
    _load4(f)
    _points4(f, shift)
    _store4(f, [f"str {E}, [r11, r12]", f"str {A}, [r11, r12, lsl #1]", f"str {C}, [{D}, r12]"], turned=False)
    f.lines(f"""
        add r11, r11, #4
        ldr {D}, [sp, #4]
        cmp r9, {D}
        bne {name}_plain
        ldr {E}, [sp, #12]
        cmp r9, {E}
        beq done
        cmp r12, #4
        bne {name}_next
        add r11, r11, #12
        ldr r12, [sp, #8]
        {name}_first:
        ldmia r12!, {{r5, r6, r7}}
    """)
    _load4(f)
    _points4(f, shift)
    _store4(f, [f"str {E}, [r11, #4]", f"str {A}, [r11, #8]", f"str {C}, [r11, #12]"], turned=True)
    f.lines(f"""
        add r11, r11, #16
        ldr {D}, [sp, #12]
        cmp r9, {D}
        bne {name}_first
        b done
        {name}_next:
        ldr {E}, [sp, #8]
        ldmia {E}!, {{r5, r6, r7}}
        str {E}, [sp, #8]
        add {D}, {D}, r12
        str {D}, [sp, #4]
        add r11, r11, r12
        add r11, r11, r12, lsl #1
        {name}_turned:
    """)
    _load4(f)
    _points4(f, shift)
    _store4(f, [f"str {E}, [r11, r12]", f"str {A}, [r11, r12, lsl #1]", f"str {C}, [{D}, r12]"], turned=True)
    f.lines(f"""
        add r11, r11, #4
        ldr {D}, [sp, #4]
        cmp r9, {D}
        bne {name}_turned
        ldr {E}, [sp, #12]
        cmp r9, {E}
        bne {name}_next
    """)
    if name != "two":
        f.add("b", "done")


def _load4(f: Function) -> None:
    f.lines(f"""
        ldr {B}, [r9, r10]
        ldr {C}, [r9, r10, lsl #1]
        add {E}, r9, r10
        ldr {D}, [{E}, r10, lsl #1]
        ldr {A}, [r9], #4
    """)


def _points4(f: Function, shift: int) -> None:
    """Results 0 to 3 in B, E, A, C; D is free."""
    first, second = "sh" if shift == 2 else "s", "sh" if shift else "s"
    f.lines(f"""
        {first}add16 {E}, {A}, {C}
        {first}sub16 {C}, {A}, {C}
        {first}add16 {A}, {B}, {D}
        {first}sub16 {D}, {B}, {D}
    """)
    if shift:
        f.lines(f"""
            mvn {B}, {A}
            shsub16 {B}, {E}, {B}
        """)
    else:
        f.add("sadd16", B, E, A)
    f.lines(f"""
        {second}sub16 {A}, {E}, {A}
        {second}sax {E}, {C}, {D}
        {second}asx {C}, {C}, {D}
    """)


def _store4(f: Function, stores: list[str], turned: bool) -> None:
    """Results to memory and their sizes; those after the first multiplied by their factors."""
    f.lines(f"""
        ldr {D}, [sp]
        str {B}, [r11]
        smlad {B}, {B}, {B}, {D}
        orr r8, r8, {B}
    """)
    for value, factor, store in zip((E, A, C), ("r5", "r6", "r7"), stores, strict=True):
        if turned:
            _turn(f, value, factor, B, "lr")
        f.add("smlad", B, value, value, D)
        f.add("orr", "r8", "r8", B)
        if store.endswith(f"[{D}, r12]"):
            f.write(f"add {D}, r11, r12, lsl #1")
        f.write(store)


def _turn(f: Function, value: str, factor: str, spare: str, half: str) -> None:
    f.lines(f"""
        smlsd {spare}, {value}, {factor}, {half}
        smladx {value}, {value}, {factor}, {half}
        lsl {value}, {value}, #1
        pkhtb {value}, {value}, {spare}, asr #15
    """)


# ---- radix 2: r0, r1 numbers, r2 spare, r3 factor, r4 x, r5 second x, r6 y, r7 second y, r8 sizes, r9 MARGIN,
# r10 HALF, r11 where x is after this row, r12 rows left, lr bytes of a row


def radix2() -> Function:
    f = _begin("radix2", 12)
    f.lines(f"""
        str r0, [sp]
        ldmia r0, {{r1, r2, r3, r4, r5, r6}}
        lsl lr, r5, #2
        str r2, [sp, #4]
        str r6, [sp, #8]
        mul r0, r4, lr
        mov r12, r4
        mov r4, r1
        add r5, r1, r0
        mov r6, r3
        add r7, r3, lr
        mov r8, #0
        mov r9, #{MARGIN}
        mov r10, #{HALF}
        add r11, r4, lr
        ldr r2, [sp, #8]
        cmp r2, #0
        bne one_plain
    """)
    for shift, name in enumerate(("zero", "one")):
        for turned in (False, True):
            f.label(f"{name}_{'turned' if turned else 'plain'}")
            _points2(f, shift, turned)
            f.lines(f"""
                cmp r4, r11
                bne {name}_{'turned' if turned else 'plain'}
            """)
            f.lines(f"""
                subs r12, r12, #1
                {'beq done' if not turned else f'bne {name}_row'}
            """)
            if not turned:
                f.lines(f"""
                    {name}_row:
                    ldr r2, [sp, #4]
                    ldr r3, [r2], #4
                    str r2, [sp, #4]
                    add r6, r6, lr
                    add r7, r7, lr
                    add r11, r11, lr
                """)
        if name == "zero":
            f.add("b", "done")
    f.lines(f"""
        done:
        ldr r0, [sp]
        str r8, [r0, #{STEP["size"]}]
        add sp, sp, #12
        pop {RETURN}
    """)
    return f


def _points2(f: Function, shift: int, turned: bool) -> None:
    f.lines("""
        ldr r0, [r4], #4
        ldr r1, [r5], #4
    """)
    if shift:
        f.lines("""
            mvn r2, r1
            shsub16 r2, r0, r2
            shsub16 r1, r0, r1
        """)
    else:
        f.lines("""
            sadd16 r2, r0, r1
            ssub16 r1, r0, r1
        """)
    f.lines("""
        str r2, [r6], #4
        smlad r2, r2, r2, r9
        orr r8, r8, r2
    """)
    if turned:
        _turn(f, "r1", "r3", "r2", "r10")
    f.lines("""
        str r1, [r7], #4
        smlad r1, r1, r1, r9
        orr r8, r8, r1
    """)


# ---- load: r1 x, r2 y, r3 points, r8 sizes, r9 bits to the left, r11 what they clear; x need not be aligned to words

UNROLL = 4


def load() -> Function:
    f = _begin("load", 0)
    f.lines(f"""
        ldr r1, [r0, #{STEP["x"]}]
        ldrd r2, r3, [r0, #{STEP["y"]}]
        mov r8, #0
        mov r4, r1
    """)
    _by_four(f, "size", ["ldr r5, [r4], #4", "smuad r5, r5, r5", "add r5, r5, r5, lsr #9", "orr r8, r8, r5"])
    f.lines("""
        clz r8, r8
        rsb r8, r8, #32
        mov r10, #1
        cmp r8, #29
        bhi right
        rsb r9, r8, #29
        lsr r9, r9, #1
        lsl r11, r10, r9
        sub r11, r11, #1
        lsl r11, r11, #16
    """)
    _by_four(f, "left", ["ldr r5, [r1], #4", "lsl r5, r5, r9", "bic r5, r5, r11", "str r5, [r2], #4"])
    f.lines("""
        b shifted
        right:
        rsb r9, r10, #0
        mov r11, #0
    """)
    _by_four(f, "halve", ["ldr r5, [r1], #4", "mvn r5, r5", "shsub16 r5, r11, r5", "str r5, [r2], #4"])
    f.lines(f"""
        shifted:
        rsb r1, r9, #0
        add r8, r8, r9, lsl #1
        sub r8, r8, #1
        lsl r10, r10, r8
        strd r1, r10, [r0, #{STEP["shift"]}]
        pop {RETURN}
    """)
    return f


def _by_four(f: Function, name: str, body: list[str]) -> None:
    """The body for each of r3 points, of which there is one at least; r6 and r7 count."""
    f.lines(f"""
        lsr r6, r3, #2
        and r7, r3, #3
        cmp r6, #0
        beq {name}_rest
        {name}:
    """)
    for _ in range(UNROLL):
        f.lines("\n".join(body))
    f.lines(f"""
        subs r6, r6, #1
        bne {name}
        {name}_rest:
        subs r7, r7, #1
        blo {name}_end
    """)
    f.lines("\n".join(body))
    f.lines(f"""
        b {name}_rest
        {name}_end:
    """)


# ---- split: r0 x forward, r1 x backward, r2 y forward, r3 y backward, r4 factors, r5 pairs left, r6 HALF


def split() -> Function:
    f = _begin("split", 0)
    f.lines(f"""
        ldmia r0, {{r1, r2, r3, r4, r5, r6}}
        mov r0, r1
        mov r12, r6
        mov r7, r2
        add r1, r0, r4, lsl #2
        mov r2, r3
        add r3, r2, r4, lsl #2
        sub r5, r4, #1
        lsr r5, r5, #1
        mov r9, r4
        mov r4, r7
        mov r6, #{HALF}
        ldr r7, [r0], #4
        asr r8, r7, #16
        sxth r7, r7
        add r10, r7, r8
        sub r11, r7, r8
        asr r10, r10, r12
        asr r11, r11, r12
        uxth r10, r10
        uxth r11, r11
        str r10, [r2], #4
        str r11, [r3], #-4
        sub r1, r1, #4
        cmp r5, #0
        beq middle
        cmp r12, #0
        bne one
    """)
    for name, first in (("zero", "s"), ("one", "sh")):
        f.lines(f"""
            {name}:
            ldr r7, [r0], #4
            ldr r8, [r1], #-4
            ldr r10, [r4], #4
            {first}add16 r11, r7, r8
            {first}sub16 r8, r7, r8
            pkhbt r7, r8, r11
            smlsd lr, r7, r10, r6
            smladx r7, r7, r10, r6
            pkhbt r11, r11, r7, lsl #1
            pkhtb r8, r8, lr, asr #15
            shadd16 r7, r11, r8
            shsub16 r8, r11, r8
            str r7, [r2], #4
            str r8, [r3], #-4
            subs r5, r5, #1
            bne {name}
        """)
        if name == "zero":
            f.add("b", "middle")
    f.lines(f"""
        middle:
        tst r9, #1
        bne odd
        ldr r7, [r0]
        asr r8, r7, #16
        sxth r7, r7
        rsb r8, r8, #0
        asr r7, r7, r12
        asr r8, r8, r12
        pkhbt r7, r7, r8, lsl #16
        str r7, [r2]
        odd:
        pop {RETURN}
    """)
    return f
