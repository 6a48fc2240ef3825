"""int8 micro-kernels for Cortex-M0 and M0+: conv_thumb1_s8.h and depthwise_thumb1_s8.h say what they compute.

    thumb1_conv_s8_P          P pixels, two in a word, by all filters of a group, four taps in a turn
    thumb1_conv_s8_P_uN       the same, N taps in a turn
    thumb1_conv_s8_P_uN_w     the same with weights of 32 bits
    thumb1_row_s8             one pixel by four filters at a time, two taps in a turn
    thumb1_depthwise_s8_wS    a row of all channels, 3x3, horizontal stride S
    thumb1_depthwise_s8_wS_r  several rows of them
    ending _kN                accumulators shifted left by N
    ending _s                 the limits are those of int8

Most instructions reach r0 to r7 only; sums are added up in the others.
"""

from __future__ import annotations

import re

from pilotlight.kernels.assembly.dispatch import Family
from pilotlight.kernels.assembly.dispatch import dispatch as dispatched
from pilotlight.kernels.assembly.instructions import Function, Label
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.thumb1.arguments import CONV, DEPTHWISE, ROW

_PATTERN = re.compile(
    r"thumb1_(?:conv_s8_([1-4])(?:_u(?P<turn>\d+))?(?P<wide>_w)?|row_s8|depthwise_s8_w(?P<stride>[12])(?P<rows>_r)?)"
    r"(?:_k(?P<shift>\d+))?(?P<whole>_s)?"
)
_HEAD = """\
/* The int8 blocks of {prefix}.c for cores with Thumb-1. Elsewhere, and with PILOTLIGHT_PORTABLE, this text is empty and
 * the C twins in {prefix}.c are used. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb__) && !defined(__thumb2__) && __ARM_ARCH >= 6

    .syntax unified
    .thumb
"""
FAMILIES = (
    Family("thumb1_conv", "PL_THUMB1_ASM", CONV, counted=True),
    Family("thumb1_row", "PL_THUMB1_ROW_ASM", ROW),
    Family("thumb1_depthwise", "PL_THUMB1_DEPTHWISE_ASM", DEPTHWISE),
)
TURN = 4  # taps, unless a block's name says otherwise; those whose weights are in a word
CHECKED = 2  # taps between the places where sums of two pixels may be taken apart
FLAGGED = 64  # taps whose flags are in a word
SAVED = 36  # bytes of r4 to r11 and lr


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of these."""
    return _PATTERN.fullmatch(name) is not None


class ThumbFunction(Function):
    """One function under the standard calling convention: all registers that it must preserve are saved."""

    def __init__(self, name: str, frame: int):
        super().__init__(name, stack=SAVED + frame)
        self.frame, self.labels, self.whole = frame, 0, name.endswith("_s")
        self.lines(f"""
            push {{r4, r5, r6, r7, lr}}
            mov r4, r8
            mov r5, r9
            mov r6, r10
            mov r7, r11
            push {{r4, r5, r6, r7}}
            sub sp, sp, #{frame}
        """)

    def end(self) -> None:
        self.lines(f"""
            add sp, sp, #{self.frame}
            pop {{r0, r1, r2, r3}}
            mov r8, r0
            mov r9, r1
            mov r10, r2
            mov r11, r3
            pop {{r4, r5, r6, r7, pc}}
        """)

    def output(self) -> None:
        """The sum in r0, times r4 and 65536 r5, as it is before it is limited, in r1 without its zero point; r7 is
        32768, and r2 and r3 are written."""
        self.lines("""
            asrs r1, r0, #16
            uxth r0, r0
            mov r2, r0
            muls r2, r4, r2
            lsrs r2, r2, #16
            adds r2, r2, r7
            mov r3, r1
            muls r3, r4, r3
            adds r3, r3, r2
            muls r0, r5, r0
            uxth r2, r3
            adds r0, r0, r2
            muls r1, r5, r1
            asrs r3, r3, #16
            adds r1, r1, r3
            asrs r0, r0, #16
            adds r1, r1, r0
        """)

    def zero_point(self, register: str) -> None:
        """The zero point as `limit` has it."""
        if self.whole:
            self.write(f"adds {register}, {register}, #128")

    def limit(self, value: str, spare: str, lo: int, hi: int) -> None:
        """The value within the limits that are at these places of the frame, or within those of int8, which it comes
        with 128 more for."""
        if self.whole:
            self.labels += 1
            self.write(f"cmp {value}, #255")
            self.add("bls", Label(f"within{self.labels}"))
            self.lines(f"asrs {value}, {value}, #31\n mvns {value}, {value}")
            self.label(f"within{self.labels}")
            self.write(f"subs {value}, {value}, #128")
            return
        for place, test in ((lo, "bge"), (hi, "ble")):
            self.labels += 1
            self.write(f"ldr {spare}, [sp, #{place}]")
            self.write(f"cmp {value}, {spare}")
            self.add(test, Label(f"within{self.labels}"))
            self.write(f"mov {value}, {spare}")
            self.label(f"within{self.labels}")


def _conv(name: str, pixels: int, shift: int, turn: int, wide: bool) -> ThumbFunction:
    """Words of two pixels times the weights of one filter: r8 and r9 add up products, r10 and r11 upper halves, r12 and
    lr whole words, from which the lower halves follow. r7 is 32768, from which lower halves begin."""
    f = ThumbFunction(name, 36)
    near = turn <= 8  # what a conditional branch reaches
    pairs = (pixels + 1) // 2
    x, x_end, w_end, y, oc, zy, lo, hi = range(0, 32, 4)
    values, some, upper, whole = (
        names.split()[:pairs] for names in ("r0 r1", "r8 r9", "r10 r11", "r12 lr")
    )

    def tap(weight: str) -> None:
        f.write(f"ldmia r4!, {{{', '.join(values)}}}")
        for value in values:
            f.write(f"muls {value}, {weight}, {value}")
        for value, total in zip(values, some, strict=True):
            f.write(f"add {total}, {total}, {value}")

    def part() -> None:
        for total, high, both, value in zip(some, upper, whole, values, strict=True):
            f.lines(f"""
                add {both}, {both}, {total}
                mov {value}, {total}
                asrs {value}, {value}, #16
                add {high}, {high}, {value}
                mov {total}, r7
            """)

    f.lines("""
        mov r5, sp
        ldmia r0!, {r1, r2, r3, r4}
        stmia r5!, {r1, r2, r3, r4}
        ldmia r0!, {r1, r2, r3, r4}
        stmia r5!, {r1, r2, r3, r4}
        ldr r5, [r0]
        movs r7, #128
        lsls r7, r7, #8
        filter:
        ldmia r5!, {r0, r1}
    """)
    for total, high, both in zip(some, upper, whole, strict=True):
        f.lines(f"mov {high}, r0\n mov {both}, r1\n mov {total}, r7")
    f.lines(f"""
        ldr r4, [sp, #{x}]
        flags:
        ldmia r5!, {{r6}}
        taps:
    """)
    for i in range(turn):
        if wide:
            weight = "r3" if i % 2 else "r2"
            if weight == "r2":
                f.write("ldmia r5!, {r2, r3}")
        else:
            weight = "r2" if i % TURN < TURN - 1 else "r3"
            f.write("asrs r3, r3, #8" if i % TURN else "ldmia r5!, {r3}")
            if weight == "r2":
                f.write("sxtb r2, r3")
        tap(weight)
        if i % CHECKED == CHECKED - 1:
            last = i == turn - 1
            f.write("lsls r6, r6, #1")
            f.add("blo", Label("taps" if last and near else f"fits{i}"))
            part()
            if last:
                f.write("cmp r6, #0")
                f.lines("bne taps" if near else f"beq through\n fits{i}:\n b taps\n through:")
            else:
                f.label(f"fits{i}")
    f.lines(f"""
        ldr r0, [sp, #{x_end}]
        cmp r4, r0
    """)
    f.lines("bne flags" if near else "beq ready\n b flags\n ready:")
    for total, high, both in zip(some, upper, whole, strict=True):
        f.lines(f"mov r0, {high}\n lsls r0, r0, #16\n mov r1, {both}\n subs r1, r1, r0\n mov {total}, r1")
    f.lines(f"""
        ldmia r5!, {{r4}}
        mov r12, r5
        asrs r5, r4, #16
        uxth r4, r4
        ldr r0, [sp, #{zy}]
    """)
    f.zero_point("r0")
    f.lines(f"""
        mov lr, r0
        ldr r6, [sp, #{y}]
        adds r0, r6, #1
        str r0, [sp, #{y}]
    """)
    for p, acc in enumerate(["r8", "r10", "r9", "r11"][:pixels]):
        if p:
            f.lines(f"ldr r2, [sp, #{oc}]\n adds r6, r6, r2")
        f.write(f"mov r0, {acc}")
        if shift:
            f.write(f"lsls r0, r0, #{shift}")
        f.output()
        f.write("add r1, r1, lr")
        f.limit("r1", "r2", lo, hi)
        f.write("strb r1, [r6]")
    f.lines(f"""
        mov r5, r12
        ldr r0, [sp, #{w_end}]
        cmp r5, r0
        beq done
        b filter
        done:
    """)
    f.end()
    return f


def _row(name: str, shift: int) -> ThumbFunction:
    """r8 to r11 add up four filters; r4 is the end of the inputs, r6 the distance to it, below zero. An odd number of
    inputs begins in the middle of a turn."""
    f = ThumbFunction(name, 28)
    x_end, count, w_end, y, zy, lo, hi = range(0, 28, 4)
    sums = ["r8", "r9", "r10", "r11"]

    def tap(word: str) -> None:
        f.write("ldrsb r0, [r4, r6]")
        for i, total in enumerate(sums):
            if i:
                f.write(f"asrs {word}, {word}, #8")
            weight = "r2" if i < 3 else word
            if i < 3:
                f.write(f"sxtb r2, {word}")
            f.lines(f"muls {weight}, r0, {weight}\n add {total}, {total}, {weight}")
        f.write("adds r6, r6, #1")

    for place, field in enumerate(("x_end", "count", "w_end", "y", "zy", "lo", "hi")):
        f.lines(f"ldr r1, [r0, #{ROW[field]}]\n str r1, [sp, #{4 * place}]")
    f.lines(f"""
        ldr r5, [r0, #{ROW["w"]}]
        filters:
        ldmia r5!, {{r0, r1, r2, r3}}
        mov r8, r0
        mov r9, r1
        mov r10, r2
        mov r11, r3
        ldr r4, [sp, #{x_end}]
        ldr r6, [sp, #{count}]
        lsls r0, r6, #31
        beq taps
        ldmia r5!, {{r1}}
    """)
    tap("r1")
    f.lines("""
        cmp r6, #0
        beq ready
        taps:
        ldmia r5!, {r1, r3}
    """)
    tap("r1")
    tap("r3")
    f.lines(f"""
        cmp r6, #0
        bne taps
        ready:
        movs r7, #128
        lsls r7, r7, #8
        mov r12, r5
        ldr r0, [sp, #{zy}]
    """)
    f.zero_point("r0")
    f.lines(f"mov lr, r0\n ldr r6, [sp, #{y}]")
    for i, total in enumerate(sums):
        f.lines(f"""
            mov r5, r12
            ldmia r5!, {{r4}}
            mov r12, r5
            asrs r5, r4, #16
            uxth r4, r4
            mov r0, {total}
        """)
        if shift:
            f.write(f"lsls r0, r0, #{shift}")
        f.output()
        f.write("add r1, r1, lr")
        f.limit("r1", "r2", lo, hi)
        f.write(f"strb r1, [r6, #{i}]")
    f.lines(f"""
        adds r6, r6, #4
        str r6, [sp, #{y}]
        mov r5, r12
        ldr r0, [sp, #{w_end}]
        cmp r5, r0
        beq done
        b filters
        done:
    """)
    f.end()
    return f


def _depthwise(name: str, stride: int, shift: int, several: bool) -> ThumbFunction:
    """Each column is loaded once: with stride 1 it goes into three sums, with stride 2 into one or two. r0 to r2 are
    the rows, r3 the column in them, r4 to r6 its values; r8 adds up one column of a window, r9 two, lr three; r10 has
    the channels, r11 the zero point, r12 32768."""
    f = ThumbFunction(name, 108)
    weights, bias, low, high = 0, 36, 40, 44
    lo, hi, x, y, at, row, end, w, w_end, rows, left, x_row, y_row, x_at, y_at = range(48, 108, 4)

    def load() -> None:
        for value, pointer in (("r4", "r0"), ("r5", "r1"), ("r6", "r2")):
            f.write(f"ldrsb {value}, [{pointer}, r3]")

    def total(target: str, column: int) -> None:
        for r, value in enumerate(("r4", "r5", "r6")):
            f.write(f"ldr r7, [sp, #{weights + 4 * (3 * r + column)}]")
            f.lines(f"muls r7, {value}, r7\n add {target}, {target}, r7")

    def begin(target: str) -> None:
        f.lines(f"ldr r7, [sp, #{bias}]\n mov {target}, r7")
        total(target, 0)

    kept = [(lo, "lo"), (hi, "hi"), (x, "x"), (y, "y"), (row, "row"), (w_end, "w_end")]
    for place, field in (*kept, *([(rows, "rows"), (x_row, "x_row"), (y_row, "y_row")] if several else [])):
        f.lines(f"ldr r1, [r0, #{DEPTHWISE[field]}]\n str r1, [sp, #{place}]")
    f.lines(f"""
        ldr r1, [r0, #{DEPTHWISE["ic"]}]
        mov r10, r1
        ldr r2, [r0, #{DEPTHWISE["pixels"]}]
        muls r1, r2, r1
    """)
    f.write("lsls r1, r1, #1" if stride == 2 else "add r1, r1, r10")  # the last column
    f.lines(f"""
        str r1, [sp, #{end}]
        ldr r1, [r0, #{DEPTHWISE["zy"]}]
    """)
    f.zero_point("r1")
    f.lines(f"""
        mov r11, r1
        movs r1, #128
        lsls r1, r1, #8
        mov r12, r1
        ldr r6, [r0, #{DEPTHWISE["w"]}]
        channel:
        ldmia r6!, {{r0, r1, r2, r3, r4}}
        str r6, [sp, #{w}]
    """)
    for i in range(9):
        word = f"r{i // 4}"
        if i % 4:
            f.write(f"asrs {word}, {word}, #8")
        f.lines(f"sxtb r5, {word}\n str r5, [sp, #{weights + 4 * i}]")
    f.lines(f"""
        str r3, [sp, #{bias}]
        asrs r5, r4, #16
        uxth r4, r4
        str r4, [sp, #{low}]
        str r5, [sp, #{high}]
        ldr r0, [sp, #{x}]
        adds r4, r0, #1
        str r4, [sp, #{x}]
        ldr r4, [sp, #{y}]
        adds r5, r4, #1
        str r5, [sp, #{y}]
    """)
    if several:
        f.lines(f"""
            ldr r5, [sp, #{rows}]
            str r5, [sp, #{left}]
            line:
            ldr r5, [sp, #{x_row}]
            adds r5, r5, r0
            str r5, [sp, #{x_at}]
            ldr r5, [sp, #{y_row}]
            adds r5, r5, r4
            str r5, [sp, #{y_at}]
        """)
    f.lines(f"""
        ldr r3, [sp, #{row}]
        adds r1, r0, r3
        adds r2, r1, r3
        str r4, [sp, #{at}]
        movs r3, #0
    """)
    load()
    begin("r8")
    if stride == 1:
        f.lines("mov r9, r8\n add r3, r3, r10")
        load()
        total("r9", 1)
        begin("r8")
    f.lines("pixel:\n add r3, r3, r10")
    load()
    if stride == 1:
        total("r9", 2)
        f.lines("mov lr, r9\n mov r9, r8")
        total("r9", 1)
    else:
        f.write("mov lr, r8")
        total("lr", 1)
        f.write("add r3, r3, r10")
        load()
        total("lr", 2)
    begin("r8")
    f.write("mov r4, lr")
    if shift:
        f.write(f"lsls r4, r4, #{shift}")
    f.lines(f"""
        asrs r5, r4, #16
        uxth r4, r4
        ldr r6, [sp, #{low}]
        mov r7, r6
        muls r6, r4, r6
        lsrs r6, r6, #16
        muls r7, r5, r7
        adds r7, r7, r6
        add r7, r7, r12
        ldr r6, [sp, #{high}]
        muls r4, r6, r4
        muls r5, r6, r5
        uxth r6, r7
        adds r4, r4, r6
        asrs r4, r4, #16
        asrs r7, r7, #16
        adds r5, r5, r7
        adds r5, r5, r4
        add r5, r5, r11
    """)
    f.limit("r5", "r6", lo, hi)
    f.lines(f"""
        ldr r6, [sp, #{at}]
        strb r5, [r6]
        add r6, r6, r10
        str r6, [sp, #{at}]
        ldr r6, [sp, #{end}]
        cmp r3, r6
        bne pixel
    """)
    if several:
        f.lines(f"""
            ldr r0, [sp, #{x_at}]
            ldr r4, [sp, #{y_at}]
            ldr r5, [sp, #{left}]
            subs r5, r5, #1
            str r5, [sp, #{left}]
            cmp r5, #0
            beq next
            b line
            next:
        """)
    f.lines(f"""
        ldr r6, [sp, #{w}]
        ldr r5, [sp, #{w_end}]
        cmp r6, r5
        beq done
        b channel
        done:
    """)
    f.end()
    return f


def generate(name: str) -> ThumbFunction:
    """The function of that name."""
    found = _PATTERN.fullmatch(name)
    assert found is not None
    shift = int(found["shift"] or 0)
    if name.startswith("thumb1_row"):
        return _row(name, shift)
    if found[1]:
        return _conv(name, int(found[1]), shift, int(found["turn"] or TURN), bool(found["wide"]))
    return _depthwise(name, int(found["stride"]), shift, bool(found["rows"]))


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the functions `PREFIX_NAME`, and the stack bytes of each."""
    return render_file(_HEAD, map(generate, sorted(names)), prefix)


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines what the drivers call."""
    return dispatched(names, prefix, FAMILIES, _twin)


def _twin(family: Family, name: str) -> str:
    found = _PATTERN.fullmatch(name)
    assert found is not None
    which = [found[1], str(int(bool(found["wide"])))] if found[1] else [found["stride"] or ""]
    return f"pl_{family.part}_twin_s8({', '.join(['t', *filter(None, which), found['shift'] or '0'])})"
