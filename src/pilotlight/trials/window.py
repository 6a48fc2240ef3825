"""Candidates on a board itself: linked for a window in its RAM, loaded through the device server, called, timed with
the board's counter of cycles, and compared with the reference. Nothing is flashed.

RAM is not flash, where instructions may wait for the memory: flashed.py confirms there what wins here.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pilotlight.boards import Board
from pilotlight.cache import scratch_folder
from pilotlight.codegen.target import Target
from pilotlight.device import Device
from pilotlight.emit.module import emit_module
from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.plan import ALIGN
from pilotlight.toolchain.window import build_window
from pilotlight.trials.image import DIFFERS, NAME, Measurement, Trial, TrialEntry, trial_entries
from pilotlight.tune.costs import Cost

REPEATS = 7  # of which the median counts
TOO_LARGE = "does not fit the window"
_WHERE_THUMB = bytes.fromhex("78467047")  # mov r0, pc; bx lr
_WHERE_RISCV = bytes.fromhex("1705000067800000")  # auipc a0, 0; ret
_PC_AHEAD = 4  # of an instruction in Thumb
_RUN, _FILL, _SUM = range(3)
_FNV, _FNV_PRIME = 2166136261, 16777619
_MAIN = """/* One candidate: fills its input, runs, or gives a checksum of its output. */
#include "{name}.h"

static uint8_t arena[{NAME}_ARENA_SIZE] {NAME}_ALIGNED;
static const uint8_t given[] = {{{given}}};

uint32_t pl_trial(uint32_t what);
uint32_t pl_trial(uint32_t what)
{{
    const {name}_t model = {{{NAME}_WEIGHTS, arena, 0}};
    uint8_t *const x = (uint8_t *){name}_input_x(&model);
    const uint8_t *const y = (const uint8_t *){name}_output_y(&model);
    uint32_t sum = {start}u;
    if (what == 0u) {{
        {name}_run(&model);
    }} else if (what == 1u) {{
        for (uint32_t i = 0u; i < sizeof given; i++) {{
            x[i] = given[i];
        }}
    }} else {{
        for (uint32_t i = 0u; i < {outputs}u; i++) {{
            sum = (sum ^ y[i]) * {prime}u;
        }}
    }}
    return sum;
}}
"""


class WindowTrials:
    """A board whose device server has a window and a counter of cycles."""

    def __init__(self, device: Device, board: Board, toolchain: str | None = None, repeats: int = REPEATS):
        self.device, self.board, self.toolchain, self.repeats = device, board, toolchain, repeats
        riscv = "rv32" in board.isa
        device.load_code(_WHERE_RISCV if riscv else _WHERE_THUMB)
        here, cycles = device.call_code()
        start = here - (0 if riscv else _PC_AHEAD)
        self.offset = -start % ALIGN
        self.address = start + self.offset
        if cycles is None:
            raise PilotlightError(
                f"the server on {device.name} does not count cycles",
                hint="build it with PL_CYCLES and a pl_io_cycles(), see docs/device-protocol.md", kind="not-countable",
            )

    def measure(self, trial: Trial, known: Sequence[Measurement] = ()) -> Iterator[Measurement]:
        """The candidates of one layer; `known` are their counts on the emulated core."""
        before = {one.name: one.cost for one in known}
        for entry in trial_entries(trial, Target.of(self.board, measured=True)):
            cost = self._time(entry)
            if cost.failure is None:
                cost = replace(before.get(entry.candidate.name, Cost()), timed=cost.timed)
            yield Measurement(entry.key, entry.candidate.name, cost)

    def _time(self, entry: TrialEntry) -> Cost:
        with scratch_folder("window-") as folder:
            try:
                code = self._build(entry, Path(folder))
            except DoesNotFitError:
                return Cost(failure=TOO_LARGE)
        self.device.load_code(bytes(self.offset) + code)
        times = []
        for _ in range(self.repeats):
            self.device.call_code(_FILL, self.offset)
            _, cycles = self.device.call_code(_RUN, self.offset)
            if self.device.call_code(_SUM, self.offset)[0] != checksum(entry.expected):
                return Cost(failure=DIFFERS)
            times.append(cycles or 0)
        return Cost(timed=round(statistics.median(times)))

    def _build(self, entry: TrialEntry, folder: Path) -> bytes:
        entry.plan.graph.name = NAME
        emit_module(entry.plan, Target.of(self.board, measured=True)).write(folder / NAME)
        main = _MAIN.format(
            name=NAME, NAME=NAME.upper(), given=", ".join(f"{byte}u" for byte in entry.x.tobytes()), start=_FNV,
            prime=_FNV_PRIME, outputs=entry.expected.nbytes,
        )
        size = self.device.window_bytes - self.offset
        return build_window(
            folder / NAME, main, "pl_trial", self.board, folder / "build", self.address, size, self.toolchain
        )


def checksum(array: np.ndarray) -> int:
    """FNV-1a of an array's bytes."""
    total = _FNV
    for byte in np.ascontiguousarray(array).tobytes():
        total = ((total ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return total
