"""Blocks of each instruction set in the simulator, against numpy: the right bytes, and nothing else touched."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.arguments import ArgumentStruct
from pilotlight.kernels.assembly.instructions import Core, Function, MemoryOperand, Quad, RegisterList
from pilotlight.kernels.assembly.simulator import Simulator, SimulatorError
from pilotlight.kernels.blocks import dispatch
from pilotlight.kernels.dsp.blocks import arguments as dsp
from pilotlight.kernels.dsp.blocks.assembly import generate as dsp_block
from pilotlight.kernels.dsp.blocks.names import DspBlock
from pilotlight.kernels.dsp.dense_s8 import finish_of
from pilotlight.kernels.dsp.pack import conv_streams as dsp_conv_streams
from pilotlight.kernels.dsp.pack import point_streams, row_streams, taps_streams
from pilotlight.kernels.dsp.simulator import DspSimulator
from pilotlight.kernels.fpu.simulator import FpuSimulator
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.mve import arguments as mve
from pilotlight.kernels.mve.blocks import generate as mve_block
from pilotlight.kernels.mve.dense_s8 import pack_depthwise, pack_dot
from pilotlight.kernels.mve.names import Dot, HeliumDepthwise, Rounding
from pilotlight.kernels.mve.simulator import HeliumSimulator
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from pilotlight.kernels.rv32 import arguments as rv32
from pilotlight.kernels.rv32.blocks import generate as rv_block
from pilotlight.kernels.rv32.dense_s8 import conv_streams, depthwise_words, pairs_streams
from pilotlight.kernels.rv32.simulator import RiscvSimulator
from pilotlight.kernels.text import kernel_text
from pilotlight.kernels.thumb1 import arguments as thumb1
from pilotlight.kernels.thumb1 import dense_s8 as thumb1_streams
from pilotlight.kernels.thumb1.blocks import generate as thumb1_block
from pilotlight.kernels.thumb1.simulator import Thumb1Simulator
from support import dense_s8_cases as dense
from support.c_compilers import c_commands

ARGUMENTS, X, W, B, Y, T = (0x1000000 * n for n in range(1, 7))


def run(
    simulator: Simulator, function: Function, struct: ArgumentStruct, values: dict[str, int], **buffers: np.ndarray
) -> np.ndarray:
    """Calls a block; what a struct has besides `values` is zero. The bytes of its output."""
    places = {"x": X, "w": W, "b": B, "y": Y, "t": T}
    for name, data in buffers.items():
        simulator.place(places[name], data)
    simulator.place(ARGUMENTS, struct.pack(dict.fromkeys(struct.offsets, 0) | values))
    simulator.call(function, ARGUMENTS)
    return np.frombuffer(bytes(simulator.memory[Y]), np.int8)


def finish(layer: Int8Layer) -> dict[str, int]:
    return {"zy": layer.zy, "lo": layer.lo, "hi": layer.hi}


def linear(rows: int, inputs: int, outputs: int, seed: int, shift: int = 0) -> tuple[Int8Layer, np.ndarray]:
    layer, x = dense.random_layer(seed, LinearShape(rows, inputs, outputs).as_conv2d())
    return replace(layer, shift=shift, m=layer.m >> shift), x


def depthwise(kernel: int, channels: int, columns: int, stride: int, seed: int) -> tuple[Int8Layer, np.ndarray]:
    """One row of outputs without padding."""
    outputs = (columns - kernel) // stride + 1
    shape = Conv2dShape(1, kernel, columns, channels, 1, outputs, channels, kernel, kernel, 1, stride, groups=channels)
    return dense.random_layer(seed, shape)


@pytest.mark.parametrize(("inputs", "outputs", "seed"), [(8, 4, 2), (13, 7, 9)])
@pytest.mark.parametrize("pixels", [1, 3, 4])
def test_rv32_convolution(inputs: int, outputs: int, seed: int, pixels: int) -> None:
    layer, x = linear(pixels, inputs, outputs, seed)
    taps = -(-inputs // 4) * 4
    streams, padded = conv_streams(layer, taps), -(-outputs // 4) * 4
    patch = np.pad(x.reshape(pixels, inputs), ((0, 0), (0, taps - inputs)))
    values = {"x": X, "step": taps, "x_end": X + taps, "w": W, "w_end": W + streams.nbytes, "y": Y, "oc": padded}
    values |= finish(layer)
    name = f"rv_conv_s8_{pixels}" + (f"_k{layer.shift}" if layer.shift else "")
    spare = np.zeros(pixels * padded, np.int8)
    y = run(RiscvSimulator(), rv_block(name), rv32.CONV, values, x=patch, w=streams, y=spare)
    want = dense.reference(layer, x).reshape(pixels, outputs)
    assert np.array_equal(y.reshape(pixels, padded)[:, :outputs], want)


def heaviest(layer: Int8Layer, x: np.ndarray) -> tuple[Int8Layer, np.ndarray]:
    """Weights and inputs at their ends, so that every two products nearly fill 16 bits."""
    w = np.where(np.arange(layer.w.size).reshape(layer.w.shape) % 7 < 5, 127, -127).astype(np.int8)
    return replace(layer, w=w), np.where(x < 0, -128, 127).astype(np.int8)


@pytest.mark.parametrize(("inputs", "outputs", "seed", "unroll"), [(16, 4, 2, 8), (13, 7, 9, 4), (70, 5, 3, 8)])
@pytest.mark.parametrize("pixels", [1, 2, 3])
@pytest.mark.parametrize("heavy", [False, True])
def test_rv32_pairs(inputs: int, outputs: int, seed: int, unroll: int, pixels: int, heavy: bool) -> None:
    """The weights of two filters in a word."""
    layer, x = linear(pixels, inputs, outputs, seed)
    if heavy:
        layer, x = heaviest(layer, x)
    taps = -(-inputs // unroll) * unroll
    streams, padded = pairs_streams(layer, taps, unroll), -(-outputs // 4) * 4
    patch = np.pad(x.reshape(pixels, inputs), ((0, 0), (0, taps - inputs)))
    values = {"x": X, "step": taps, "x_end": X + taps, "w": W, "w_end": W + streams.nbytes, "y": Y, "oc": padded}
    values |= finish(layer)
    name = f"rv_conv_s8_{pixels}_q{unroll}" + (f"_k{layer.shift}" if layer.shift else "")
    spare = np.zeros(pixels * padded, np.int8)
    y = run(RiscvSimulator(), rv_block(name), rv32.CONV, values, x=patch, w=streams, y=spare)
    want = dense.reference(layer, x).reshape(pixels, outputs)
    assert np.array_equal(y.reshape(pixels, padded)[:, :outputs], want)


def thumb1_ending(layer: Int8Layer) -> str:
    whole = (layer.lo, layer.hi) == (-128, 127)
    return (f"_k{layer.shift}" if layer.shift else "") + ("_s" if whole else "")


@pytest.mark.parametrize(
    ("inputs", "outputs", "seed", "form"), [(13, 3, 2, ""), (70, 2, 9, "_u8"), (130, 5, 3, "_u8_w")]
)
@pytest.mark.parametrize("pixels", [1, 2, 3, 4])
@pytest.mark.parametrize("heavy", [False, True])
def test_thumb1_convolution(inputs: int, outputs: int, seed: int, form: str, pixels: int, heavy: bool) -> None:
    """Two pixels in a word, more taps than a word has flags."""
    layer, x = linear(pixels, inputs, outputs, seed)
    if heavy:
        layer, x = heaviest(replace(layer, lo=-128, hi=127), x)
    turn = 8 if form else 4
    taps, pairs = -(-inputs // turn) * turn, (pixels + 1) // 2
    streams = thumb1_streams.conv_streams(layer, taps, form.endswith("_w"))
    patch = np.pad(x.reshape(pixels, inputs).astype(np.int32), ((0, 2 * pairs - pixels), (0, taps - inputs)))
    words = np.ascontiguousarray((patch[0::2] + 65536 * patch[1::2]).T)  # (taps, pairs)
    values = {"x": X, "x_end": X + words.nbytes, "w": W, "w_end": W + streams.nbytes, "y": Y, "oc": outputs}
    name = f"thumb1_conv_s8_{pixels}{form}{thumb1_ending(layer)}"
    spare = np.zeros(pixels * outputs, np.int8)
    y = run(
        Thumb1Simulator(), thumb1_block(name), thumb1.CONV, values | finish(layer), x=words, w=streams, y=spare
    )
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(("inputs", "outputs", "seed"), [(1, 4, 2), (7, 8, 9), (12, 4, 5)])
def test_thumb1_row(inputs: int, outputs: int, seed: int) -> None:
    layer, x = linear(1, inputs, outputs, seed)
    streams = thumb1_streams.row_streams(layer)
    values = {"x_end": X + inputs, "count": -inputs, "w": W, "w_end": W + streams.nbytes, "y": Y} | finish(layer)
    block = thumb1_block(f"thumb1_row_s8{thumb1_ending(layer)}")
    y = run(Thumb1Simulator(), block, thumb1.ROW, values, x=x, w=streams, y=np.zeros(outputs, np.int8))
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(("channels", "columns", "seed"), [(3, 7, 4), (5, 11, 6)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("rows", [1, 3])
def test_thumb1_depthwise(channels: int, columns: int, seed: int, stride: int, rows: int) -> None:
    pixels = (columns - 3) // stride + 1
    height = (rows - 1) * 2 + 3
    shape = Conv2dShape(1, height, columns, channels, rows, pixels, channels, 3, 3, 2, stride, groups=channels)
    layer, x = dense.random_layer(seed, shape)
    words = thumb1_streams.depthwise_words(layer)
    values = {"x": X, "row": columns * channels, "ic": channels, "w": W, "w_end": W + words.nbytes, "y": Y}
    values |= {"pixels": pixels, "rows": rows, "x_row": 2 * columns * channels, "y_row": pixels * channels}
    name = f"thumb1_depthwise_s8_w{stride}{'_r' if rows > 1 else ''}{thumb1_ending(layer)}"
    spare = np.zeros(rows * pixels * channels, np.int8)
    y = run(
        Thumb1Simulator(), thumb1_block(name), thumb1.DEPTHWISE, values | finish(layer), x=x, w=words, y=spare
    )
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(("channels", "columns", "seed"), [(3, 7, 4), (5, 12, 6)])
@pytest.mark.parametrize("stride", [1, 2])
def test_rv32_depthwise(channels: int, columns: int, seed: int, stride: int) -> None:
    layer, x = depthwise(3, channels, columns, stride, seed)
    words, pixels = depthwise_words(layer), layer.shape.ow
    values = {"x": X, "row": columns * channels, "ic": channels, "w": W, "w_end": W + words.nbytes, "y": Y}
    values |= {"pixels": pixels} | finish(layer)
    name = f"rv_depthwise_s8_w{stride}" + (f"_k{layer.shift}" if layer.shift else "")
    x = np.pad(x.ravel(), (0, channels))  # stride 1: the column after the last is loaded and not used
    spare = np.zeros(pixels * channels, np.int8)
    y = run(RiscvSimulator(), rv_block(name), rv32.DEPTHWISE, values, x=x, w=words, y=spare)
    want = dense.reference(layer, x[: 3 * columns * channels].reshape(1, 3, columns, channels))
    assert np.array_equal(y.reshape(want.shape), want)


@pytest.mark.parametrize(("inputs", "outputs", "seed"), [(21, 6, 2), (48, 4, 3), (5, 9, 6)])
def test_helium_one_pixel(inputs: int, outputs: int, seed: int) -> None:
    layer, x = linear(1, inputs, outputs, seed)
    w, ends = pack_dot(layer)
    values = {"x0": X, "y0": Y, "w": W, "bias": B, "end": B + ends.nbytes, "depth": inputs}
    values |= {"last": (outputs - 1) % 4 + 1} | finish(layer)
    block = mve_block(Dot(1, rounding=Rounding(layer.shift)).name)
    y = run(HeliumSimulator(), block, mve.DOT, values, x=x, w=w, b=ends, y=np.zeros(outputs, np.int8))
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(
    ("pixels", "inputs", "outputs", "shift"),
    [(2, 30, 4, 0), (4, 33, 7, 1), (2, 190, 5, 0), (4, 170, 3, 2), (3, 9, 6, 0)],
)
def test_helium_pixels(pixels: int, inputs: int, outputs: int, shift: int) -> None:
    """Without a loop, in a loop of an even or odd number of chunks, and any number of pixels of one chunk."""
    layer, x = linear(pixels, inputs, outputs, 3 + shift, shift)
    w, ends = pack_dot(layer)
    depth, blocks = -(-inputs // 16) * 16, -(-outputs // 4)
    block = Dot.of(inputs, Rounding(layer.shift))
    patch = np.pad(x.reshape(pixels, inputs), ((0, 0), (0, depth - inputs)))
    values = {
        "x0": X, "x1": X + depth, "y0": Y, "y1": Y + outputs, "w": W, "bias": B, "end": B + ends.nbytes, "depth": depth,
        "x_pixel": depth, "last": (outputs - 1) % 4 + 1, "pairs": depth // 32, "pixels": pixels,
        "step": 2 * outputs - 4 * (blocks - 1) if block.pixels == 2 else outputs, **finish(layer),
    }
    spare = np.zeros(pixels * outputs, np.int8)
    y = run(HeliumSimulator(), mve_block(block.name), mve.DOT, values, x=patch, w=w, b=ends, y=spare)
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(
    ("kernel", "channels", "columns", "seed"), [(3, 21, 6, 2), (3, 16, 5, 3), (3, 6, 4, 8), (4, 19, 6, 4)]
)
def test_helium_depthwise(kernel: int, channels: int, columns: int, seed: int) -> None:
    layer, x = depthwise(kernel, channels, columns, 1, seed)
    stream, taps, pixels = pack_depthwise(layer), kernel * kernel, layer.shape.ow
    block = HeliumDepthwise.of(taps, channels, Rounding(layer.shift), layer.lo, layer.hi)
    pointers = np.array([X + (r * columns + c) * channels for r in range(kernel) for c in range(kernel)], "<u4")
    whole, rounded = channels // 16, -(-channels // 16) * 16
    values = {
        "x": T, "y": Y, "w": W, "pixels": pixels, "x_pixel": channels - rounded if block.taps else channels,
        "y_pixel": channels - 16 * whole, "blocks": whole, "rest": channels % 16, "taps": taps, **finish(layer),
    }
    y = run(
        HeliumSimulator(), mve_block(block.name), mve.DW, values, x=x, w=stream, t=pointers,
        y=np.zeros(pixels * channels, np.int8),
    )
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize("size", [5, 16, 37])
def test_helium_copies(size: int) -> None:
    """Two rows of three runs, nothing between them touched."""
    x = np.arange(2 * 3 * (size + 3), dtype=np.uint8).view(np.int8)
    spaced = np.full(2 * 3 * (size + 2), 77, np.int8)
    values = {"y": Y, "x": X, "bytes": size, "pixels": 3, "x_pixel": size + 3, "y_pixel": size + 2, "rows": 2}
    values |= {"x_row": 3 * (size + 3), "y_row": 3 * (size + 2)}
    y = run(HeliumSimulator(), mve_block("rows_s8"), mve.ROWS, values, x=x, y=spaced).reshape(6, -1)
    assert np.array_equal(y[:, :size], x.reshape(6, -1)[:, :size]) and np.all(y[:, size:] == 77)
    simulator = HeliumSimulator()
    simulator.place(Y, bytes(size))
    simulator.call(mve_block("fill_s8"), Y, size, 0x81)
    assert bytes(simulator.memory[Y]) == b"\x81" * size


@pytest.mark.parametrize(("kernel", "channels", "seed"), [(3, 8, 5), (5, 4, 7)])
def test_dsp_taps(kernel: int, channels: int, seed: int) -> None:
    layer, x = depthwise(kernel, channels, kernel, 1, seed)
    stream = taps_streams(layer)
    values = {"x": X, "kh": kernel, "kw": kernel, "column": channels, "row": 0, "w": W, "w_end": W + stream.nbytes}
    values |= {"y": Y} | finish(layer)
    block = dsp_block(DspBlock("taps", 4, finish=finish_of(layer)))
    y = run(DspSimulator(), block, dsp.TAPS, values, x=x, w=stream, y=np.zeros(channels, np.int8))
    assert np.array_equal(y, dense.reference(layer, x).ravel())


def widened(x: np.ndarray) -> np.ndarray:
    """(pixels, inputs) as the DSP blocks read them: of every four in the order 0, 2, 1, 3, and 77 after the last."""
    fours = x.shape[1] // 4 * 4
    first = x[:, :fours].reshape(len(x), -1, 4)[..., [0, 2, 1, 3]].reshape(len(x), -1)
    both = np.concatenate([first, x[:, fours:]], axis=1).astype("<i2")
    return np.pad(both, ((0, 0), (0, -x.shape[1] % 4)), constant_values=77)


@pytest.mark.parametrize("inputs", [4, 8, 20])
def test_dsp_weave(inputs: int) -> None:
    x = np.random.default_rng(inputs).integers(-128, 128, (2, inputs), np.int8)
    simulator = DspSimulator()
    simulator.place(X, x[0])
    simulator.place(B, x[1])
    simulator.place(Y, bytes(4 * inputs))
    simulator.call(dsp_block(DspBlock("weave")), X, B, Y, inputs)
    assert np.array_equal(np.frombuffer(simulator.memory[Y], "<i2"), woven(x).ravel())


def woven(x: np.ndarray) -> np.ndarray:
    """(inputs / 2, 2 pixels, 2)"""
    return np.ascontiguousarray(widened(x).reshape(2, -1, 2).transpose(1, 0, 2))


@pytest.mark.parametrize(
    ("inputs", "outputs", "seed"), [(4, 4, 2), (13, 7, 9), (32, 6, 3), (36, 8, 14), (70, 5, 1), (64, 10, 5)]
)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
def test_dsp_point(inputs: int, outputs: int, seed: int, wide: bool, mixed: bool) -> None:
    """Fours of filters, and the two that may be left; more and fewer steps than a turn has."""
    layer, x = linear(2, inputs, outputs, seed % 4)
    streams, steps, padded = point_streams(layer, wide), -(-inputs // 4), -(-outputs // 2) * 2
    words = 4 * (2 + steps * (1 + wide))  # bytes of a filter
    y, done = np.zeros(2 * padded, np.int8), 0
    while done < padded:
        filters = 4 if padded - done >= 4 else 2
        until = done + (padded - done) // filters * filters
        values = {"x": X, "steps": steps, "x_end": X + 16 * steps, "w": W + words * done, "w_end": W + words * until}
        values |= {"y": Y + done, "y_pixel": padded} | finish(layer)
        block = dsp_block(DspBlock("point", filters, wide=wide, finish=finish_of(layer), mixed=mixed))
        y = run(DspSimulator(), block, dsp.CONV, values, x=woven(x.reshape(2, -1)), w=streams, y=y)
        done = until
    assert streams.nbytes == words * padded
    assert np.array_equal(y.reshape(2, padded)[:, :outputs], dense.reference(layer, x).reshape(2, outputs))


@pytest.mark.parametrize(("inputs", "outputs", "seed"), [(4, 2, 2), (20, 6, 3), (64, 4, 6)])
@pytest.mark.parametrize("pixels", [1, 2, 3])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
def test_dsp_convolution(inputs: int, outputs: int, seed: int, pixels: int, wide: bool, mixed: bool) -> None:
    layer, x = linear(pixels, inputs, outputs, seed)
    streams = dsp_conv_streams(layer, inputs, inputs, wide)
    first = X + 2 * inputs * (pixels == 3)  # the middle one of three
    values = {"x": first, "steps": inputs // 4, "x_end": first + 2 * inputs, "w": W, "w_end": W + streams.nbytes}
    values |= {"y": Y, "y_pixel": outputs} | finish(layer)
    block = dsp_block(DspBlock("conv", pixels, 2 * inputs, wide, finish_of(layer), mixed=mixed))
    patch, spare = widened(x.reshape(pixels, -1)), np.zeros(pixels * outputs, np.int8)
    y = run(DspSimulator(), block, dsp.CONV, values, x=patch, w=streams, y=spare)
    assert np.array_equal(y, dense.reference(layer, x).ravel())


@pytest.mark.parametrize(("inputs", "outputs", "seed"), [(4, 8, 2), (20, 16, 3), (64, 2, 7), (12, 4, 6)])
@pytest.mark.parametrize("mixed", [False, True])
def test_dsp_row(inputs: int, outputs: int, seed: int, mixed: bool) -> None:
    layer, x = linear(1, inputs, outputs, seed)
    streams = row_streams(layer)
    values = {"x": X, "steps": inputs // 4, "x_end": X + inputs, "w": W, "w_end": W + streams.nbytes, "y": Y}
    block = dsp_block(DspBlock("row", 8 if outputs % 8 == 0 else 2, finish=finish_of(layer), mixed=mixed))
    spare = np.zeros(outputs, np.int8)
    y = run(DspSimulator(), block, dsp.ROW, values | finish(layer), x=x, w=streams, y=spare)
    assert np.array_equal(y, dense.reference(layer, x).ravel())


# ---- what a simulator does not let pass ----------------------------------------------------------------------


def thumb(*lines: str) -> Function:
    function = Function("test")
    for line in lines:
        function.write(line)
    return function


def riscv(*lines: tuple[str, ...]) -> Function:
    function = rv_block("rv_conv_s8_1")
    function.stack, function.body = 0, []
    for op, *operands in lines:
        function.add(op, *operands)
    return function


WRONG: list[tuple[Simulator, Function, str]] = [
    (DspSimulator(), thumb("add r0, r5, r12", "bx lr"), "r12 is read before"),
    (DspSimulator(), thumb("mov r4, #1", "bx lr"), "does not restore r4"),
    (Thumb1Simulator(), thumb("movs r9, #1", "bx lr"), "movs does not reach r9"),
    (Thumb1Simulator(), thumb("muls r1, r1, r2", "bx lr"), "has a target of its own"),
    (DspSimulator(), thumb("ldr r1, [r0, #4]", "bx lr"), "outside memory"),
    (DspSimulator(), thumb("push {r4, lr}", "pop {r4, pc}"), "uses 8 bytes of stack, says 0"),
    (DspSimulator(), thumb("mov lr, r0", "bx lr"), "does not restore lr"),
    (FpuSimulator(), thumb("vmul.f32 s0, s1, s2", "bx lr"), "s1 is read before"),
    (FpuSimulator(), thumb("vmov s17, r0", "bx lr"), "does not restore s17"),
    (HeliumSimulator(), thumb("vadd.i32 q0, q1, q2", "bx lr"), "s4 is read before"),
    (HeliumSimulator(), thumb("vdup.32 q4, r0", "bx lr"), "does not restore s16"),
    (HeliumSimulator(), thumb("vldrb.8 q0, [r0]", "bx lr"), "outside memory"),
    (HeliumSimulator(), thumb("vpst", "vstrbt.8 q0, [r0]", "bx lr"), "predicated"),
    (HeliumSimulator(), thumb("vfoo.32 q0, q0, q0", "bx lr"), "unknown instruction"),
    (RiscvSimulator(), riscv(("add", "a0", "t0", "t1"), ("ret",)), "t0 is read before"),
    (RiscvSimulator(), riscv(("mv", "s3", "a0"), ("ret",)), "does not restore s3"),
    (RiscvSimulator(), riscv(("lb", "a1", "4(a0)"), ("ret",)), "outside memory"),
    (RiscvSimulator(), riscv(("mv", "ra", "a0"), ("ret",)), "ra is not restored"),
]


@pytest.mark.parametrize(("simulator", "function", "says"), WRONG, ids=[f"{type(s).__name__}-{t}" for s, _, t in WRONG])
def test_what_is_wrong_is_noticed(simulator: Simulator, function: Function, says: str) -> None:
    simulator.place(X, bytes(4))
    with pytest.raises(SimulatorError, match=says):
        simulator.call(function, X)


def test_text_becomes_operands_and_text_again() -> None:
    lines = ["add r7, r7, r6, lsl #1", "ldm r9!, {r0, r2, lr}", "vpush {d8-d13}", "vldrb.8 q0, [r7], #16",
             "ldrd r1, r3, [r11, #8]", "strb r2, [r1, r4, lsl #1]", "it lt", "dlstp.8 lr, r7"]  # fmt: skip
    function = thumb(*lines)
    assert [str(instruction).strip() for instruction in function.body] == lines
    assert function.body[3].operands == (Quad(0), MemoryOperand(Core(7), after=16))
    assert function.body[1].operands[1] == RegisterList((Core(0), Core(2), Core(14)))


# ---- where fields are ----------------------------------------------------------------------------------------

CORTEX_M = ["arm-none-eabi-gcc", "-mthumb"]
BLOCKS = {
    "mac_f32": ({"mac_f32_1x1"}, ("mac_f32", "pl_mac_t", "rows;\n    int32_t cols;", "cols;\n    int32_t rows;"),
                [*CORTEX_M, "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]),
    "dsp": ({"taps_s8_4"},
            ("taps_dsp_s8", "pl_dsp_taps_t", "int32_t kh;\n    int32_t kw;", "int32_t kw;\n    int32_t kh;"),
            [*CORTEX_M, "-mcpu=cortex-m4"]),
    "mve": ({"dot_s8_1x4"},
            ("linear_mve_s8", "pl_dot_mve_t", "int32_t depth;\n", "int32_t other;\n    int32_t depth;\n"),
            [*CORTEX_M, "-mcpu=cortex-m55", "-mfloat-abi=hard"]),
    "rv32": ({"rv_conv_s8_1"},
             ("conv_rv_s8", "pl_rv_conv_t", "int8_t *y;\n    int32_t oc;", "int32_t oc;\n    int8_t *y;"),
             ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_a_field_that_moved_does_not_compile(name: str, tmp_path: Path) -> None:
    names, (header, struct, old, new), compiler = BLOCKS[name]
    target = Target(frozenset({"thumb2", "fpu32"}))
    text = "#include <stdint.h>\n" + kernel_text([header]) + "\n" + dispatch(names, "test", target)
    assert old in text
    for content, works in ((text, True), (text.replace(old, new, 1), False)):
        (tmp_path / "test.c").write_text(content)
        command = [*compiler, "-std=c99", "-pedantic", "-ffreestanding", "-w", "-fsyntax-only", "test.c"]
        (command,) = c_commands(command)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode == 0) == works, done.stderr
        assert works or f"{struct}_is_as_the_assembly_knows_it" in done.stderr
