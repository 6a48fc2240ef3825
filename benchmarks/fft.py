"""Real Fourier transforms on emulated boards: instructions, noise and flash, next to other libraries.

    python benchmarks/fft.py

Writes benchmarks/fft.md. A row is transformed by a model that does nothing else, built as by default; its bins are held
to float64, those of int16 byte for byte to the formula of ops/fft/int16.py. Rows marked recorded are in recorded.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph import INT16, Graph, Port
from pilotlight.graph.builder import Builder
from pilotlight.ops.fft.int16 import rfft_s16

HERE = Path(__file__).resolve().parent
LENGTHS = (128, 256, 512, 1024)
ALSO = 480  # 30 ms at 16 kHz
BOARDS = {
    "mps2-an386": "Cortex-M4F", "mps2-an500": "Cortex-M7F", "mps3-an547": "Cortex-M55", "mps2-an385": "Cortex-M3",
    "microbit": "Cortex-M0", "riscv32-virt": "RV32",
}
WITH_FPU = ("mps2-an386", "mps2-an500", "mps3-an547")
KINDS = {"sine": "sine", "noise": "noise", "quiet": "sine at -40 dB"}
ROWS = 40
TEXT = """# Fourier transforms of real rows

One run of `python benchmarks/fft.py`: instructions from the call to the return, as `pilotlight profile` shows them, for
n samples to n / 2 + 1 bins without a window. int16 is in block floating point, with one exponent a row; its counts are
those of the slowest of a sine at full scale, noise at full scale, and a sine 40 dB below.
[How the FFT is computed](../docs/signals.md#how-the-fft-is-computed).
"""


class Rfft(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.fft.rfft(x))


class Counted(NamedTuple):
    instructions: int
    code: int
    tables: int
    scratch: int


def signals(n: int) -> dict[str, np.ndarray]:
    """int16 rows of each kind."""
    rng = np.random.default_rng(0)
    noise = rng.integers(-32768, 32768, (ROWS, n))
    angle = 2 * np.pi * rng.uniform(1, n / 2 - 1, (ROWS, 1)) * np.arange(n) / n + rng.uniform(0, 6.28, (ROWS, 1))
    sines = {name: np.rint(size * np.sin(angle)) for name, size in (("sine", 32767), ("quiet", 327.67))}
    return {name: rows.astype(np.int16) for name, rows in (sines | {"noise": noise}).items()}


def signal_to_noise(x: np.ndarray) -> float:
    y, exponent = rfft_s16(x)
    want = np.fft.rfft(x.astype(np.float64))
    got = y * 2.0 ** exponent[:, None, None]
    error = got[..., 0] + 1j * got[..., 1] - want
    return float(10 * np.log10((np.abs(want) ** 2).sum() / (np.abs(error) ** 2).sum()))


def run(graph: Graph, board: str, rows: list[torch.Tensor]) -> tuple[Counted, list[list[torch.Tensor]]]:
    build = pl.compile(graph, board=board)
    with build.open(board) as running:
        results = [running.flat([row]) for row in rows]
        counts = running.device.counts
    sizes = build.info.sizes
    assert counts is not None
    scratch = build.plan.arena.size - max(sum(port.value.bytes for port in build.lowered.outputs), rows[0].nbytes)
    slowest = max(sum(steps) for steps in counts.runs)
    return Counted(slowest, sizes.code, sizes.weights + sizes.tables, scratch), results


def count_float(n: int, board: str) -> Counted:
    torch.manual_seed(0)
    x = torch.randn(1, n)
    counted, ((y,),) = run(pl.capture(Rfft().eval(), (x,), "row"), board, [x])
    want = torch.view_as_real(torch.fft.rfft(x.double()))
    assert float((y - want).abs().max() / want.abs().max()) < 1e-6, (n, board)
    return counted


def count_int16(n: int, board: str) -> Counted:
    graph = Graph("row")
    x = graph.fresh("x", INT16, (1, n))
    graph.inputs.append(Port("x", x, x.shape))
    for name, value in zip(("y", "exponent"), Builder(graph).nodes("rfft_s16", [x]), strict=True):
        graph.outputs.append(Port(name, value, value.shape))
    rows = [torch.from_numpy(kind[:1]) for kind in signals(n).values()]
    counted, results = run(graph, board, rows)
    for row, got in zip(rows, results, strict=True):
        assert all(y.numpy().tobytes() == want.tobytes() for y, want in zip(got, rfft_s16(row.numpy()), strict=True))
    return counted


def recorded(kind: str) -> list[dict[str, Any]]:
    data = tomllib.loads((HERE / "recorded.toml").read_text())
    return [row for row in data["transform"] if row["type"] == kind]


def table(head: list[str], rows: list[list[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    shown = (["" if c is None else f"{c:,}" if isinstance(c, int) else str(c) for c in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in shown) + "\n"


def counts_table(kind: str, counted: dict[str, dict[int, Counted]]) -> str:
    rows: list[list[object]] = []
    for board, by_length in counted.items():
        numbers = [by_length[n].instructions if n in by_length else None for n in (*LENGTHS, ALSO)]
        rows.append([f"Pilotlight, {kind}, {BOARDS[board]}", *numbers])
    for other in recorded(kind):
        rows.append([f"{other['name']}, recorded", *(other["instructions"].get(str(n)) for n in (*LENGTHS, ALSO))])
    return table(["instructions", *(str(n) for n in (*LENGTHS, ALSO))], rows)


def noise_table() -> str:
    q15 = next(row for row in recorded("int16") if "sine" in row)
    rows: list[list[object]] = []
    for name, title in KINDS.items():
        ours = [f"{signal_to_noise(signals(n)[name]):.1f}" for n in LENGTHS]
        rows += [[f"Pilotlight, {title}", *ours], [f"{q15['name']}, {title}", *(q15[name][str(n)] for n in LENGTHS)]]
    return table(["signal to noise, dB", *map(str, LENGTHS)], rows)


def flash_table(counted: dict[str, dict[str, dict[int, Counted]]]) -> str:
    rows: list[list[object]] = [
        [f"{kind}, {BOARDS[board]}, {n}", c.code, c.tables, c.scratch]
        for kind, boards in counted.items() for board in boards for n, c in boards[board].items() if n in (256, 512)
    ]
    return table(["bytes", "code", "tables", "RAM besides the larger of samples and bins"], rows)


def main() -> None:
    lengths = {board: (128, 256) if board == "microbit" else (*LENGTHS, ALSO) for board in BOARDS}
    counted: dict[str, dict[str, dict[int, Counted]]] = {
        "float32": {board: {n: count_float(n, board) for n in lengths[board]} for board in WITH_FPU},
        "int16": {board: {n: count_int16(n, board) for n in lengths[board]} for board in BOARDS},
    }
    instructions = [counts_table(kind, boards) for kind, boards in counted.items()]
    text = "\n".join([TEXT, *instructions, noise_table(), flash_table(counted)])
    (HERE / "fft.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
