"""The simulator of Thumb-2 with Helium: vectors of 16 bytes, predicates, loops with and without a tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.assembly.instructions import Core, Double, Function, Label, Operand, Quad
from pilotlight.kernels.assembly.simulator import SimulatorError, signed
from pilotlight.kernels.assembly.thumb import LR, ThumbSimulator

BYTES = 16
Lanes = npt.NDArray[np.int64]


class HeliumSimulator(ThumbSimulator):
    """Cortex-M55 as far as the int8 blocks need it."""

    def __init__(self) -> None:
        super().__init__()
        self.predicate: list[bool] | None = None  # of each byte; None until written
        self.then = 0  # instructions that `vpst` still predicates
        self.tail = False  # in a loop that predicates its last turn

    def jump(self, function: Function, at: int) -> str | None:
        op, operands = function.body[at].op, function.body[at].operands
        if op in ("le", "letp"):
            return self.end_of_loop(op, operands[1])
        if op == "wlstp.8":
            self.set(LR, self.value(operands[1]))
            self.tail = self.value(LR) > 0
            label = operands[2]
            assert isinstance(label, Label)
            return "" if self.tail else label.name
        return super().jump(function, at)

    def end_of_loop(self, op: str, label: Operand) -> str:
        assert isinstance(label, Label)
        step = BYTES if op == "letp" else 1
        if self.tail != (op == "letp"):
            raise SimulatorError(f"{op} ends another kind of loop")
        if self.value(LR) <= step:
            self.tail = False
            return ""
        self.set(LR, self.value(LR) - step)
        return label.name

    def execute(self, op: str, operands: tuple[Operand, ...]) -> None:
        name, _, kind = op.partition(".")
        if name in ("dls", "dlstp"):
            self.set(LR, self.value(operands[1]))
            self.tail = name == "dlstp"
        elif name in ("vpst", "vpstt"):
            self.then = len(name) - 3
        elif name == "vctp":
            count = self.value(operands[0])
            self.predicate = [byte // (int(kind) // 8) < count for byte in range(BYTES)]
        elif name[0] == "v" and name not in ("vpush", "vpop"):
            self.vector(*self.active(name), kind, operands)
        else:
            super().execute(op, operands)

    def active(self, name: str) -> tuple[str, list[bool]]:
        """The instruction without its `t`, and the bytes that it works on."""
        mask = [not self.tail or byte < self.value(LR) for byte in range(BYTES)]
        if not self.then:
            return name, mask
        self.then -= 1
        if not name.endswith("t") or self.predicate is None:
            raise SimulatorError(f"{name} is not predicated, or by nothing")
        return name[:-1], [a and b for a, b in zip(mask, self.predicate, strict=True)]

    def vector(self, name: str, mask: list[bool], kind: str, operands: tuple[Operand, ...]) -> None:
        bits = int(kind.lstrip("siu") or 32)
        if name == "vmov":
            assert isinstance(operands[0], Double)
            for part, source in zip(operands[0].parts, operands[1:], strict=True):
                self.set(part, self.value(source))
        elif name in ("vldrb", "vldrh", "vldrw", "vstrb"):
            self.move(name, mask, bits, operands)
        elif name == "vmladava":
            a, b = (self.lanes(q, bits) for q in operands[1:])
            self.set(operands[0], self.value(operands[0]) + int((a * b)[mask[:: bits // 8]].sum()))
        elif name == "vdup":
            self.put(operands[0], np.full(128 // bits, self.value(operands[1]), np.int64), bits, mask)
        elif name in _NARROW:
            self.narrow(name, bits, operands, mask)
        elif name in _WIDEN:
            halves = [self.lanes(q, bits)[_WIDEN[name] :: 2] for q in operands[1:]]
            self.put(operands[0], np.prod(halves, axis=0), 2 * bits, mask)
        elif name in _LANES:
            first, second = self.lanes(operands[1], bits), self.lanes(operands[2], bits)
            self.put(operands[0], _LANES[name](first, second, bits), bits, mask)
        else:
            raise self.unknown(f"{name}.{kind}")

    def move(self, name: str, mask: list[bool], bits: int, operands: tuple[Operand, ...]) -> None:
        """Between memory, in elements of the size of the name, and lanes of `bits`; inactive ones are read as zero and
        not touched in memory."""
        size, count = {"b": 1, "h": 2, "w": 4}[name[-1]], 128 // bits
        register, where = operands
        stored = self.lanes(register, bits) if name == "vstrb" else None
        address = self.address(where)
        if address % size:
            raise SimulatorError(f"{name} at {address:#x}")
        loaded = np.zeros(count, np.int64)
        for lane in range(count):
            if not mask[lane * bits // 8]:
                continue
            if stored is None:
                loaded[lane] = signed(self.load(address + size * lane, size), 8 * size)
            else:
                self.store(address + size * lane, int(stored[lane]), size)
        if stored is None:
            self.put(register, loaded, bits, [True] * BYTES)

    def narrow(self, name: str, bits: int, operands: tuple[Operand, ...], mask: list[bool]) -> None:
        """Saturated to half the width, into every second lane; the others stay."""
        half = bits // 2
        lanes = self.lanes(operands[0], half)
        lanes[_NARROW[name] :: 2] = _saturate(self.lanes(operands[1], bits), half)
        self.put(operands[0], lanes, half, mask)

    def lanes(self, operand: Operand, bits: int) -> Lanes:
        """The signed lanes of a vector; a core register or a number stands in every lane."""
        if isinstance(operand, int | Core):
            return np.full(128 // bits, signed(self.value(operand), bits), np.int64)
        assert isinstance(operand, Quad)
        data = b"".join(self.value(part).to_bytes(4, "little") for part in operand.parts)
        return np.frombuffer(data, f"<i{bits // 8}").astype(np.int64)

    def put(self, register: Operand, lanes: Lanes, bits: int, mask: list[bool]) -> None:
        assert isinstance(register, Quad)
        size = bits // 8
        data = bytearray(b"".join((int(v) & (1 << bits) - 1).to_bytes(size, "little") for v in lanes))
        if not all(mask):
            old = b"".join(self.value(part).to_bytes(4, "little") for part in register.parts)
            data = bytearray(new if on else was for new, was, on in zip(data, old, mask, strict=True))
        for i, part in enumerate(register.parts):
            self.set(part, int.from_bytes(data[4 * i : 4 * i + 4], "little"))


def _rounding_shift(lanes: Lanes, left: Lanes) -> Lanes:
    """To the left by the lowest byte of each lane; to the right, where that is negative, half up."""
    right = np.maximum(-left, 0)
    half: Lanes = (np.int64(1) << right) >> 1
    return ((lanes << np.maximum(left, 0)) + half) >> right


def _saturate(lanes: Lanes, bits: int) -> Lanes:
    return np.clip(lanes, -(1 << bits - 1), (1 << bits - 1) - 1)


_NARROW = {"vqmovnb": 0, "vqmovnt": 1}
_WIDEN = {"vmullb": 0, "vmullt": 1, "vmovlb": 0, "vmovlt": 1}
_LANES: dict[str, Callable[[Lanes, Lanes, int], Lanes]] = {
    "vadd": lambda a, b, bits: a + b,
    "vqadd": lambda a, b, bits: _saturate(a + b, bits),
    "vmul": lambda a, b, bits: a * b,
    "vrmulh": lambda a, b, bits: (a * b + (1 << bits - 1)) >> bits,
    "vqrdmulh": lambda a, b, bits: _saturate((2 * a * b + (1 << bits - 1)) >> bits, bits),
    "vshl": lambda a, b, bits: a << b,
    "vshr": lambda a, b, bits: a >> b,
    "vrshl": lambda a, b, bits: _rounding_shift(a, ((b & 255) ^ 128) - 128),
    "vmax": lambda a, b, bits: np.maximum(a, b),
    "vmin": lambda a, b, bits: np.minimum(a, b),
}
