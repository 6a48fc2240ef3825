"""Estimated cycles next to those that others measured.

    python benchmarks/cycles.py [IMAGES]

Writes benchmarks/cycles.md. measured.toml lists what was measured, and the images that are needed in the folder IMAGES
(by default build/images): programs of other projects, which are not part of this one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pilotlight import boards
from pilotlight.boards.board import MemorySpeed
from pilotlight.device.counts import Counts, CountsFile
from pilotlight.device.plugin import build_plugin
from pilotlight.measure.estimate import estimate, load_table
from pilotlight.measure.timing import code_waits
from pilotlight.toolchain.disassembly import disassemble
from pilotlight.toolchain.find import find
from pilotlight.toolchain.sizes import symbols

HERE = Path(__file__).resolve().parent
TEXT = """# Estimated and measured cycles

One run of `python benchmarks/cycles.py`: programs of other projects, counted in an emulator, with the cycles that
[the tables](../docs/time.md) make of them, next to the cycles that others measured on chips and published. `off` is
estimate over measurement, less one. The programs were compiled here with GCC 12.2, the hand-written ones (AES, X25519)
are the same bytes; CMSIS-DSP was measured with another compiler, version and, on the K64, from flash through a cache.
"""
WAITS = """
With wait states: the same code from flash, estimated with [the rules of `waits`](../docs/time.md#waits-for-memory); all
three chips fetch ahead.
"""


class Row(NamedTuple):
    table: str
    what: str
    chip: str
    name: str
    instructions: int
    estimate: int
    measured: int
    waits: bool

    @property
    def off(self) -> float:
        return self.estimate / self.measured - 1


def count(image: Path, board: boards.Board) -> Counts:
    assert board.emulator is not None
    at = symbols(image)
    with tempfile.TemporaryDirectory() as folder:
        labels, out = Path(folder, "labels"), Path(folder, "counts")
        labels.write_text(f"start {at['measured']:x} 0\nend {at['measured_end']:x}\n")
        machine = [board.emulator.program, "-M", board.emulator.machine, "-display", "none", "-kernel", str(image)]
        ends = ["-semihosting-config", "enable=on,target=native"]
        plugin = ["-plugin", f"{build_plugin()},labels={labels},out={out}"]
        subprocess.run([*machine, *ends, *plugin], check=False, timeout=60)
        counts = CountsFile(out).read()
    if not counts.runs:
        raise SystemExit(f"{image}: it did not get from `measured` to `measured_end`")
    return counts


def compare(row: dict[str, Any], images: Path) -> list[Row]:
    board, table = boards.load(row["board"]), load_table(row["table"])
    found = []
    for name, measured in row["cycles"].items():
        image = images / f"{row['prefix']}-{name}.elf"
        counts = count(image, board)
        code = disassemble(find(board), image)
        cycles = sum(step.estimate for step in estimate(counts, code, table))
        if "speed" in row:
            cycles += code_waits(counts, code, MemorySpeed(**row["speed"], source=row["source"]), cycles)[1]
        totals = counts.totals[0], cycles, measured
        found.append(Row(table.core, row["title"], row["chip"], name, *totals, "speed" in row))
    return found


def shown(rows: list[Row]) -> str:
    head = ["| core | program | chip | | instructions | estimate | measured | off |", "|---|---|---|---|" + "---:|" * 4]
    lines = [
        f"| {r.table} | {r.what} | {r.chip} | {r.name} | {r.instructions:,} | {r.estimate:,} | {r.measured:,} "
        f"| {r.off:+.1%} |"
        for r in rows
    ]
    return "\n".join([*head, *lines]) + "\n"


def summary(rows: list[Row]) -> str:
    lines = ["| core | programs | off by |", "|---|---:|---|"]
    for core, group in groupby(sorted(rows, key=lambda r: r.table), key=lambda r: r.table):
        off = [r.off for r in group]
        lines.append(f"| {core} | {len(off)} | {min(off):+.1%} to {max(off):+.1%} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    images = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "images"
    sets = tomllib.loads((HERE / "measured.toml").read_text())["set"]
    needed = {images / f"{row['prefix']}-{name}.elf" for row in sets for name in row["cycles"]}
    missing = sorted(str(path) for path in needed if not path.exists())
    if missing:
        raise SystemExit("images that are not there, see benchmarks/measured.toml:\n" + "\n".join(missing))
    rows = [found for row in sets for found in compare(row, images)]
    plain = [row for row in rows if not row.waits]
    sources = "\n".join(f"- {source}" for source in dict.fromkeys(row["source"] for row in sets))
    parts = [TEXT, summary(plain), shown(plain), WAITS.strip() + "\n", shown([row for row in rows if row.waits])]
    (HERE / "cycles.md").write_text("\n".join([*parts, f"Measured by:\n\n{sources}\n"]))
    for row in rows:
        print(f"{row.table:12} {row.chip:40} {row.name:28} {row.off:+.1%}")


if __name__ == "__main__":
    main()
