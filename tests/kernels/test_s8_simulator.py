"""The blocks of Winograd's form in the simulator: no access outside the buffers, what is saved comes back, the stack is
as large as they say, and the bytes are those of the convolution."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from pilotlight.kernels.assembly.instructions import Core
from pilotlight.kernels.assembly.simulator import SimulatorError
from pilotlight.kernels.dsp import winograd
from pilotlight.kernels.dsp.blocks.assembly import generate
from pilotlight.kernels.dsp.blocks.names import DspBlock, parse
from pilotlight.kernels.dsp.dense_s8 import finish_of
from pilotlight.kernels.dsp.simulator import DspSimulator
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape
from support import dense_s8_cases as dense

ARGUMENTS, X, V, W, U, Y = (0x1000000 * n for n in range(1, 7))
PLACES = np.array([[0, 1, 1, 0], [0, -1, 1, 0], [1, 0, -1, 0], [0, -1, 0, 1]])  # 1, 2, 0, 3


def two_tiles(channels: int, filters: int, seed: int, shift: int = 0) -> tuple[Int8Layer, np.ndarray]:
    """A layer with 2x4 outputs and no padding."""
    layer, x = dense.random_layer(seed, Conv2dShape(1, 4, 6, channels, 2, 4, filters, 3, 3))
    return replace(layer, shift=shift, m=layer.m >> shift), x[0]


def inputs(x: np.ndarray) -> np.ndarray:
    """(pairs of channels, column, row, tile) as words."""
    tiles = np.stack([x[:, 2 * t : 2 * t + 4].astype(np.int64) for t in (0, 1)])  # (tile, 4, 4, ic)
    v = np.einsum("ri,cj,tijk->kcrt", PLACES, PLACES, tiles)
    fours = v.reshape(-1, 4, 4, 4, 2)[:, [0, 2, 1, 3]].reshape(-1, 2, 4, 4, 2)
    return np.ascontiguousarray(fours.transpose(0, 2, 3, 4, 1).astype("<i2"))


def place(simulator: DspSimulator, address: int, data: np.ndarray | bytes) -> None:
    simulator.place(address, data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes())


@pytest.mark.parametrize(("row", "column", "channels"), [(9 * 8, 8, 4), (4, 16, 96)], ids=["image", "border"])
def test_tiles(row: int, column: int, channels: int) -> None:
    _, x = two_tiles(8, 4, 3)
    memory = np.zeros(3 * row + 5 * column + channels + 4, np.int8)
    for r, c, k in np.ndindex(4, 6, 8):
        memory[r * row + c * column + k // 4 * channels + k % 4] = x[r, c, k]
    want = inputs(x)
    simulator = DspSimulator()
    place(simulator, X, memory)
    place(simulator, V, np.full(want.nbytes, 0x5A, np.uint8))
    last, end = X + channels, V + want.nbytes
    place(simulator, ARGUMENTS, struct.pack("<6I", last, row, column, channels, end, 2))
    simulator.call(generate(parse("tiles_s8")), ARGUMENTS)
    assert bytes(simulator.memory[V]) == want.tobytes()


def test_spread() -> None:
    simulator = DspSimulator()
    x = np.arange(12, dtype=np.int8)
    place(simulator, X, x)
    place(simulator, V, bytes(2 * 96 + 4))
    simulator.registers[Core(1)], simulator.registers[Core(2)] = V, 3
    simulator.call(generate(parse("spread_s8")), X)
    assert [bytes(simulator.memory[V][i : i + 4]) for i in (0, 96, 192)] == [x[i : i + 4].tobytes() for i in (0, 4, 8)]


@pytest.mark.parametrize("channels", [4, 12, 64])
def test_unfolded_weights_are_those_stored(channels: int) -> None:
    layer, _ = two_tiles(channels, 7, 1)  # extreme weights
    stored, folded = (s.reshape(2, -1) for s in (winograd.streams(layer), winograd.folded_streams(layer)))
    for want, given in zip(stored, folded, strict=True):
        simulator = DspSimulator()
        place(simulator, W, given)
        place(simulator, U, bytes(want.nbytes))
        place(simulator, ARGUMENTS, struct.pack("<2I", W, U))
        simulator.call(generate(DspBlock("unfold", 4, channels)), ARGUMENTS)
        assert bytes(simulator.memory[U]) == want.tobytes()


@pytest.mark.parametrize(
    ("channels", "filters", "seed", "shift"), [(4, 4, 2, 0), (16, 8, 5, 0), (12, 4, 3, 2), (20, 4, 9, 0), (32, 4, 6, 3)]
)
def test_outputs(channels: int, filters: int, seed: int, shift: int) -> None:
    layer, x = two_tiles(channels, filters, seed, shift)
    kernel = winograd.stored(layer, finish_of(layer))
    (name,) = [name for name in kernel.micro if "winograd" in name]
    simulator = DspSimulator()
    run_block(simulator, layer, x, parse(name))
    y = np.frombuffer(bytes(simulator.memory[Y]), np.int8).reshape(1, 2, 4, filters)
    assert np.array_equal(y, dense.reference(layer, x[None]))


def run_block(simulator: DspSimulator, layer: Int8Layer, x: np.ndarray, block: DspBlock) -> None:
    """All filters of two tiles; every buffer is as large as it must be and no larger."""
    filters, streams = layer.shape.oc, winograd.streams(layer)
    for address, data in ((V, inputs(x)), (W, streams), (U, bytes(128)), (Y, bytes(8 * filters))):
        place(simulator, address, data)
    limits = (layer.zy, layer.lo, layer.hi)
    pointers = [Y + (row * 4 + 2 * tile + column) * filters for row, tile, column in np.ndindex(2, 2, 2)]
    fields = (V, W, W + streams.nbytes, U, layer.shape.ic // 2)
    place(simulator, ARGUMENTS, struct.pack("<5I3i8I", *fields, *limits, *pointers))
    simulator.call(generate(block), ARGUMENTS)


def test_a_read_beyond_the_inputs_is_noticed() -> None:
    layer, x = two_tiles(16, 4, 2)
    with pytest.raises(SimulatorError, match="outside memory"):
        run_block(DspSimulator(), layer, x[..., :12], DspBlock("winograd", 4, 8, finish=finish_of(layer)))
