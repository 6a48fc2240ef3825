"""The MLPerf Tiny networks handed to an Ethos-U: Arm's TOSA reference model against our integers on their own samples,
and Vela's report. Writes benchmarks/npu.md.

    python benchmarks/npu.py [--samples 20]

Trained weights are used if the networks are next to the project, as in networks.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pilotlight as pl
from networks import HERE, NETWORKS, TRAINED, load
from pilotlight.compiler import Build
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import trace
from pilotlight.npu.check import check_part
from pilotlight.npu.vela import family

CONFIGURATIONS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
HEAD = ["network", "NPU", "operators", "parts", "stays", "bytes in", "bytes out", "samples", "same integers",
        "cycles (est.)", "SRAM", "flash", "commands"]

TEXT = """# MLPerf Tiny networks on Ethos-U NPUs

One run of `make npu`, {weights} weights, int8. *Same integers*: on every sample Arm's TOSA reference model gave the
bytes of our integer reference for every tensor of the part that is handed over. The last four columns are Vela's own
report: its estimate of cycles, and bytes (SRAM holds the NPU's feature maps, flash its weights). The command streams
were not executed: no emulator has an Ethos-U.
"""


def board_with(npu: str, folder: Path) -> Path:
    """Corstone-300 with another NPU: what the four networks would be on it."""
    text = (HERE.parent / "src" / "pilotlight" / "boards" / "corstone-300.toml").read_text()
    lines = [f'npus = ["{npu}"]' if line.startswith("npus") else line for line in text.splitlines()]
    file = folder / f"{npu}.toml"
    file.write_text("\n".join(lines).replace('name = "corstone-300"', f'name = "{npu}"', 1) + "\n")
    return file


def checked(build: Build, npu: str, samples: list) -> int:
    """Compare every part on real inputs; a byte that differs is an error. Returns how many bytes were equal."""
    total = 0
    traces = [trace(build.lowered, row)[0] for row in samples]
    for node in build.lowered.nodes:
        if node.attrs.get("backend") == npu:
            values = node.inputs[: len(node.attrs["part"].inputs)]
            rows = [[found[value].numpy() for value in values] for found in traces]
            total += check_part(node.attrs["part"], family(npu), rows)
    return total


def row(name: str, graph: Graph, npu: str, folder: Path, samples: list) -> list[str]:
    build = pl.compile(graph, board=str(board_with(npu, folder)), npu=npu, name=name)
    (partition,) = build.lowered.partitions
    compared = checked(build, npu, samples)
    stays = ", ".join(sorted({refused["op"] for refused in partition.refused})) or "nothing"
    sums = {key: sum(part["figures"][key] for part in partition.taken)
            for key in ("cycles", "sram_bytes", "flash_bytes", "commands_bytes")}
    numbers = [sum(part[key] for part in partition.taken) for key in ("bytes_in", "bytes_out")]
    count = sum(part["operators"] for part in partition.taken)
    return [name, npu, str(count), str(len(partition.taken)), stays, *(f"{n:,}" for n in numbers), str(len(samples)),
            f"yes, {compared:,} bytes", *(f"{n:,}" for n in sums.values())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    most = parser.parse_args().samples
    trained = TRAINED.is_dir()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            model, inputs, samples = load(name, trained)
            graph = pl.quantize(pl.capture(model, inputs, name), samples)
            for npu in CONFIGURATIONS:
                cells = row(name, graph, npu, Path(folder), samples[:most])
                lines.append("| " + " | ".join(cells) + " |")
                print(lines[-1], file=sys.stderr)
    rule = "|".join("---" if k < 5 else "---:" for k in range(len(HEAD)))
    told = TEXT.format(weights="trained" if trained else "random")
    table = "\n".join([f"| {' | '.join(HEAD)} |", f"|{rule}|", *lines])
    (HERE / "npu.md").write_text(f"{told}\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
