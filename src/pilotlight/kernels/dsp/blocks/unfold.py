"""Weights into Winograd's form on the board: `unfold_s8_4_iC` for four filters of C channels.

Four channels of a filter are nine words, taps by rows. A word of two channels each goes to the 16 places, first by
columns and then by rows, in thirteen registers.
"""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function, MemoryOperand, RegisterList
from pilotlight.kernels.dsp.blocks.arguments import UNFOLD
from pilotlight.kernels.dsp.blocks.conv import SAVED
from pilotlight.kernels.dsp.blocks.names import DspBlock

FROM, TO = Core(0), Core(14)
TAPS = [Core(n) for n in range(1, 10)]  # (3 rows, 3 columns)
SPARE = [Core(n) for n in range(10, 13)]  # one per row
FRAME = 8  # fours left of this filter, filters left
FARTHEST = 4095  # bytes that a store reaches
ENDS = RegisterList(tuple(Core(n) for n in range(1, 9)))


def reaches(channels: int) -> bool:
    """Whether eight places lie within the reach of a store."""
    return 8 * place_bytes(channels) - 16 <= FARTHEST


def place_bytes(channels: int) -> int:
    return 8 * channels


def unfold(block: DspBlock) -> Function:
    place = place_bytes(block.step)
    f = Function(block.name, stack=4 * len(SAVED.registers) + FRAME)
    f.add("push", SAVED)
    f.add("sub", "sp", "sp", FRAME)
    f.add("ldr", TO, f"[{Core(0)}, #{UNFOLD['to']}]")
    f.add("ldr", FROM, f"[{Core(0)}, #{UNFOLD['from']}]")
    f.add("mov", TAPS[0], block.step // 4)
    f.add("mov", TAPS[1], 4)
    f.add("strd", TAPS[0], TAPS[1], "[sp]")
    f.label("four")
    for half in (0, 1):
        _half(f, half, place)
    f.add("add", TO, TO, 32)
    f.add("ldrd", TAPS[0], TAPS[1], "[sp]")
    f.add("subs", TAPS[0], TAPS[0], 1)
    f.add("str", TAPS[0], "[sp]")
    f.add("bne", "four")
    f.add("mov", TAPS[0], block.step // 4)
    f.add("sub", TO, TO, 8 * block.step - 4)
    f.add("subs", TAPS[1], TAPS[1], 1)
    f.add("strd", TAPS[0], TAPS[1], "[sp]")
    f.add("bne", "four")
    f.add("ldmia", FROM, ENDS)
    f.add("add", TO, TO, 8 * place)
    f.add("add", TO, TO, 8 * place - 16)
    f.add("stmia", TO, ENDS)
    f.add("add", "sp", "sp", FRAME)
    f.add("pop", SAVED)
    f.add("bx", "lr")
    return f


def _half(f: Function, half: int, place: int) -> None:
    """Channels 0 and 2, or 1 and 3, of four."""
    f.add("ldmia", MemoryOperand(FROM, update=bool(half)) if half else FROM, RegisterList(tuple(TAPS)))
    for tap in TAPS:
        f.add("sxtb16", tap, tap, *(["ror #8"] if half else []))
    columns: list[list[Core]] = [[], [], [], []]  # the rows of columns 1, 2, 0, 3
    for row in range(3):
        a, b, c = TAPS[3 * row : 3 * row + 3]
        new = SPARE[row]
        _three(f, a, b, c, new, SPARE[row + 1] if row < 2 else None)
        for column, register in zip(columns, (new, b, a, c), strict=True):
            column.append(register)
    free: Core | None = None
    for i, (a, b, c) in enumerate(columns):
        if i == 2:
            f.add("add", TO, TO, 8 * place)
        at = [f"[{TO}, #{4 * (i % 2) * place + k * place + 16 * half}]" for k in range(4)]
        if free is None:
            _tight(f, a, b, c, at)
        else:
            f.add("sadd16", free, a, c)
            f.add("sadd16", a, a, a)
            f.add("sadd16", c, c, c)
            f.add("str", a, at[2])
            f.add("str", c, at[3])
            f.add("sadd16", a, free, b)
            f.add("ssub16", b, free, b)
            f.add("str", a, at[0])
            f.add("str", b, at[1])
        free = a
    f.add("sub", TO, TO, 8 * place)


def _three(f: Function, a: Core, b: Core, c: Core, new: Core, spare: Core | None) -> None:
    """new = a + b + c, b = a - b + c."""
    if spare is not None:
        f.add("sadd16", spare, a, c)
        f.add("sadd16", new, spare, b)
        f.add("ssub16", b, spare, b)
    else:
        f.add("sadd16", new, a, c)
        f.add("ssub16", b, new, b)
        f.add("sadd16", new, new, new)
        f.add("ssub16", new, new, b)


def _tight(f: Function, a: Core, b: Core, c: Core, at: list[str]) -> None:
    """The four rows of a column without a register to spare."""
    f.add("sadd16", a, a, c)
    f.add("sadd16", b, a, b)
    f.add("str", b, at[0])
    f.add("ssub16", b, a, b)
    f.add("sadd16", b, a, b)
    f.add("str", b, at[1])
    f.add("sadd16", b, c, c)
    f.add("str", b, at[3])
    f.add("ssub16", a, a, c)
    f.add("sadd16", a, a, a)
    f.add("str", a, at[2])
