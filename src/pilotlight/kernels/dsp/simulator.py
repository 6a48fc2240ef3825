"""The simulator of Thumb-2 with the DSP extension."""

from __future__ import annotations

import re
from collections.abc import Callable

from pilotlight.kernels.assembly.instructions import Function, MemoryOperand, Operand, Turn
from pilotlight.kernels.assembly.simulator import MASK, signed
from pilotlight.kernels.assembly.thumb import ThumbSimulator, Words


def halves(value: int) -> tuple[int, int]:
    return signed(value, 16), signed(value >> 16, 16)


def joined(low: int, high: int) -> int:
    return low & 0xFFFF | (high & 0xFFFF) << 16


def dual_product(a: int, b: int) -> int:
    (a0, a1), (b0, b1) = halves(a), halves(b)
    return a0 * b0 + a1 * b1


def halved(function: Callable[[Words], tuple[int, int]]) -> Callable[[Words], int]:
    return lambda v: joined(*(half >> 1 for half in function(v)))


def sums(v: Words) -> tuple[int, int]:
    (a0, a1), (b0, b1) = halves(v[0]), halves(v[1])
    return a0 + b0, a1 + b1


def differences(v: Words) -> tuple[int, int]:
    (a0, a1), (b0, b1) = halves(v[0]), halves(v[1])
    return a0 - b0, a1 - b1


def plus_i(v: Words) -> tuple[int, int]:
    """a + i b"""
    (a0, a1), (b0, b1) = halves(v[0]), halves(v[1])
    return a0 - b1, a1 + b0


def minus_i(v: Words) -> tuple[int, int]:
    (a0, a1), (b0, b1) = halves(v[0]), halves(v[1])
    return a0 + b1, a1 - b0


class DspSimulator(ThumbSimulator):
    """Cortex-M4 as far as the int8 blocks need it."""

    def jump(self, function: Function, at: int) -> str | None:
        instruction = function.body[at]
        if instruction.op not in ("tbb", "tbh"):
            return super().jump(function, at)
        (where,) = instruction.operands
        table = next(i for i in function.body[at:] if i.op in (".byte", ".short"))
        names = re.findall(r"\(\.L(\w+) - ", str(table.operands[0]))
        assert isinstance(where, MemoryOperand) and where.index is not None
        return str(names[self.value(where.index)])

    def functions(self) -> dict[str, Callable[[Words], int]]:
        return super().functions() | _FUNCTIONS

    def arithmetic(self, op: str, operands: tuple[Operand, ...]) -> None:
        """`ror #8` or `lsl #16` after the last source changes it first."""
        if not isinstance(operands[-1], Turn):
            super().arithmetic(op, operands)
            return
        *rest, last, turn = operands
        assert isinstance(turn, Turn)
        value = self.value(last)
        if turn.how == "ror":
            value = value >> turn.bits | value << (32 - turn.bits)
        else:
            value = signed(value) >> turn.bits if turn.how == "asr" else value << turn.bits
        super().arithmetic(op, (*rest, value & MASK))


_FUNCTIONS: dict[str, Callable[[Words], int]] = {
    "sxtb16": lambda v: joined(signed(v[0], 8), signed(v[0] >> 16, 8)),
    "sxth": lambda v: signed(v[0], 16),
    "uxth": lambda v: v[0] & 0xFFFF,
    "pkhbt": lambda v: v[0] & 0xFFFF | v[1] & 0xFFFF0000,
    "pkhtb": lambda v: v[0] & 0xFFFF0000 | v[1] & 0xFFFF,
    "sadd16": lambda v: joined(*sums(v)),
    "ssub16": lambda v: joined(*differences(v)),
    "sasx": lambda v: joined(*plus_i(v)),
    "ssax": lambda v: joined(*minus_i(v)),
    "shadd16": halved(sums),
    "shsub16": halved(differences),
    "shasx": halved(plus_i),
    "shsax": halved(minus_i),
    "smuad": lambda v: dual_product(v[0], v[1]),
    "smlad": lambda v: dual_product(v[0], v[1]) + v[2],
    "smlsd": lambda v: halves(v[0])[0] * halves(v[1])[0] - halves(v[0])[1] * halves(v[1])[1] + v[2],
    "smladx": lambda v: halves(v[0])[0] * halves(v[1])[1] + halves(v[0])[1] * halves(v[1])[0] + v[2],
    "smlabb": lambda v: halves(v[0])[0] * halves(v[1])[0] + v[2],
    "smlabt": lambda v: halves(v[0])[0] * halves(v[1])[1] + v[2],
    "smlatb": lambda v: halves(v[0])[1] * halves(v[1])[0] + v[2],
    "smlatt": lambda v: halves(v[0])[1] * halves(v[1])[1] + v[2],
    "smmlar": lambda v: ((v[2] << 32) + signed(v[0]) * signed(v[1]) + (1 << 31)) >> 32,
    "ssat": lambda v: max(-(1 << (v[0] - 1)), min((1 << (v[0] - 1)) - 1, signed(v[1]))),
}
