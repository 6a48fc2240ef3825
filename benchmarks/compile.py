"""How long Pilotlight itself takes, and how much memory: networks of 10 to 500 layers, stage by stage.

    python benchmarks/compile.py [--only 10,50,200,500,2000] [--profile STAGE]

One run prints a table and writes benchmarks/compile.md. Seconds are processor time, that of the C compiler included,
so that other work on the computer does not count. Every network is compiled in its own process.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import platform
import pstats
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

HERE = Path(__file__).resolve().parent
BOARD = "mps2-an386"
LAYERS = (10, 50, 200, 500)
STEPS = 2000
STAGES = ("torch.export", "capture", "quantize", "passes", "plan", "emit", "toolchain")


class Residual(nn.Module):
    """An inverted residual block: three convolutions, as in MobileNet, with few channels."""

    def __init__(self, channels: int):
        super().__init__()
        wide = 2 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class Steps(nn.Module):
    """Many small operators of several kinds, none of which fuses with another."""

    def __init__(self, count: int):
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kinds = (
            lambda x: torch.softmax(x, 1), lambda x: x.cumsum(2), lambda x: torch.tanh(x) * 0.5,
            lambda x: x.flip(2), lambda x: x - x.mean(1, keepdim=True), lambda x: x.roll(1, 1),
        )
        for k in range(self.count):
            x = kinds[k % len(kinds)](x)
        return x


def network(layers: int) -> tuple[nn.Module, torch.Tensor]:
    """A classifier with this many convolutions and linear layers, or a graph of 2,000 small operators."""
    torch.manual_seed(0)
    if layers >= STEPS:
        return Steps(layers).eval(), torch.randn(1, 4, 6)
    blocks = [Residual(4) for _ in range((layers - 1) // 3)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4)]
    stem = [nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, *head).eval(), torch.randn(1, 3, 8, 8)


def seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Clock:
    """Seconds by stage; a stage inside another is not counted twice."""

    def __init__(self, profiled: str | None):
        self.spent: dict[str, float] = dict.fromkeys(STAGES, 0.0)
        self.torch = 0.0  # of these: inside torch.export and its decompositions, after the first export
        self.profiled, self.profile = profiled, cProfile.Profile()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        outer, before = sum(self.spent.values()), seconds()
        if name == self.profiled:
            self.profile.enable()
        try:
            yield
        finally:
            if name == self.profiled:
                self.profile.disable()
            inner = sum(self.spent.values()) - outer
            self.spent[name] += seconds() - before - inner

    def around(self, where: Any, function: str, name: str) -> None:
        """Count a function of a module as a stage."""
        call: Callable[..., Any] = getattr(where, function)

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return call(*args, **kwargs)

        setattr(where, function, timed)

    def torch_itself(self, where: Any, function: str) -> None:
        call: Callable[..., Any] = getattr(where, function)

        def timed(*args: Any, **kwargs: Any) -> Any:
            before = seconds()
            try:
                return call(*args, **kwargs)
            finally:
                self.torch += seconds() - before

        setattr(where, function, timed)


def measure(layers: int, mode: str, profiled: str | None) -> dict[str, Any]:
    """One network through all stages, in this process."""
    import pilotlight as pl
    from pilotlight import compiler
    from pilotlight.capture.exported import capture_exported, export

    if mode != "float":
        import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401  its import is no work on the network
    torch.set_num_threads(1)
    clock = Clock(profiled)
    module, x = network(layers)
    with clock.stage("torch.export"):
        program = export(module, (x,))
    clock.torch_itself(torch.export, "export")
    clock.torch_itself(ExportedProgram, "run_decompositions")
    for function, name in (
        ("run_passes", "passes"), ("prepare", "passes"), ("make_plan", "plan"), ("emit_module", "emit"),
    ):
        clock.around(compiler, function, name)
    with clock.stage("capture"):
        graph = capture_exported(program, "net")
    if mode != "float":
        with clock.stage("quantize"):
            graph = pl.quantize(graph, calibration=[torch.randn(x.shape) for _ in range(4)], mode=mode)
    with clock.stage("plan"):  # what is left of compiling: the choice of kernels
        build = pl.compile(graph, board=BOARD)
    with clock.stage("toolchain"):
        sizes = build.info.sizes
    if profiled:
        pstats.Stats(clock.profile, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
        pstats.Stats(clock.profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    return {
        "layers": layers, "mode": mode, "steps": len(build.lowered.nodes), "seconds": clock.spent, "torch": clock.torch,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "code": sizes.code,
        "weights": sizes.weights, "arena": build.module.metadata["arena_bytes"],
    }


def in_a_process(layers: int, mode: str, profiled: str | None = None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", f"{layers},{mode}"]
    command += ["--profile", profiled] if profiled else []
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if profiled else subprocess.DEVNULL, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rows: list[dict[str, Any]]) -> str:
    heads = ["network", "steps", *STAGES, "after torch.export", "of that PyTorch", "peak memory"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for row in rows:
        spent = row["seconds"]
        name = f"{row['layers']:,} small operators" if row["layers"] >= STEPS else f"{row['layers']} layers"
        cells = [f"{name}, {row['mode']}", str(row["steps"]), *(f"{spent[stage]:.1f}" for stage in STAGES)]
        cells += [f"{sum(spent.values()) - spent['torch.export']:.1f}", f"{row['torch']:.1f}"]
        lines.append("| " + " | ".join([*cells, f"{row['peak_mb']} MB"]) + " |")
    return "\n".join(lines)


TEXT = f"""\
# Compiling in figures

Recorded with `python benchmarks/compile.py` ({{machine}}, PyTorch {{torch}}): each network in a process of
its own, in seconds of processor time, that of the C compiler included, for {BOARD}. Processor time rather than time on
the clock, so that other work on the computer does not count. The networks are stacks of inverted residual blocks, as
MobileNet has them, with 4 to 8 channels and 8x8 pixels, so that arithmetic takes no time; int8 with four calibration
samples. The last are operators that do not fuse. Memory is the most that the process had at a time, PyTorch's own
300 MB included.

{{table}}

"of that PyTorch" is time inside `torch.export` and `run_decompositions`: quantizing exports once more, on a graph with
all the quantize operators; the latter runs only for models that write in place or use an operator without a lowering.
The rest is Pilotlight, torchao and the C compiler.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="numbers of layers; the file is not written then")
    parser.add_argument("--modes", default="float,int8")
    parser.add_argument("--profile", metavar="STAGE", choices=STAGES, help="where the time of a stage goes")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        layers, mode = args.measure.split(",")
        print(json.dumps(measure(int(layers), mode, args.profile)))
        return
    chosen = [int(n) for n in args.only.split(",")] if args.only else [*LAYERS, STEPS]
    rows = []
    for layers in chosen:
        for mode in args.modes.split(",") if layers < STEPS else ["float"]:
            rows.append(in_a_process(layers, mode, args.profile))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    if not args.only:
        text = TEXT.format(machine=platform.machine(), torch=torch.__version__, table=table(rows))
        (HERE / "compile.md").write_text(text)


if __name__ == "__main__":
    main()
