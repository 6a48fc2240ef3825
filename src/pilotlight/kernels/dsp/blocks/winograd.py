"""Four filters at two tiles in Winograd's form: `winograd_s8_4_uU`, U pairs of channels in one turn.

The 16 places of a tile go by columns. The sums of rows 1, 2 and 0 follow on one another without being cleared, which
is the first output row; what rows 1 and 2 left on the stack starts the sum of row 3, which is the second.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.finish import limit, multiply, shift_left
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.blocks.order import mixed

V, W, X0, X1 = (Core(n) for n in range(4))
ACC = RegisterList(tuple(Core(n) for n in range(4, 12)))  # (tile, filter)
W0, W1 = Core(12), Core(14)
PAIR = 128  # bytes from a pair of channels to the next
SUMS = 4 * len(ACC.registers)
FRAME = 44  # v, end of a place, w_end, lo, hi, u, column, zy, y, y_end, from a place's end to the next
_PLACE_END, _W_END, _LO, _U, _COLUMN, _ZY, _Y, _BACK = 4, 8, 12, 20, 24, 28, 32, 40


def winograd(block: DspBlock) -> Function:
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME + 2 * SUMS)
    _begin(f, block)
    f.label("filters")
    f.add("ldr", V, "[sp]")
    if block.wide:
        f.add("ldr", X0, f"[sp, #{_BACK}]")
        f.add("add", X0, X0, V)
        f.add("add", X0, X0, 8)
        f.add("str", X0, f"[sp, #{_PLACE_END}]")
    f.add("mov", X0, 0)
    f.add("str", X0, f"[sp, #{_COLUMN}]")
    f.label("column")
    _place(f, block, "one", 0)
    f.add("push", ACC)
    _place(f, block, "two", SUMS)
    f.add("push", ACC)
    _place(f, block, "zero", 2 * SUMS)
    _keep(f, 0, 2 * SUMS)
    f.add("pop", ACC)  # one + two
    for i, a, b in _pairs():
        f.add("ldrd", X0, X1, f"[sp, #{8 * i}]")  # one
        f.add("rsb", a, a, f"{X0}, lsl #1")
        f.add("rsb", b, b, f"{X1}, lsl #1")
    f.add("add", "sp", "sp", SUMS)
    _place(f, block, "three", 0)
    _keep(f, 1, 0)
    f.add("ldr", X1, f"[sp, #{_COLUMN}]")
    f.add("add", X1, X1, 1)
    f.add("str", X1, f"[sp, #{_COLUMN}]")
    f.add("cmp", X1, 4)
    f.add("bne", "column")
    _outputs(f, block)
    f.add("ldr", Core(10), f"[sp, #{_W_END}]")
    f.add("cmp", W, Core(10))
    f.add("bne", "filters")
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _begin(f: Function, block: DspBlock) -> None:
    """The arguments into the frame: v, w, w_end, u, steps, zy, lo, hi; then y."""
    v, w, w_end, u, steps, zy, lo, hi = (Core(n) for n in (2, 3, 4, 5, 6, 7, 8, 9))
    y, y_end = Core(0), Core(10)
    f.add("push", SAVED)
    f.add("sub", "sp", "sp", FRAME)
    f.add("ldmia", MemoryOperand(Core(0), update=True), RegisterList((v, w, w_end, u, steps, zy, lo, hi)))
    f.add("str", v, "[sp]")
    f.add("mov", W, w)
    f.add("strd", w_end, lo, f"[sp, #{_W_END}]")
    f.add("strd", hi, u, f"[sp, #{_LO + 4}]")
    f.add("str", zy, f"[sp, #{_ZY}]")
    f.add("add", y_end, y, 32)
    f.add("strd", y, y_end, f"[sp, #{_Y}]")
    if block.wide:
        f.add("lsl", steps, steps, 7)
        f.add("sub", steps, steps, 8)
        f.add("str", steps, f"[sp, #{_BACK}]")


def _place(f: Function, block: DspBlock, name: str, pushed: int) -> None:
    """The sums of one place; `pushed` is how far the stack pointer is below the frame."""
    fresh = name == "one"
    if block.wide:
        if fresh:
            for a in ACC.registers:
                f.add("mov", a, 0)
        f.label(name)
    f.body += _products(block, fresh and not block.wide)
    if block.wide:
        f.add("ldr", X0, f"[sp, #{_PLACE_END + pushed}]")
        f.add("cmp", V, X0)
        f.add("bne", name)
        f.add("ldr", X1, f"[sp, #{_BACK + pushed}]")
        f.add("add", X0, X0, 8)
        f.add("str", X0, f"[sp, #{_PLACE_END + pushed}]")
        f.add("sub", V, V, X1)


def _products(block: DspBlock, fresh: bool) -> list[AsmInstruction]:
    """A turn of one place; where it is fresh, its first products are not added to anything."""
    f = Function("")
    unroll = block.step
    for step in range(unroll):
        last = step == unroll - 1 and not block.wide
        if block.mixed:
            f.add("ldr", X1, f"[{V}, #{PAIR * step + 4}]")
            f.add("ldr", X0, f"[{V}, #{PAIR * step}]")
        else:
            f.add("ldrd", X0, X1, f"[{V}], #{8 - PAIR * (unroll - 1) if last else PAIR}")
        for half in (0, 2):
            if block.mixed:
                f.add("ldr", W0, f"[{W}], #4")
                f.add("ldr", W1, f"[{W}], #4")
            else:
                f.add("ldrd", W0, W1, f"[{W}], #8")
            for tile, x in ((4, X1), (0, X0)) if block.mixed else ((0, X0), (4, X1)):
                for i, w in enumerate((W0, W1)):
                    a = ACC.registers[tile + half + i]
                    if fresh and step == 0:
                        f.add("smuad", a, x, w)
                    else:
                        f.add("smlad", a, x, w, a)
    if not block.mixed:
        return f.body
    f.add("add", V, V, PAIR * unroll if block.wide else 8)
    return mixed(f.body)


def _keep(f: Function, row: int, pushed: int) -> None:
    """The sums of one column into those of an output row's left and right pixels, by what the column is to them:
    one: both are this; two: left is their sum, right their difference; zero: twice this to left; three: to right."""
    u, column = X0, X1
    f.add("ldrd", u, column, f"[sp, #{_U + pushed}]")
    f.add("tbb", f"[pc, {column}]")
    f.label(f"columns{row}")
    f.add(".byte", ", ".join(f"(.L{name}{row} - .Lcolumns{row}) / 2" for name in ("first", "second", "left", "right")))
    f.label(f"second{row}")
    if row:
        f.add("add", u, u, SUMS)
    for i, a, b in _pairs():
        f.add("ldrd", W0, W1, f"[{u}, #{8 * i}]")
        for sum_, one in ((a, W0), (b, W1)):
            f.add("add", sum_, sum_, one)
            f.add("rsb", one, sum_, f"{one}, lsl #1")
        f.add("strd", W0, W1, f"[{u}, #{2 * SUMS + 8 * i}]")
    f.add("b", f"kept{row}")
    f.label(f"right{row}")
    f.add("add", u, u, 2 * SUMS)
    f.label(f"left{row}")
    if row:
        f.add("add", u, u, SUMS)
    for i, a, b in _pairs():
        f.add("ldrd", W0, W1, f"[{u}, #{8 * i}]")
        f.add("add", a, W0, f"{a}, lsl #1")
        f.add("add", b, W1, f"{b}, lsl #1")
    f.add("b", f"kept{row}")
    f.label(f"first{row}")
    if row:
        f.add("add", u, u, SUMS)
    f.label(f"kept{row}")
    f.add("stmia", u, ACC)


def _pairs() -> list[tuple[int, Core, Core]]:
    numbers = [register for register in ACC.registers if isinstance(register, Core)]
    return list(zip(range(4), numbers[::2], numbers[1::2], strict=True))


def _outputs(f: Function, block: DspBlock) -> None:
    """From sums to outputs: two filters of two neighbouring pixels at a time."""
    u, y, zy, left, right = Core(0), Core(2), Core(3), Core(4), Core(5)
    first, second = (Core(6), Core(7)), (Core(8), Core(9))
    more = (Core(10), Core(11))
    biases, multipliers = more, (Core(12), Core(14))
    f.add("ldr", u, f"[sp, #{_U}]")
    f.add("ldr", y, f"[sp, #{_Y}]")
    f.add("ldr", zy, f"[sp, #{_ZY}]")
    f.label("pixels")
    if not block.finish.twice:
        f.add("ldrd", left, right, f"[{y}]")
    for pair in (0, 8):
        f.add("ldrd", *first, f"[{u}, #{pair}]")
        f.add("ldrd", *second, f"[{u}, #{2 * SUMS + pair}]")
        f.add("ldmia", MemoryOperand(W, update=True), RegisterList((*biases, *multipliers)))
        if block.finish.twice:
            for i, (bias, m) in enumerate(zip(biases, multipliers, strict=True)):
                _rounded_twice(f, block, (first[i], second[i]), bias, m)
            f.add("ldrd", left, right, f"[{y}]")
        else:
            for sums in (first, second):
                for a, bias, m in zip(sums, biases, multipliers, strict=True):
                    f.add("add", a, bias, f"{a}, asr #2")
                    shift_left(f, a, block.finish)
                    f.add("smmlar", a, a, m, zy)
        if block.finish.clamp:
            f.add("ldrd", *more, f"[sp, #{_LO}]")
        for a, b in zip(first, second, strict=True):
            for sum_, to in ((a, left), (b, right)):
                limit(f, sum_, block.finish, *(more if block.finish.clamp else (None, None)))
                f.add("strb", sum_, f"[{to}], #1")
        if block.finish.twice and pair == 0:
            f.add("strd", left, right, f"[{y}]")
    f.add("strd", left, right, f"[{y}], #8")
    f.add("add", u, u, 16)
    f.add("ldr", Core(10), f"[sp, #{_Y + 4}]")
    f.add("sub", W, W, 32)
    f.add("cmp", y, Core(10))
    f.add("bne", "pixels")
    f.add("add", W, W, 32)


def _rounded_twice(f: Function, block: DspBlock, sums: tuple[Core, Core], bias: Core, m: Core) -> None:
    """Two pixels of a filter, up to the last bit to the right; one less than those bits is below the bias."""
    zy, offset, spare = Core(3), Core(4), Core(5)
    f.add("asr", spare, bias, 8)
    f.add("lsl", offset, zy, bias)
    for a in sums:
        f.add("add", a, spare, f"{a}, asr #2")
    for a in sums:
        shift_left(f, a, block.finish)
        multiply(f, a, m, offset, block.finish, spare)
        f.add("asr", a, a, bias)
