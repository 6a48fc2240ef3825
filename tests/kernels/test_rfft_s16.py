"""The transform of int16 rows: the reference against float64, C and assembly against the reference byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import INT16, Graph, Quant
from pilotlight.kernels.assembly.instructions import Function
from pilotlight.kernels.dsp.blocks.fft import STEP, functions
from pilotlight.kernels.dsp.simulator import DspSimulator
from pilotlight.kernels.portable.rfft_s16 import bin_factors, stages, table
from pilotlight.ops.fft.int16 import rfft_s16
from pilotlight.ops.spec import NodeSpec
from support.compiled import Library
from support.poison import Watch
from support.q_cases import Case, graph_of
from support.q_checks import assert_same

LENGTHS = (2, 4, 6, 10, 16, 18, 32, 50, 64, 100, 250, 480)
NOTHING = np.zeros(2, np.int16)  # after a table, so that none is empty
ARGUMENTS, X, W, Y = 0x1000, 0x100000, 0x200000, 0x300000
BOARDS = ["microbit", "mps2-an385", "mps2-an386", "mps3-an547", "riscv32-virt"]
Q15_SINE = {32: 70.1, 64: 62.7, 128: 64.5, 256: 57.6, 512: 58.9, 1024: 51.9, 2048: 53.0, 4096: 45.9}  # dB, CMSIS-DSP
Q15_NOISE = {32: 68.4, 64: 61.0, 128: 63.0, 256: 55.7, 512: 57.1, 1024: 50.0, 2048: 51.2, 4096: 44.1}


def signals(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are random, loud and quiet, or the worst of their kind."""
    at, extremes = np.arange(n), np.array([-32768, 32767])
    sine = np.sin(2 * np.pi * rng.uniform(0, n / 2, (6, 1)) * at / n + rng.uniform(0, 7, (6, 1)))
    impulses = np.zeros((3, n), np.int64)
    impulses[0, 0], impulses[1, n // 3], impulses[2, n - 1] = 32767, -32768, 1
    rows = [
        rng.integers(-32768, 32768, (2, n)), rng.choice(extremes, (2, n)), rng.integers(-3, 3, (2, n)),
        np.rint(sine * 32767 / 10.0 ** np.arange(6)[:, None]), np.where(sine < 0, -32768, 32767), impulses,
        np.array([[0], [-1], [1], [32767], [-32768]]) + 0 * at, np.where(at % 2, -32768, 32767)[None],
        np.where(at // 2 % 2, -32768, 32767)[None], np.where((at + 1) // 2 % 2, -32768, 32767)[None],
    ]
    return np.concatenate(rows).astype(np.int16)


def noise(x: np.ndarray) -> float:
    """Signal to noise in dB of the reference."""
    y, exponent = rfft_s16(x)
    want = np.fft.rfft(x.astype(np.float64))
    got = y.astype(np.float64) * 2.0 ** exponent[:, None, None]
    error = got[..., 0] + 1j * got[..., 1] - want
    return float(10 * np.log10((np.abs(want) ** 2).sum() / (np.abs(error) ** 2).sum()))


@pytest.mark.parametrize("n", [*LENGTHS, 128, 256, 512, 640, 1024, 2048, 4096, 16384])
def test_reference_is_near_float(n: int) -> None:
    """Every bin, for every kind of row: what rounding loses is a few steps, most in the sum of all samples."""
    x = signals(n, np.random.default_rng(n))
    y, exponent = rfft_s16(x)
    got = y.astype(np.float64) * 2.0 ** exponent[:, None, None]
    want = np.fft.rfft(x.astype(np.float64))
    off = np.abs(got[..., 0] + 1j * got[..., 1] - want).max(axis=1) / 2.0**exponent
    largest = np.abs(y.astype(np.int64)).max(axis=1).max(axis=1)
    assert (off <= 4 + np.sqrt(n) / 3).all(), (off.max(), int(off.argmax()))
    assert (largest[x.any(axis=1)] >= 2000).all()


@pytest.mark.parametrize("n", Q15_SINE)
def test_less_noise_than_q15(n: int) -> None:
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.uniform(1, n / 2 - 1, (40, 1)) * np.arange(n) / n + rng.uniform(0, 7, (40, 1))
    sine = np.sin(angle)
    assert noise(np.rint(32767 * sine).astype(np.int16)) > Q15_SINE[n]
    assert noise(rng.integers(-32768, 32768, (40, n)).astype(np.int16)) > Q15_NOISE[n]
    assert noise(np.rint(300 * sine).astype(np.int16)) > Q15_SINE[n] - 2  # where q15 has 40 dB less


def rows_graph(lengths: tuple[int, ...], rows: int) -> Graph:
    made = NodeSpec("rfft_s16", {})
    return graph_of([Case(made, ((rows, n),), (), Quant(1.0, 0), torch.abs, 1, (INT16,)) for n in lengths])


def drawn(lengths: tuple[int, ...], rows: int) -> list[list[torch.Tensor]]:
    """Runs that together show every kind of row at every length."""
    every = [signals(n, np.random.default_rng(n + 1)) for n in lengths]
    count = -(-len(every[0]) // rows)
    return [[torch.from_numpy(np.resize(x[rows * i :], (rows, x.shape[1]))) for x in every] for i in range(count)]


def test_c_is_the_reference(tmp_path: Path) -> None:
    graph = rows_graph(LENGTHS, 2)
    library = Library(pl.compile(graph), tmp_path)
    watch = Watch(library)
    for i, row in enumerate(drawn(LENGTHS, 2)):
        assert_same(graph, row, watch.run(row) if i == 0 else library.run(row))


def call(function: Function, arrays: dict[str, np.ndarray], **fields: int) -> dict[str, int]:
    """A step in the simulator; `arrays` are x, w and y, of which y is written. What its arguments then hold."""
    simulator = DspSimulator()
    places = {"x": X, "w": W, "y": Y}
    for name, values in arrays.items():
        simulator.place(places[name], values)
    given = dict.fromkeys(STEP.offsets, 0) | places | fields
    simulator.place(ARGUMENTS, STEP.pack(given))
    simulator.call(function, ARGUMENTS)
    arrays["y"][:] = np.frombuffer(bytes(simulator.memory[Y]), np.int16)
    return dict(zip(STEP.offsets, np.frombuffer(bytes(simulator.memory[ARGUMENTS]), np.uint32).tolist(), strict=True))


def simulated(x: np.ndarray) -> tuple[np.ndarray, int]:
    """One row by the blocks of assembly, with the driver of rfft_s16.h in Python."""
    blocks = {function.name.split("_")[1]: function for function in functions()}
    n, s = len(x), 1
    z, y = np.zeros(n, np.int16), np.zeros(n + 2, np.int16)
    left = call(blocks["load"], {"x": x, "y": z}, m=n // 2)
    exponent = int(np.int32(np.uint32(left["shift"])))
    for radix, factors in stages(n):
        growth = {4: 2, 2: 1}[radix]
        shift = min(max((left["size"].bit_length() + 1 >> 1) + growth - 15, 0), growth)
        arrays = {"x": z, "w": np.append(factors[1:].ravel(), NOTHING), "y": np.zeros(n, np.int16)}
        left = call(blocks[f"radix{radix}"], arrays, m=len(factors), s=s, shift=shift)
        z, s, exponent = arrays["y"], s * radix, exponent + shift
    shift = min(max((left["size"].bit_length() + 1 >> 1) - 14, 0), 1)
    call(blocks["split"], {"x": z, "w": np.append(bin_factors(n).ravel(), NOTHING), "y": y}, m=n // 2, shift=shift)
    return y.reshape(-1, 2), exponent + shift


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_simulated_assembly_is_the_reference(n: int) -> None:
    for x in signals(n, np.random.default_rng(n))[::2]:
        want, exponent = rfft_s16(x[None])
        got, shown = simulated(x)
        assert shown == exponent[0] and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    lengths = (32, 100) if board == "microbit" else (8, 16, 18, 32, 64, 100, 128, 250, 256, 480, 512)
    rows = 6 if board == "microbit" else 12
    graph = rows_graph(lengths, rows)
    with pl.compile(graph, board=board).open(board, count=False) as running:
        for row in drawn(lengths, rows):
            assert_same(graph, row, running.flat(row))


def test_bins_may_lie_on_their_samples() -> None:
    """Those of several rows start before them."""
    for rows, n in ((1, 64), (3, 64), (2, 480)):
        samples, bins = 2 * n * rows, 2 * (n + 2) * rows
        assert pl.compile(rows_graph((n,), rows)).plan.arena.size < samples + bins + 2 * n


@pytest.mark.parametrize("n", [7, 14, 22, 32768])
def test_other_lengths_are_refused(n: int) -> None:
    with pytest.raises(pl.PilotlightError, match=f"got {n}: pad the rows"):
        rows_graph((n,), 1)


def test_table_has_one_length() -> None:
    assert table(512).nbytes < 1600 and table(1024).nbytes < 3200
