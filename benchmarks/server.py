"""What the device server costs on a Cortex-M4: flash, RAM, and the instructions it adds to a run.

    python benchmarks/server.py

Writes benchmarks/server.md. The instructions are those that are executed outside of the model between the last byte of
a question and the first byte of its answer, in the emulator of this process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import unicorn

import pilotlight as pl
from pilotlight import boards
from pilotlight.capture.reference import variations
from pilotlight.device.inprocess import InProcessDevice, Machine, SemihostingChannel
from pilotlight.toolchain import BuildInfo
from pilotlight.toolchain.find import find
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.sizes import functions

HERE = Path(__file__).resolve().parent
BOARD = "mps2-an386"
PARTS = ("server.c", "frame.c")
BUFFER = 1024
# The deepest calls: from the loop down to the port's function that sends.
CHAIN = (
    "pl_serve", "look_into", "answer", "carry_out", "change", "transfer", "pl_frame_put", "stuff", "close_block",
    "flush", "pl_copy",
)
TEXT = f"""# The device server

One run of `python benchmarks/server.py` for `{BOARD}` (Cortex-M4): what the [device server](../docs/device-protocol.md)
costs besides its transfer buffer of {BUFFER:,} bytes. Flash is `server.c` and `frame.c` without a port; RAM is their
variables and their deepest stack.

"""
OVERHEAD = """One run of kws in int8, with its input of {bytes:,} bytes and its output in one frame each: {own:,}
instructions in the model, {harness:,} outside of it between the last byte of the question and the first byte of the
answer ({share:.2f} %). They find the frame, check its CRC, copy the input, paint the stack, and make the answer."""


def sizes(optimize: str, work: Path) -> tuple[int, int, int]:
    """Flash, variables without the transfer buffer, stack."""
    board = boards.load(BOARD)
    tools = find(board)
    flags = ["-std=c99", "-ffreestanding", optimize, f"-DPL_BUFFER_BYTES={BUFFER}u", "-ffunction-sections"]
    flash = variables = 0
    frames: dict[str, int] = {}
    for name in PARTS:
        target = work / f"{name}.o"
        args = [*tools.command, *tools.flags(board), *flags, "-fstack-usage", "-c", str(DEVICE_SOURCES / name)]
        subprocess.run([*args, "-o", str(target)], check=True, cwd=work)
        row = subprocess.run(["arm-none-eabi-size", str(target)], check=True, capture_output=True, text=True)
        text, data, bss = map(int, row.stdout.splitlines()[1].split()[:3])
        flash += text + data
        variables += data + bss
        for line in target.with_suffix(".su").read_text().splitlines():
            place, size, _ = line.split("\t")
            frames[place.rsplit(":", 1)[-1].split(".")[0]] = int(size)
    return flash, variables - BUFFER, sum(frames.get(name, 0) for name in CHAIN)


class Watched(SemihostingChannel):
    """Counts the instructions in some functions between a question and its answer."""

    ranges: Iterable[tuple[int, int]] = ()
    counted = 0
    between = 0

    def __init__(self, machine: Machine, semihost: int):
        super().__init__(machine, semihost)
        for start, size in self.ranges:  # before anything runs: code that is translated is not looked at again
            self._uc.hook_add(unicorn.UC_HOOK_CODE, self._count, begin=start, end=start + size - 1)

    def _count(self, uc: unicorn.Uc, address: int, size: int, data: Any) -> None:
        self.counted += 1

    def _semihost(self, uc: unicorn.Uc, address: int, size: int, data: Any) -> None:
        operation = uc.reg_read(self._machine.result)
        if operation == 0x05 and not self._from_board:  # the first byte of an answer
            self.between = self.counted
        super()._semihost(uc, address, size, data)
        if operation == 0x06 and not self._to_board:  # the last byte of a question, if it goes on
            self.counted = 0


class WatchedDevice(InProcessDevice):
    channel_type = Watched


def added(info: BuildInfo, sample: list[Any]) -> tuple[int, int]:
    """Instructions of the harness in a run, and of the model."""
    assert info.image and info.model_image
    with InProcessDevice(info, 120.0, True) as dev:
        dev.run(sample)
        assert dev.counts is not None
        own = dev.counts.totals[0]
    inside = functions(info.model_image)
    Watched.ranges = [place for name, place in functions(info.image).items() if name not in inside]
    with WatchedDevice(info, 120.0, False) as watched:
        watched.run(sample)
        channel = watched._channel
        assert isinstance(channel, Watched)
        return channel.between, own


def main() -> None:
    sys.path.insert(0, str(HERE.parent / "examples" / "zoo"))
    import zoo

    rows = ["| flags | flash | RAM: variables | RAM: stack |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for optimize in ("-Os", "-O2"):
            flash, variables, stack = sizes(optimize, Path(folder))
            rows.append(f"| {optimize} | {flash:,} | {variables:,} | {stack:,} |")
    model, inputs = zoo.load("kws")
    graph = pl.quantize(pl.capture(model, inputs, "kws"), [list(inputs), *variations(list(inputs))])
    build = pl.compile(graph, board=BOARD, emulator="unicorn")
    info = build.runnable_info
    sample = [np.zeros(port.c_shape, port.dtype) for port in info.folder.inputs]
    harness, own = added(info, sample)
    rows += ["", OVERHEAD.format(bytes=sample[0].nbytes, own=own, harness=harness, share=100 * harness / own)]
    (HERE / "server.md").write_text(TEXT + "\n".join(rows) + "\n")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
