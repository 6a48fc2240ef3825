"""Projects that are built by their own files alone, booted in QEMU, and compared with eager PyTorch."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import pilotlight as pl
from pilotlight import boards
from pilotlight.capture import load_model
from pilotlight.device import Device
from pilotlight.device.where import name_addresses
from pilotlight.graph.ports import from_memory, to_memory
from pilotlight.measure.compare import Truth
from support.command_line import call_json

# The others take a minute: `make projects`.
EMULATED = [board.name for board in boards.all_boards() if board.emulator]
BOARDS = EMULATED if os.environ.get("PILOTLIGHT_ALL_BOARDS") else ["mps2-an386", "riscv32-virt"]
RUNS = 2

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, padding=1)
        self.linear = nn.Linear(6 * 20, 5)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, image, offset):
        self.calls += 1
        scores = self.linear(torch.relu(self.conv(image)).flatten(1)) * self.calls
        return {"scores": torch.softmax(scores, 1) + offset, "best": scores.argmax(1), "sure": scores > 0}


def net():
    torch.manual_seed(3)
    return Net().eval(), (torch.randn(1, 2, 4, 5), torch.tensor([-3, 0, 2, 1, 5]))
"""

STREAM = """
import torch
from torch import nn


def net():
    torch.manual_seed(1)
    layers = nn.Sequential(nn.Conv1d(3, 4, 5), nn.ReLU(), nn.Conv1d(4, 2, 3, stride=2))
    return layers.eval(), (torch.randn(1, 3, 256),)
"""


def built(folder: Path, *more: str) -> Path:
    """The program of a project, built by its own files alone."""
    for command in (["cmake", "-S", ".", "-B", "build", *more], ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in done.stdout + done.stderr, done.stdout + done.stderr
    (program,) = (folder / "build").glob("*.elf")
    return program


def printed(board: boards.Board, program: Path, code: int = 0) -> str:
    """What a program prints until it ends; time in the emulator is that of its instructions."""
    assert board.emulator is not None
    command = [board.emulator.program, "-M", board.emulator.machine, *board.emulator.args, "-nographic", "-semihosting",
               "-icount", "shift=6,align=off,sleep=off", "-kernel", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def values(text: str, name: str) -> list[list[str]]:
    """The lines of an output, run by run."""
    found = re.findall(rf"^output {name}, \d+ values?, crc32 [0-9a-f]{{8}}\n((?:  \d+: .*\n)+)", text, re.MULTILINE)
    return [re.findall(r": (.*)\n", lines) for lines in found]


def of_bits(lines: list[str]) -> torch.Tensor:
    bits = [int(line.split("0x")[1][:8], 16) for line in lines]
    numbers = torch.tensor([b - (1 << 32) if b >= 1 << 31 else b for b in bits], dtype=torch.int32).view(torch.float32)
    for line, number in zip(lines, numbers, strict=True):
        assert float(line.split()[0]) == pytest.approx(float(number), rel=2e-5, abs=1e-6)
    return numbers


def compare_with_pytorch(template: str, name: str, folder: Path, *more: str) -> Path:
    """Makes a project for a board, builds and boots it, compares what it prints, and gives the program."""
    source = folder / "net.py"
    source.write_text(NET)
    node = folder / "first-node"
    choices = ["--board", name, "--template", template, "--option", "interval=20", *more]
    made = call_json("new", node, f"{source}:net", *choices)
    assert {"main.c", "input.c", "README.md", "pilotlight.toml", "model/net.c"} <= set(made["written"])
    program = built(node, f"-DRUNS={RUNS}")
    text = printed(boards.load(name), program)
    scores = [of_bits(run).reshape(1, 5) for run in values(text, "scores")]
    best = [torch.tensor([int(x) for x in run]) for run in values(text, "best")]
    sure = [torch.tensor([[x == "1" for x in run]]) for run in values(text, "sure")]
    graph = load_model(f"{source}:net", (), None)
    truth = Truth(graph.truth, [graph.truth.example] * RUNS)
    rows = [list(row) for row in zip(scores, best, sure, strict=True)]
    assert len(rows) == RUNS and not torch.equal(scores[0], scores[1])
    assert [match.name for match in truth.compare(rows, ["scores", "best", "sure"]) if not match.match] == []
    costs = re.findall(r"^(\d+) cycles; stack (\d+) of (\d+) bytes; (\d+) bytes of RAM left$", text, re.MULTILINE)
    assert len(costs) == RUNS
    assert int(costs[-1][0]) > 0
    for _, used, size, left in (map(int, row) for row in costs):
        assert 0 < used < size and 0 < left < boards.load(name).total("ram")
    return program


def check_stream(template: str, name: str, folder: Path) -> None:
    """A project of a model that streams pushes samples; the channels of a sample lie next to each other."""
    (folder / "sound.py").write_text(STREAM)
    node = folder / "node"
    call_json("new", node, f"{folder / 'sound.py'}:net", "--board", name, "--template", template,
              "--stream", "hop=8", "--rate", "1000")
    assert "net_push(model, example_net_input, NET_HOP)" in (node / "input.c").read_text()
    assert "#define INTERVAL_MS 8u" in (node / "main.c").read_text()
    pushed = 5
    steps = values(printed(boards.load(name), built(node, f"-DRUNS={pushed}")), "0")
    assert len(steps) == pushed
    names: dict[str, Any] = {}
    exec(STREAM, names)
    module, (example,) = names["net"]()
    with torch.no_grad():
        whole = module(example[..., :8].repeat(1, 1, pushed))
    for back, lines in enumerate(reversed(steps[2:])):  # the first ones know too little of the past
        frames = whole[..., whole.shape[-1] - 4 * (back + 1) : whole.shape[-1] - 4 * back]
        torch.testing.assert_close(of_bits(lines), frames[0].T.reshape(-1))


def ask_and_compare(device: Device, source: Path, stack: bool = True, steady: bool = True) -> None:
    """Several runs of `NET` on a device that answers, with the state that they leave, against the module itself. A
    board whose clock follows that of a busy computer, and so is not `steady`, may count nothing in a short run."""
    graph = load_model(f"{source}:net", (), None)
    ports = pl.lower(graph)
    torch.manual_seed(5)
    rows = [(torch.randn(1, 2, 4, 5), torch.randint(-5, 5, (5,))) for _ in range(3)]

    def run(row: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
        given = [to_memory(port, x) for port, x in zip(ports.inputs, row, strict=True)]
        return [from_memory(port, x) for port, x in zip(ports.outputs, device.run(given), strict=True)]

    got = [run(row) for row in rows]
    truth = Truth(graph.truth, rows)
    assert [match.name for match in truth.compare(got, ["scores", "best", "sure"]) if not match.match] == []
    saved = device.save_state()
    fourth = run(rows[0])
    assert not torch.equal(fourth[0], got[0][0])
    device.load_state(saved)
    assert torch.equal(run(rows[0])[0], fourth[0])
    device.reset()
    assert all(torch.equal(a, b) for a, b in zip(run(rows[0]), got[0], strict=True))
    marks = device.marks()
    assert marks.cycles is not None and (marks.cycles > 0 or not steady)
    assert (marks.stack is not None) == stack


def check_fault(template: str, name: str, folder: Path) -> None:
    """A project whose input cannot be read says where that happened: there is nothing at that address, which only the
    emulated micro:bit does not mind."""
    (folder / "net.py").write_text(NET)
    node, board = folder / "node", boards.load(name)
    call_json("new", node, f"{folder / 'net.py'}:net", "--board", name, "--template", template)
    text = (node / "input.c").read_text()
    bad = "(__builtin_trap(), 0)" if "thumb1" in board.isa else "((const volatile int64_t *)0xF0000000u)[i]"
    (node / "input.c").write_text(text.replace("example_net_offset[i]", bad))
    program = built(node, "-DRUNS=1")
    (line,) = [row for row in printed(board, program, 1).splitlines() if "fault: " in row]
    head, *pairs = re.split(r" (?=\w+=0x)", line)
    values = {key: int(value, 16) for key, value in (pair.split("=") for pair in pairs)}
    assert head == ("fault: trap" if board.startup == "riscv" else "fault: hard fault")
    assert all(re.fullmatch(r"\w+=0x[0-9a-f]{8}", pair) for pair in pairs)
    assert list(values)[:4] == ["cause", "pc", "from", "address"]
    assert re.search(r"pc=0x[0-9a-f]{8} \(read_net_input\+0x[0-9a-f]+, .*input\.c:\d+\)", name_addresses(program, line))
    stack = board.memory(board.place.stack if board.place else "")
    assert stack.base <= values["sp"] <= stack.base + stack.size
    if "thumb1" not in board.isa:
        assert values["address"] == 0xF0000000


def check_other_memories(template: str, folder: Path) -> None:
    """Code, weights and arena are where they were wanted, and the program gives the same."""
    choices = ["--code-in", "psram", "--weights-in", "psram", "--arena-in", "psram"]
    program = compare_with_pytorch(template, "mps2-an386", folder, *choices)
    names = subprocess.run(["arm-none-eabi-nm", program], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines() if len(line.split()) == 3}
    psram = boards.load("mps2-an386").memory("psram")
    assert all(psram.base <= at[name] < psram.base + psram.size for name in ("net_run", "net_weights", "arena"))
    assert at["main"] < psram.base
