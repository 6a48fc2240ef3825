"""int8 micro-kernels for 32-bit RISC-V: conv_rv_s8.h and depthwise_rv_s8.h say what they compute.

    rv_conv_s8_P        P pixels by four filters, four taps in a turn
    rv_conv_s8_P_uN     the same, N taps in a turn
    rv_conv_s8_P_qN     the same with the weights of two filters in a word, up to three pixels
    rv_depthwise_s8_wS  a row of all channels, 3x3, horizontal stride S
    ending _kN          accumulators shifted left by N
    ending _t, _t_n     rounded twice, nudged where negative sums matter (layers/twice.py)
"""

from __future__ import annotations

import re

from pilotlight.kernels.assembly.dispatch import Family
from pilotlight.kernels.assembly.dispatch import dispatch as dispatched
from pilotlight.kernels.assembly.instructions import RISCV, Function, Label
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.rv32.arguments import CONV, DEPTHWISE

_PATTERN = re.compile(
    r"(?:rv_conv_s8_([1-4])(?:_u(?P<unroll>\d+)|_q(?P<pairs>\d+))?|rv_depthwise_s8_w(?P<stride>[12]))"
    r"(?:_k(?P<shift>\d+))?(?P<twice>_t)?(?P<nudge>_n)?"
)
_HEAD = """\
/* The int8 blocks of {prefix}.c for 32-bit RISC-V with multiplication. Elsewhere, and with PILOTLIGHT_PORTABLE, this
 * text is empty and the C twins in {prefix}.c are used. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__riscv_mul) && __riscv_xlen == 32 && !defined(__riscv_32e)
"""
SAVED = ["ra", *(f"s{n}" for n in range(12))]
REGISTERS = [*(f"a{n}" for n in range(8)), *(f"t{n}" for n in range(7)), *SAVED]
FRAME, TWICE = 64, 80  # what is saved, then the arguments' address, y and x; rounded twice, also the bits to the right
FAMILIES = (
    Family("rv_conv", "PL_RV_ASM", CONV, counted=True),
    Family("rv_depthwise", "PL_RV_DEPTHWISE_ASM", DEPTHWISE),
)
TAPS = 4  # in a turn, unless a block's name says otherwise
ARGUMENTS, Y, X, RIGHT = 52, 56, 60, 64
W_END = X  # where x is not needed
CHECKED = 2  # taps between the places where sums of two filters may be taken apart


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of these."""
    return _PATTERN.fullmatch(name) is not None


class RiscvFunction(Function):
    """One function under the standard calling convention: all registers that it must preserve are saved."""

    def __init__(self, name: str):
        self.twice, self.nudge = "_t" in name, name.endswith("_n")
        super().__init__(name, stack=TWICE if self.twice else FRAME, syntax=RISCV)
        self.labels = 0

    def begin(self) -> None:
        self.add("addi", "sp", "sp", -self.stack)
        for i, register in enumerate(SAVED):
            self.add("sw", register, f"{4 * i}(sp)")
        self.add("sw", "a0", f"{ARGUMENTS}(sp)")

    def end(self) -> None:
        for i, register in enumerate(SAVED):
            self.add("lw", register, f"{4 * i}(sp)")
        self.add("addi", "sp", "sp", self.stack)
        self.add("ret")

    def finish(self, acc: str, m: str, spare: str, zy: str, lo: str, hi: str, shift: int, right: str = "") -> None:
        """An accumulator as an output: the high word of the product, rounded by the top bit of the low one; rounded
        again, it goes to the right by the register `right`, or by what the frame has, and by one more."""
        if shift:
            self.add("slli", acc, acc, shift)
        self.add("mulh", spare, acc, m)
        self.add("mul", acc, acc, m)
        self.add("srli", acc, acc, 31)
        self.add("add", acc, acc, spare)
        if self.nudge:
            self.add("srai", spare, acc, 31)
            self.add("add", acc, acc, spare)
        self.add("add", acc, acc, zy)
        if self.twice:
            if not right:
                self.add("lw", spare, f"{RIGHT}(sp)")
            self.add("sra", acc, acc, right or spare)
            self.add("srai", acc, acc, 1)
        for bound, test in ((lo, (acc, lo)), (hi, (hi, acc))):
            self.labels += 1
            self.add("bge", *test, Label(str(self.labels)))
            self.add("mv", acc, bound)
            self.label(str(self.labels))


def _conv(name: str, pixels: int, shift: int, unroll: int) -> RiscvFunction:
    f = RiscvFunction(name)
    free = iter(REGISTERS)
    w = [next(free) for _ in range(4)]  # a0 among them: it is read before they are written
    x = [next(free) for _ in range(pixels)]
    weights, end, value, spare = (next(free) for _ in range(4))
    acc = [[next(free) for _ in range(4)] for _ in range(pixels)]
    f.begin()
    for slot, field in ((Y, "y"), (W_END, "w_end")):
        f.add("lw", spare, f"{CONV[field]}(a0)")
        f.add("sw", spare, f"{slot}(sp)")
    f.add("lw", weights, f"{CONV['w']}(a0)")
    f.label("block")
    if f.twice:
        f.add("sw", weights, f"{RIGHT}(sp)")
    for i in range(4):
        f.add("lw", acc[0][i], f"{4 * i}({weights})")
        if f.twice:
            f.add("srai", acc[0][i], acc[0][i], 8)
        for p in range(1, pixels):
            f.add("mv", acc[p][i], acc[0][i])
    f.add("addi", weights, weights, 16)
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    for register, name in ((x[0], "x"), (value, "step"), (end, "x_end")):
        f.add("lw", register, f"{CONV[name]}({spare})")
    for p in range(1, pixels):
        f.add("add", x[p], x[p - 1], value)
    f.label("taps")
    for tap in range(unroll):
        for i in range(4):
            f.add("lb", w[i], f"{4 * tap + i}({weights})")
        for p in range(pixels):
            f.add("lb", value, f"{tap}({x[p]})")
            for i in range(4):
                product = value if i == 3 else spare
                f.add("mul", product, value, w[i])
                f.add("add", acc[p][i], acc[p][i], product)
    for p in range(pixels):
        f.add("addi", x[p], x[p], unroll)
    f.add("addi", weights, weights, 4 * unroll)
    f.add("bne", x[0], end, Label("taps"))
    m, zy, lo, hi = w
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    f.add("lw", x[0], f"{Y}(sp)")
    for register, name in ((value, "oc"), (zy, "zy"), (lo, "lo"), (hi, "hi")):
        f.add("lw", register, f"{CONV[name]}({spare})")
    for p in range(1, pixels):
        f.add("add", x[p], x[p - 1], value)
    for i in range(4):
        f.add("lw", m, f"{4 * i}({weights})")
        offset, right = (end, value) if f.twice else (zy, "")
        if f.twice:
            f.add("lw", end, f"{RIGHT}(sp)")
            f.add("lw", right, f"{4 * i}({end})")
            f.add("sll", offset, zy, right)
        for p in range(pixels):
            f.finish(acc[p][i], m, spare, offset, lo, hi, shift, right)
            f.add("sb", acc[p][i], f"{i}({x[p]})")
    f.add("addi", weights, weights, 16)
    f.add("addi", x[0], x[0], 4)
    f.add("sw", x[0], f"{Y}(sp)")
    f.add("lw", value, f"{W_END}(sp)")
    f.add("bne", weights, value, Label("block"))
    f.end()
    return f


def _pairs(name: str, pixels: int, shift: int, unroll: int) -> RiscvFunction:
    """A product has those of two filters, 2^16 apart. Before a lower one can reach the upper one, which the stream
    says, the upper half goes into a sum of its own; all of it goes into another, from which the lower half follows."""
    f = RiscvFunction(name)
    free = iter(REGISTERS)
    w = [next(free) for _ in range(2)]  # a0 among them: it is read before they are written
    x = [next(free) for _ in range(pixels)]
    weights, end, value, spare, flags = (next(free) for _ in range(5))
    some, upper, whole = ([[next(free) for _ in range(2)] for _ in range(pixels)] for _ in range(3))
    each = [(p, i) for p in range(pixels) for i in range(2)]
    f.begin()
    for slot, field in ((Y, "y"), (W_END, "w_end")):
        f.add("lw", spare, f"{CONV[field]}(a0)")
        f.add("sw", spare, f"{slot}(sp)")
    f.add("lw", weights, f"{CONV['w']}(a0)")
    f.label("block")
    if f.twice:
        f.add("sw", weights, f"{RIGHT}(sp)")
        f.add("addi", weights, weights, 16)
    for i in range(2):
        f.add("lw", upper[0][i], f"{8 * i}({weights})")
        f.add("lw", whole[0][i], f"{8 * i + 4}({weights})")
    for p, i in each:
        f.add("lui", some[p][i], 8)
        if p:
            f.add("mv", upper[p][i], upper[0][i])
            f.add("mv", whole[p][i], whole[0][i])
    f.add("addi", weights, weights, 16)
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    for register, field in ((x[0], "x"), (value, "step"), (end, "x_end")):
        f.add("lw", register, f"{CONV[field]}({spare})")
    for p in range(1, pixels):
        f.add("add", x[p], x[p - 1], value)
    f.label("taps")
    f.add("lw", flags, f"0({weights})")
    for tap in range(unroll):
        for i in range(2):
            f.add("lw", w[i], f"{4 + 8 * tap + 4 * i}({weights})")
        for p in range(pixels):
            f.add("lb", value, f"{tap}({x[p]})")
            f.add("mul", spare, value, w[0])
            f.add("add", some[p][0], some[p][0], spare)
            f.add("mul", value, value, w[1])
            f.add("add", some[p][1], some[p][1], value)
        if tap % CHECKED == CHECKED - 1:
            f.add("bgez", flags, Label(f"fits{tap}"))
            for p, i in each:
                f.add("srai", spare, some[p][i], 16)
                f.add("add", whole[p][i], whole[p][i], some[p][i])
                f.add("add", upper[p][i], upper[p][i], spare)
                f.add("lui", some[p][i], 8)
            f.label(f"fits{tap}")
            if tap < unroll - 1:
                f.add("slli", flags, flags, 1)
    for p in range(pixels):
        f.add("addi", x[p], x[p], unroll)
    f.add("addi", weights, weights, 8 * unroll + 4)
    f.add("bne", x[0], end, Label("taps"))
    for p, i in each:
        f.add("slli", spare, upper[p][i], 16)
        f.add("sub", whole[p][i], whole[p][i], spare)
    m, zy, lo, hi = w[0], w[1], flags, some[0][0]
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    f.add("lw", x[0], f"{Y}(sp)")
    for register, field in ((value, "oc"), (zy, "zy"), (lo, "lo"), (hi, "hi")):
        f.add("lw", register, f"{CONV[field]}({spare})")
    for p in range(1, pixels):
        f.add("add", x[p], x[p - 1], value)
    for i in range(4):
        f.add("lw", m, f"{4 * i}({weights})")
        offset, right = (end, value) if f.twice else (zy, "")
        if f.twice:
            f.add("lw", end, f"{RIGHT}(sp)")
            f.add("lw", right, f"{4 * i}({end})")
            f.add("sll", offset, zy, right)
        for p in range(pixels):
            acc = (whole if i % 2 else upper)[p][i // 2]
            f.finish(acc, m, spare, offset, lo, hi, shift, right)
            f.add("sb", acc, f"{i}({x[p]})")
    f.add("addi", weights, weights, 16)
    f.add("addi", x[0], x[0], 4)
    f.add("sw", x[0], f"{Y}(sp)")
    f.add("lw", value, f"{W_END}(sp)")
    f.add("bne", weights, value, Label("block"))
    f.end()
    return f


def _depthwise(name: str, stride: int, shift: int) -> RiscvFunction:
    """Each column is loaded once: with stride 1 it goes into three sums, with stride 2 into one or two."""
    f = RiscvFunction(name)
    free = iter(REGISTERS[1:])
    x = [next(free) for _ in range(3)]
    column = [next(free) for _ in range(3)]
    first, second, bias, m, ic, y, pixels, zy, lo, hi, spare, weights = (next(free) for _ in range(12))
    w = [next(free) for _ in range(9)]

    def load() -> None:
        for value, pointer in zip(column, x, strict=True):
            f.add("lb", value, f"0({pointer})")

    def advance() -> None:
        for pointer in x:
            f.add("add", pointer, pointer, ic)
        load()

    def total(target: str, start: str, kernel_column: int) -> None:
        """target = start + the column's three products; may be the same register."""
        for r in range(3):
            f.add("mul", spare, column[r], w[3 * r + kernel_column])
            f.add("add", target, start if r == 0 else target, spare)

    f.begin()
    for register, name in ((ic, "ic"), (weights, "w"), (zy, "zy"), (lo, "lo"), (hi, "hi")):
        f.add("lw", register, f"{DEPTHWISE[name]}(a0)")
    for slot, name in ((X, "x"), (Y, "y")):
        f.add("lw", spare, f"{DEPTHWISE[name]}(a0)")
        f.add("sw", spare, f"{slot}(sp)")
    f.label("channel")
    for i in range(9):
        f.add("lb", w[i], f"{i}({weights})")
    f.add("lw", bias, f"12({weights})")
    f.add("lw", m, f"16({weights})")
    f.add("addi", weights, weights, 20)
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    if f.twice:
        f.add("lw", zy, f"{DEPTHWISE['zy']}({spare})")
        f.add("sll", zy, zy, bias)
        f.add("sw", bias, f"{RIGHT}(sp)")
        f.add("srai", bias, bias, 8)
    f.add("lw", x[0], f"{X}(sp)")
    f.add("lw", column[0], f"{DEPTHWISE['row']}({spare})")
    f.add("lw", pixels, f"{DEPTHWISE['pixels']}({spare})")
    f.add("add", x[1], x[0], column[0])
    f.add("add", x[2], x[1], column[0])
    f.add("addi", column[1], x[0], 1)
    f.add("sw", column[1], f"{X}(sp)")
    f.add("lw", y, f"{Y}(sp)")
    f.add("addi", column[1], y, 1)
    f.add("sw", column[1], f"{Y}(sp)")
    load()
    total(first, bias, 0)
    if stride == 1:
        advance()
        total(second, first, 1)
        total(first, bias, 0)
    f.label("pixel")
    advance()
    if stride == 1:
        total(second, second, 2)
    else:
        total(second, first, 1)
        advance()
        total(second, second, 2)
    f.finish(second, m, spare, zy, lo, hi, shift)
    f.add("sb", second, f"0({y})")
    f.add("add", y, y, ic)
    if stride == 1:
        total(second, first, 1)
    total(first, bias, 0)
    f.add("addi", pixels, pixels, -1)
    f.add("bnez", pixels, Label("pixel"))
    f.add("lw", spare, f"{ARGUMENTS}(sp)")
    f.add("lw", spare, f"{DEPTHWISE['w_end']}({spare})")
    f.add("bne", weights, spare, Label("channel"))
    f.end()
    return f


def generate(name: str) -> RiscvFunction:
    """The function of that name."""
    found = _PATTERN.fullmatch(name)
    assert found is not None
    shift = int(found["shift"] or 0)
    if found["pairs"]:
        return _pairs(name, int(found[1]), shift, int(found["pairs"]))
    if found[1]:
        return _conv(name, int(found[1]), shift, int(found["unroll"] or TAPS))
    return _depthwise(name, int(found["stride"]), shift)


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the functions `PREFIX_NAME`, and the stack bytes of each."""
    return render_file(_HEAD, map(generate, sorted(names)), prefix)


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines what the drivers call."""
    return dispatched(names, prefix, FAMILIES, _twin)


def _twin(family: Family, name: str) -> str:
    found = _PATTERN.fullmatch(name)
    assert found is not None
    rounding = ("PL_TWICE_NUDGED" if found["nudge"] else "PL_TWICE") if found["twice"] else "PL_ONCE"
    twin, pairs = ("rv_pairs", f"{found['pairs']}, ") if found["pairs"] else (family.part, "")
    return f"pl_{twin}_twin_s8(t, {found[1] or found['stride']}, {pairs}{found['shift'] or 0}, {rounding})"
