"""Native modules on emulated cores: close to PyTorch, and in int8 the same bits as C on this computer.

`make mpy` runs all of them, under MicroPython as it is; `make test` one core, whose firmware other tests have, too.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture.reference import variations
from pilotlight.compiler import Build
from pilotlight.graph import Graph
from pilotlight.graph.ports import from_memory
from pilotlight.micropython import ports
from pilotlight.micropython.build import build as build_firmware
from pilotlight.micropython.select import ALL
from support.micropython_scripts import run_script
from support.native_modules import built, in_int8, memory_of, run_on_board

EVERYTHING = bool(os.environ.get("PILOTLIGHT_ALL_BOARDS"))
# The architecture of a module, or the board that it is made for, and where it is run.
CASES = [
    ("x64", None, "host"), ("armv6m", None, "mps2-an385"), ("armv7m", None, "mps2-an385"),
    ("armv7emsp", None, "mps2-an386"), ("armv7m", None, "mps2-an386"), ("armv7emsp", None, "mps2-an500"),
    ("armv7emdp", None, "mps3-an547"), (None, "mps3-an547", "mps3-an547"), ("rv32imc", None, "riscv32-virt"),
] if EVERYTHING else [("armv7emsp", None, "mps2-an386")]
COMPILERS = ["gcc", "zig"] if EVERYTHING else ["gcc"]
RUNS = 3
SCRIPT = """
from array import array
import json
import net
m = net.load()
print(m.mapped)
for turn in range({runs}):
    with open("{folder}x%d" % turn, "rb") as file:
        print(json.dumps([list(y) for y in m.run(file.read())]))
"""


class Net(nn.Module):
    """Dense layers, pooling, a state, and what float needs of a library of functions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 8, 3, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.pointwise = nn.Conv2d(8, 12, 1)
        self.linear = nn.Linear(12, 6)
        self.register_buffer("mean", torch.zeros(1, 12))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.relu(self.depthwise(torch.relu(self.first(x))))
        x = nn.functional.max_pool2d(torch.relu(self.pointwise(x)), 2)
        now = (self.mean + x.mean((2, 3))) * 0.5
        self.mean.copy_(now)
        return torch.softmax(self.linear(torch.tanh(now)), 1), x


@cache
def network(mode: str) -> tuple[nn.Module, Graph, list[torch.Tensor]]:
    torch.manual_seed(5)
    net, x = Net().eval(), torch.randn(1, 2, 8, 8)
    given = [x, *(row[0] for row in variations([x]))][:RUNS]
    graph = pl.capture(net, (x,), "net")
    return net, graph if mode == "float32" else in_int8(graph, [x]), given


def firmware(board: str) -> Path:
    port = ports.unix() if board == "host" else ports.port(board)
    return build_firmware(port, None if EVERYTHING else ALL)


def printed(board: str, files: dict[str, bytes], folder: Path) -> list[str]:
    if board != "host":
        text = SCRIPT.format(runs=RUNS, folder="/rom/")
        return run_on_board(board, firmware(board), files, text, folder).splitlines()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    done = run_script(SCRIPT.format(runs=RUNS, folder=""), binary=firmware(board), cwd=folder)
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("mode", ["float32", "int8"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("arch, made_for, board", CASES)
def test_on_a_core(
    tmp_path: Path, arch: str | None, made_for: str | None, board: str, compiler: str, mode: str
) -> None:
    net, graph, given = network(mode)
    if compiler == "zig" and arch in ("armv7m", "rv32imc"):  # its library of functions
        with pytest.raises(pl.PilotlightError, match="holds an address in part of a word"):
            built(graph, arch, made_for, toolchain=compiler)
        return
    module, build = built(graph, arch, made_for, toolchain=compiler)
    assert isinstance(build, Build)
    files = {name: data for name, data in module.files.items() if isinstance(data, bytes)}
    files |= {f"x{turn}": memory_of(build, [x])[0] for turn, x in enumerate(given)}
    mapped, *lines = printed(board, files, tmp_path)
    assert mapped == str(board != "host"), mapped
    net.mean.zero_()
    with build.open("host") as here:
        for line, x in zip(lines, given, strict=True):
            found = []
            for port, row in zip(build.lowered.outputs, json.loads(line), strict=True):
                array = torch.tensor(row, dtype=port.value.dtype.torch).reshape(port.value.shape).numpy()
                found.append(from_memory(port, array))
            for y, expected, same in zip(found, net(x), here(x), strict=True):
                assert torch.allclose(y, expected.detach(), atol=1e-5 if mode == "float32" else 0.1)
                assert mode == "float32" or torch.equal(y, same)


def test_a_core_without_helium_says_so(tmp_path: Path) -> None:
    """To MicroPython, Helium is armv7emdp, as double precision is; here it is told a smaller one."""
    module, _ = built(network("int8")[1], None, "mps3-an547")
    data = module.files["net.mpy"]
    assert isinstance(data, bytes) and data[2] >> 2 == 8
    for board in ("mps2-an386", "mps2-an500") if EVERYTHING else ("mps2-an386",):
        files = {"net.mpy": data[:2] + bytes([7 << 2 | 3]) + data[3:]}
        text = run_on_board(board, firmware(board), files, "import net", tmp_path)
        assert "ImportError: net was compiled for a core with Helium, which this core has not" in text
