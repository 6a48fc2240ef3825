"""`import torch` under MicroPython in figures: what calls cost, how large builds are, how fast a network is.

    python benchmarks/micropython.py [--only calls,firmware,first,binary,network] [--rounds N]

One run prints a table and writes benchmarks/micropython.md. Times are the best of interleaved rounds against PyTorch in
CPython with one thread, in the same run; instructions are counted by valgrind as the difference of two loops, and on
the board by a timer of an emulator that counts them.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from pilotlight.micropython import ports
from pilotlight.micropython.build import build, unix_binary
from pilotlight.micropython.composed import operators
from pilotlight.micropython.firmware import elf_sizes
from pilotlight.micropython.model import from_model
from pilotlight.micropython.select import PARTS, SMALL, TorchSelection, part_operators, select
from pilotlight.micropython.session import open_session

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "tests" / "micropython" / "models"
BOARD = "mps2-an386"
HEAP = 512 << 20
KB = 1000
CALLS = {"`a.add_(b)`": ("a.add_(b)", 12, 700), "`torch.add(a, b)`": ("torch.add(a, b)", 8, 1100)}
PART_LIMITS = {"load": "under 8 KB", "jit": "under 14 KB more than `load`"}
Row = tuple[str, str, str]  # what, target, measured

TIMED = """\
import time
import torch
a, b = torch.ones(1), torch.ones(1)
def loop(count):
    t = time.time_ns()
    for _ in range(count):
        {statement}
    return (time.time_ns() - t) / count
loop(1000)
print(min([loop(3000) for _ in range(200)]))
"""
COUNTED = """\
import torch
a, b = torch.ones(1), torch.ones(1)
def loop(count):
    for _ in range(count):
        {statement}
loop({count})
"""
NETWORK = """\
import time
import torch
import mobilenet_v2
torch.manual_seed(0)
net = mobilenet_v2.MobileNetV2()
net.eval()
x = torch.rand(1, 3, 224, 224)
with torch.no_grad():
    for _ in range({runs}):
        t = time.time_ns()
        y = net(x)
        print((time.time_ns() - t) / 1e9)
print("sum", float(y.sum()), float(y.abs().sum()))
"""
FIRST = """\
import gc
import machine
from torch import _packed
_timer = 0x40000000  # CMSDK timer 0 at 25 MHz: a tick is 40 instructions, as the emulator has one a nanosecond
machine.mem32[_timer + 8] = machine.mem32[_timer + 4] = 0xFFFFFFFF
machine.mem32[_timer] = 1
_empty = dict(_packed._names)
def first(name, call):
    _packed._made.clear()
    _packed._loaded.clear()
    _packed._names.clear()
    _packed._names.update(_empty)
    _packed._names["_names"] = _packed._names
    gc.collect()
    before = machine.mem32[_timer + 4]
    call()
    print(name, 40 * (before - machine.mem32[_timer + 4]))
"""
FUNCTIONS = """\
import torch
from torch.nn import functional as F
x, t, w, im = torch.rand(2, 3), torch.tensor([0, 2]), torch.rand(3, 3), torch.rand(1, 3, 4, 4)
def call(name, *args, **kwargs):
    F.__dict__.pop(name, None)
    first(name, lambda: getattr(F, name)(*args, **kwargs))
call("cross_entropy", x, t)
call("nll_loss", x, t)
call("mse_loss", x, x)
call("kl_div", x, x)
call("gaussian_nll_loss", x, x, x)
call("triplet_margin_loss", x, x, x)
call("interpolate", im, scale_factor=2)
call("interpolate", im, size=(3, 5), mode="bilinear")
call("normalize", x)
call("local_response_norm", im, 2)
call("unfold", im, 2)
call("embedding", t, w)
call("embedding_bag", t, w, torch.tensor([0, 1]))
"""


def micropython(text: str, *prefix: str) -> str:
    """What a script prints; with a prefix, such as valgrind, what that says too."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(text)
        done = subprocess.run(
            [*prefix, str(unix_binary()), "-X", f"heapsize={HEAP}", str(script)], capture_output=True, text=True,
            env={**os.environ, "MICROPYPATH": f"{MODELS}:.frozen"}, cwd=folder,
        )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message")
    return done.stdout + (done.stderr if prefix else "")


def cpython_call(statement: str) -> float:
    """Nanoseconds of a call, loop included."""
    space: dict[str, object] = {"torch": torch, "a": torch.ones(1), "b": torch.ones(1), "time": time}
    body = f"def loop(count):\n    t = time.perf_counter_ns()\n    for _ in range(count):\n        {statement}\n"
    exec(f"{body}    return (time.perf_counter_ns() - t) / count", space)
    loop = space["loop"]
    assert callable(loop)
    loop(200)
    return min(loop(200) for _ in range(300))  # slices short enough to lie between two interruptions


def micropython_call(statement: str) -> float:
    return float(micropython(TIMED.format(statement=statement)))


def instructions(statement: str) -> float:
    """Of one call, by the difference of loops of two lengths, less the same of an empty loop."""

    def collected(body: str, count: int) -> int:
        with tempfile.TemporaryDirectory() as folder:
            out = micropython(
                COUNTED.format(statement=body, count=count), "valgrind", "--tool=callgrind",
                f"--callgrind-out-file={folder}/out",
            )
        match = re.search(r"Collected : (\d+)", out)
        assert match is not None, out
        return int(match[1])

    def each(body: str) -> float:
        return (collected(body, 6000) - collected(body, 1000)) / 5000

    return each(statement) - each("pass")


def call_rows(rounds: int) -> list[Row]:
    torch.set_num_threads(1)
    rows = []
    with torch.no_grad():
        for name, (statement, share, most) in CALLS.items():
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(micropython_call(statement) - micropython_call("pass"))
                theirs.append(cpython_call(statement) - cpython_call("pass"))
            one, other = min(ours), min(theirs)
            rows.append((
                f"{name}, one element: time against PyTorch in CPython", f"at most 1/{share}",
                f"1/{other / one:.1f} ({one:.0f} ns, {other:.0f} ns)",
            ))
            count = f"{instructions(statement):,.0f}" if shutil.which("valgrind") else "valgrind is not installed"
            rows.append((f"{name}, one element: instructions", f"under {most:,}", count))
    return rows


def flash(selection: TorchSelection | None) -> int:
    sizes = elf_sizes(build(ports.port(BOARD), selection))
    return sizes["text"] + sizes["data"]


def firmware_rows() -> list[Row]:
    """The cost of the module is the firmware with it minus the one without."""
    alone = flash(None)
    module = flash(SMALL)
    small = flash(select(["softmax", "frombuffer"], [], "here")) - alone
    costs = {part: flash(SMALL.with_parts([part])) - module for part in PARTS}
    more = {"jit": f", {(costs['jit'] - costs['load']) / KB:.2f} KB more than `load`"}
    return [
        (f"the whole module on {BOARD}, flash with minus without", "under 175 KB", f"{(module - alone) / KB:.1f} KB"),
        (f"softmax, with tensors from and to buffers, on {BOARD}", "under 14 KB", f"{small / KB:.1f} KB"),
        *((f"`--with {part}` on {BOARD}, flash with minus without", PART_LIMITS.get(part, ""),
           f"{cost / KB:.1f} KB{more.get(part, '')}") for part, cost in costs.items()),
    ]


def first_rows() -> list[Row]:
    """Every packed operator asked for as the first one, and packed functions of torch.nn called as the first one."""
    port = ports.port(BOARD)
    assert port.board is not None and port.board.emulator is not None
    counting = (*port.board.emulator.args, "-icount", "shift=0")
    board = replace(port.board, emulator=replace(port.board.emulator, args=counting))
    of_parts = {name for part in PARTS for name in part_operators(part)}
    asked = "\n".join(f"first({name!r}, lambda: _packed.operator({name!r}, 'f', False))"
                      for name in operators() if name not in of_parts)
    rows = []
    with open_session(board, build(port, SMALL), timeout=600) as session:
        for what, target, script in (
            ("operator", "at most 3.0 M", f"{FIRST}\n{asked}"),
            ("function of `torch.nn`, with the operators that it calls,", "", FUNCTIONS),
        ):
            said: list[bytes] = []
            assert session.execute(script, said.append, said.append), b"".join(said)
            counts = sorted((int(count), name) for name, count in map(str.split, b"".join(said).decode().splitlines()))
            most, middle = counts[-1], counts[len(counts) // 2]
            rows.append((
                f"first use of a packed {what} on {BOARD}: instructions, of {len(counts)}", target,
                f"{most[0] / 1e6:.1f} M (`{most[1]}`), median {middle[0] / 1e6:.1f} M",
            ))
    return rows


def binary_rows() -> list[Row]:
    program = unix_binary(from_model(f"{MODELS / 'alexnet.py'}:AlexNet", ["1x3x224x224"]))
    size = program.stat().st_size
    return [("MicroPython with AlexNet's operators, program for this computer, stripped", "under 650 KB",
             f"{size / KB:.0f} KB")]


def network_rows(rounds: int) -> list[Row]:
    """MobileNetV2 in both, in turns; the seeded weights are the same, so the results must be too."""
    torch.set_num_threads(1)
    ours: list[float] = []
    theirs: list[float] = []
    sums = set()
    for _ in range(rounds):
        for times, out in ((ours, micropython(NETWORK.format(runs=3))), (theirs, cpython())):
            *lines, last = out.strip().splitlines()
            times += map(float, lines)
            sums.add(tuple(round(float(v), 2) for v in last.split()[1:]))
    one, other = min(ours), min(theirs)
    same = "" if len(sums) == 1 else f"; the results differ: {sums}"
    return [("MobileNetV2, 224x224, eager, time against PyTorch in CPython with one thread", "at most 6x",
             f"{one / other:.1f}x ({one:.2f} s, {other:.2f} s){same}")]


def cpython() -> str:
    text = f"import torch; torch.set_num_threads(1)\n{NETWORK.format(runs=3)}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(MODELS), "OMP_NUM_THREADS": "1"})
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="calls,firmware,first,binary,network")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    parts: dict[str, Callable[[], list[Row]]] = {
        "calls": lambda: call_rows(options.rounds), "firmware": firmware_rows, "first": first_rows,
        "binary": binary_rows, "network": lambda: network_rows(options.rounds),
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if name in options.only.split(","):
            rows += part()
    lines = ["| | target | measured |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    print("\n".join(lines))
    if options.only == parser.get_default("only"):
        system = f"{platform.machine()}, PyTorch {torch.__version__}"
        head = f"# `import torch` under MicroPython\n\nOne run of `python benchmarks/micropython.py` ({system}).\n"
        (HERE / "micropython.md").write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
