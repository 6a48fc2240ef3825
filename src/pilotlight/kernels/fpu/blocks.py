"""The generator of multiply-accumulate blocks for Cortex-M with single-precision hardware.

Each function walks groups of pixels, blocks of filters, rows, columns and (convolution) channels of
`pl_mac_t`. The accumulators stay in registers from the bias to the store. Separate multiplies and adds are
for cores whose fused instruction is slower than the two (Cortex-M4, M33). Both forms sum in the order of the
C twin.

ReLU is one integer saturation: a float below zero is a negative integer. It would turn a negative NaN into
zero, so the functions set the status bit that makes every NaN an operation yields the positive one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from pilotlight.kernels.assembly.instructions import (
    Core,
    Double,
    Float,
    Function,
    MemoryOperand,
    RegisterList,
    Registers,
    Shifted,
)
from pilotlight.kernels.fpu.arguments import MAC
from pilotlight.kernels.fpu.names import Block

DEFAULT_NAN = 1 << 25
UNROLL = 4  # channels in one turn of the inner loop
ARGS, STATUS = Core(0), Core(12)


def generate(block: Block, fused: bool) -> Function:
    """The function of one block; `fused` chooses one instruction for multiply and add."""
    return (Convolution if block.kind == "mac" else Depthwise)(block, fused).generate()


class Generator(ABC):
    """What the two kinds share: everything around the window."""

    def __init__(self, block: Block, fused: bool):
        self.pixels, self.filters, self.fused = block.pixels, block.filters, fused
        self.shift = 1 + block.filters.bit_length()  # log2 of the bytes of F floats
        self.f = Function(block.name)
        self.registers = Registers()
        core = self.registers.core
        self.x = [core() for _ in range(self.pixels)]
        self.w = core()
        # These four are free once the sums are complete, and ascending as stmia wants them.
        self.rows, self.cols, self.inner, self.scratch = (core() for _ in range(4))
        self.y, self.bias, self.blocks, self.groups, self.base = (core() for _ in range(5))
        self.acc = [self.registers.floats(self.filters) for _ in range(self.pixels)]

    @abstractmethod
    def window(self) -> None:
        """Adds one window to the accumulators; x points to it, w to its weights; rows is not zero."""

    @abstractmethod
    def aside(self) -> None:
        """What a window keeps out of the way of its usual path."""

    @abstractmethod
    def next_block(self) -> None:
        """Moves the window on to the input of the next block of filters."""

    def generate(self) -> Function:
        f = self.f
        saved = RegisterList(tuple(self.registers.saved_core()))
        floats = RegisterList(tuple(self.registers.saved_floats()))
        f.stack = 4 * (len(saved.registers) + len(floats.registers))
        f.add("vmrs", STATUS, "fpscr")
        f.add("push", saved)
        if floats.registers:
            f.add("vpush", floats)
        f.add("orr", STATUS, STATUS, DEFAULT_NAN)
        f.add("vmsr", "fpscr", STATUS)
        self.walk()
        if floats.registers:
            f.add("vpop", floats)
        f.add("pop", saved)
        f.add("vmsr", "fpscr", STATUS)
        f.add("bx", "lr")
        self.aside()
        self.zero_start()
        self.plain_store()
        return f

    def walk(self) -> None:
        """Groups of pixels, and in each the blocks of filters."""
        f = self.f
        for register, name in ((self.base, "x"), (self.y, "y"), (self.groups, "groups")):
            self.load(register, name)
        f.label("group")
        for register, name in ((self.w, "w"), (self.bias, "bias"), (self.blocks, "blocks")):
            self.load(register, name)
        f.label("block")
        f.add("cmp", self.bias, 0)
        f.add("beq", "zero")
        for p, acc in enumerate(self.acc):
            self.vldm(self.bias, acc, update=p == self.pixels - 1)
        f.label("start")
        f.add("mov", self.x[0], self.base)
        if self.pixels == 2:
            self.load(self.scratch, "x_pixel")
            f.add("add", self.x[1], self.base, Shifted(self.scratch, 2))
        self.load(self.rows, "rows")
        f.add("cmp", self.rows, 0)
        f.add("beq", "store")
        self.window()
        f.label("store")
        self.advance([self.w], "w_block", self.shift)
        self.store()
        f.label("stored")
        self.next_block()
        f.add("subs", self.blocks, self.blocks, 1)
        f.add("bne", "block")
        self.next_group()
        f.add("subs", self.groups, self.groups, 1)
        f.add("bne", "group")

    def store(self) -> None:
        """Stores the accumulators, negative ones as zero when asked; y moves on to the next block."""
        f = self.f
        pointers = [self.y]
        if self.pixels == 2:
            pointers.append(self.x[1])
            self.load(self.scratch, "y_pixel")
            f.add("add", self.x[1], self.y, Shifted(self.scratch, 2))
        self.load(self.scratch, "relu")
        f.add("cmp", self.scratch, 0)
        f.add("beq", "plain")
        spare = [self.rows, self.cols, self.inner, self.scratch]
        for acc, pointer in zip(self.acc, pointers, strict=True):
            for at in range(0, self.filters, 4):
                part = acc[at : at + 4]
                held = spare[: len(part)]
                for i in range(0, len(part) - 1, 2):
                    f.add("vmov", held[i], held[i + 1], part[i], part[i + 1])
                if len(part) == 1:
                    f.add("vmov", held[0], part[0])
                for register in held:
                    f.add("usat", register, 31, register)
                if len(held) == 1 and pointer.number > 7:  # a wide stmia of one register is unpredictable
                    f.add("str", held[0], MemoryOperand(pointer, after=4))
                else:
                    f.add("stmia", MemoryOperand(pointer, update=True), RegisterList(tuple(held)))

    def plain_store(self) -> None:
        """The store without ReLU, out of the way."""
        self.f.label("plain")
        for acc, pointer in zip(self.acc, [self.y, self.x[-1]], strict=False):
            self.f.add("vstmia", MemoryOperand(pointer, update=True), RegisterList(tuple(acc)))
        self.f.add("b", "stored")

    def zero_start(self) -> None:
        """Accumulators start at zero where there is no bias; the null pointer is the zero."""
        self.f.label("zero")
        flat = [register for acc in self.acc for register in acc]
        for i in range(0, len(flat) - 1, 2):
            self.f.add("vmov", Double(flat[i]), self.bias, self.bias)
        if len(flat) == 1:
            self.f.add("vmov", flat[0], self.bias)
        self.f.add("b", "start")

    def next_group(self) -> None:
        """From the end of the last block of a group of pixels to the first of the next."""
        self.load(self.scratch, "blocks")
        self.f.add("sub", self.y, self.y, Shifted(self.scratch, self.shift))
        self.advance([self.y], "y_pixel", 1 + self.pixels)
        self.advance([self.base], "x_pixel", 1 + self.pixels)

    def load(self, target: Core, name: str) -> None:
        self.f.add("ldr", target, MemoryOperand(ARGS, MAC[name]))

    def advance(self, pointers: list[Core], name: str, shift: int = 2) -> None:
        """Moves pointers on by a field of the arguments, shifted left."""
        self.load(self.scratch, name)
        for pointer in pointers:
            self.f.add("add", pointer, pointer, Shifted(self.scratch, shift))

    def next_row(self) -> None:
        """To the next row of the window; with two pixels all weights of a row are used."""
        self.advance(self.x, "x_row")
        if self.pixels == 1:
            self.advance([self.w], "w_row", self.shift)
        self.f.add("subs", self.rows, self.rows, 1)
        self.f.add("bne", "row")

    def vldm(self, pointer: Core, registers: list[Float], update: bool = True) -> None:
        self.f.add(
            "vldmia", MemoryOperand(pointer, update=True) if update else pointer, RegisterList(tuple(registers))
        )

    def multiply_add(self, sums: list[tuple[Float, Float, Float]], products: list[Float]) -> None:
        """acc += a * b for each (acc, a, b); the products go through `products`, as many at a time as it holds."""
        if self.fused:
            for acc, a, b in sums:
                self.f.add("vfma.f32", acc, a, b)
            return
        for at in range(0, len(sums), len(products)):
            part = list(zip(sums[at:], products, strict=False))
            for (_, a, b), product in part:
                self.f.add("vmul.f32", product, a, b)
            for (acc, _, _), product in part:
                self.f.add("vadd.f32", acc, acc, product)


class Convolution(Generator):
    """Runs of channels, every filter sees every channel: UNROLL channels a turn, then one by one."""

    def __init__(self, block: Block, fused: bool):
        super().__init__(block, fused)
        spare = 0 if self.pixels == 1 else 4
        self.product = self.registers.floats(spare)  # the last pixel's products go where its weights were
        self.x_at_once = 4 if self.pixels * (self.filters + 4) <= 12 or self.pixels == 1 else 2
        self.xs = [self.registers.floats(self.x_at_once) for _ in range(self.pixels)]
        room = min(16, 32 - self.pixels * (self.filters + self.x_at_once) - spare)
        self.w_at_once = min(UNROLL, room // self.filters)
        self.ws = self.registers.floats(self.w_at_once * self.filters)

    def window(self) -> None:
        f = self.f
        f.label("row")
        self.load(self.cols, "cols")
        f.label("run")
        self.load(self.inner, "len")
        f.add("subs", self.inner, self.inner, UNROLL)
        f.add("blo", "rest")
        f.label("channels")
        self.channels(UNROLL)
        f.add("subs", self.inner, self.inner, UNROLL)
        f.add("bhs", "channels")
        f.label("rest")
        f.add("adds", self.inner, self.inner, UNROLL)
        f.add("beq", "ran")
        f.label("channel")
        self.channels(1)
        f.add("subs", self.inner, self.inner, 1)
        f.add("bne", "channel")
        f.label("ran")
        f.add("subs", self.cols, self.cols, 1)
        f.add("bne", "column")
        self.next_row()

    def aside(self) -> None:
        self.f.label("column")
        self.advance(self.x, "x_col")
        self.f.add("b", "run")

    def next_block(self) -> None:
        """Every filter sees the same input."""

    def channels(self, count: int) -> None:
        """`count` channels: their inputs and weights are loaded several at a time."""
        for k in range(count):
            if k % self.x_at_once == 0:
                for pointer, xs in zip(self.x, self.xs, strict=True):
                    self.vldm(pointer, xs[: count - k])
            if k % self.w_at_once == 0:
                self.vldm(self.w, self.ws[: (count - k) * self.filters])
            ws = self.ws[k % self.w_at_once * self.filters :][: self.filters]
            for p, (acc, xs) in enumerate(zip(self.acc, self.xs, strict=True)):
                x = xs[k % self.x_at_once]
                products = ws if p == self.pixels - 1 else self.product
                self.multiply_add([(a, w, x) for a, w in zip(acc, ws, strict=True)], products)


class Depthwise(Generator):
    """One tap at a time, its F channels and their F weights side by side."""

    def __init__(self, block: Block, fused: bool):
        super().__init__(block, fused)
        self.ws = self.registers.floats(self.filters)
        self.xs = self.registers.floats(self.filters)

    def window(self) -> None:
        f = self.f
        self.load(self.inner, "x_col")
        f.label("row")
        self.load(self.cols, "cols")
        f.label("tap")
        self.vldm(self.w, self.ws)
        for pointer, acc in zip(self.x, self.acc, strict=True):
            self.vldm(pointer, self.xs, update=False)
            f.add("add", pointer, pointer, Shifted(self.inner, 2))
            self.multiply_add(list(zip(acc, self.xs, self.ws, strict=True)), self.xs)
        f.add("subs", self.cols, self.cols, 1)
        f.add("bne", "tap")
        self.next_row()

    def aside(self) -> None:
        """A row of taps has one path."""

    def next_block(self) -> None:
        self.f.add("add", self.base, self.base, 4 * self.filters)

    def next_group(self) -> None:
        self.load(self.scratch, "blocks")
        self.f.add("sub", self.base, self.base, Shifted(self.scratch, self.shift))
        super().next_group()
