"""Builds with the module, the commands that make and use them, and what they hold."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
import torch

from pilotlight import boards
from pilotlight.micropython import ports
from pilotlight.micropython.build import build, unix_binary
from pilotlight.micropython.firmware import elf_sizes
from pilotlight.micropython.model import from_model
from pilotlight.micropython.module import write_module
from pilotlight.micropython.select import ALL, from_file, select
from pilotlight.micropython.session import open_session
from support.command_line import call, call_error, call_json

BOARD = "mps2-an386"
PILOTLIGHT = (sys.executable, "-m", "pilotlight")
SCRIPT = """\
import sys
import torch
print(torch.ones(2) * 2, sys.argv[1:], __name__)
for line in range(300):
    print("line", line)
if sys.argv[1:] == ["wrong"]:
    torch.ones(2) + torch.ones(3)
sys.exit(5)
"""


def shell(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PILOTLIGHT, *map(str, args)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module", autouse=True)
def built():
    """Both, so that no test's own timeout includes a build."""
    return unix_binary(), build(ports.port(BOARD))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.parametrize("board", [ports.HOST, BOARD])
def test_run_prints_and_exits_as_the_script_does(script, board):
    done = shell("micropython", "run", script, "a", "b", "--board", board)
    lines = done.stdout.splitlines()
    assert lines[0] == "tensor([2., 2.]) ['a', 'b'] __main__"
    assert lines[1:] == [f"line {k}" for k in range(300)]
    assert done.returncode == 5


@pytest.mark.parametrize("board", [ports.HOST, BOARD])
def test_an_exception_is_a_traceback_and_exit_code_1(script, board):
    done = shell("micropython", "run", script, "wrong", "--board", board)
    assert done.returncode == 1
    trace = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert trace[1].endswith('script.py", line 7, in <module>')
    assert trace[2].startswith("RuntimeError: The size of tensor a (2) must match the size of tensor b (3)")
    assert len(trace) == 3


def test_one_object_for_programs(script):
    found = call_json("micropython", "run", script, "--board", BOARD, exit_code=5)
    assert found["exit_code"] == 5 and found["stdout"].startswith("tensor([2., 2.])") and not found["stderr"]


def test_a_silent_board_is_told(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text("print('here')\nwhile True:\n    pass\n")
    done = shell("micropython", "run", path, "--board", BOARD, "--timeout", "10")
    assert done.returncode == 2
    assert done.stdout == "here\n"
    assert f"{BOARD} has printed nothing for 10 seconds" in done.stderr


def test_ctrl_c_stops_a_script_on_a_board(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text("print('here')\nwhile True:\n    pass\n")
    command = [*PILOTLIGHT, "micropython", "run", str(path), "--board", BOARD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert err.rstrip().endswith("KeyboardInterrupt:")
    assert process.returncode == 1


def test_boards_without_a_build_are_named():
    error = call_error("micropython", "run", __file__, "--board", "pico")
    assert error["kind"] == "not-runnable" and "mps2-an386" in error["hint"]
    assert call_error("micropython", "run", __file__, "--board", "mps2-an3")["kind"] == "unknown-board"
    assert call_error("micropython", "run", "nothing.py")["kind"] == "no-file"


def test_a_board_is_a_toml_file(tmp_path, monkeypatch):
    """Memory map, flags of the core and serial line of a build are those of its file, wherever that is."""
    text = (Path(boards.__file__).parent / f"{BOARD}.toml").read_text()
    for old, new in ((f'name = "{BOARD}"', 'name = "mine"'), ("0x2100_0000", "0x2180_0000"), ("irq = 0", "irq = 4"),
                     ("base = 0x4000_4000", "base = 0x4000_5000"), ("cortex-m4", "cortex-m33"), ("default = true", "")):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    found = ports.port(str(path), heap=1 << 20)
    assert found.board is not None and found.name == "mine" and found.compiler == "arm-none-eabi-gcc"
    files = ports.board_files(found.board)
    assert "PT_UART = 0x40005000\nPT_IRQ = 4\n" in files["mpconfigboard.mk"]
    assert files["mpconfigboard.mk"].endswith("\ninclude $(PT_BOARDS)/cortex-m.mk\n")
    assert "PT_CPU = -mcpu=cortex-m33 -mthumb" in files["mpconfigboard.mk"]
    assert "HEAP : ORIGIN = 0x21800000, LENGTH = 0x1000000\n" in files["memory.ld"]
    assert "mine" not in ports.names()
    monkeypatch.setenv("PILOTLIGHT_BOARDS", str(tmp_path))
    assert "mine" in ports.names() and ports.port("mine").board == found.board
    path.write_text(text.replace('heap = "psram"', 'heap = "flash"'))
    error = call_error("micropython", "run", __file__, "--board", path)
    assert error["kind"] == "bad-board" and "micropython.heap: expected a memory of kind ram" in error["message"]


def test_no_board_is_named_in_code():
    source = Path(ports.__file__).parents[1]
    names = [board.name for board in boards.all_boards() if not board.is_host]
    files = [*(source / "cli").rglob("*.py"), *(source / "micropython").rglob("*.py")]
    whole = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])")  # not the SDK of one
    assert len(files) > 40 and not [(path.name, found) for path in files if (found := whole.findall(path.read_text()))]


@pytest.mark.parametrize("board", [ports.HOST, BOARD])
def test_a_prompt(board):
    """Ctrl-C gives a new prompt, Ctrl-D leaves, and the terminal is as it was."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"this computer has no pseudo-terminals: {error}")
    before = termios.tcgetattr(slave)
    os.set_blocking(master, False)
    process = subprocess.Popen([*PILOTLIGHT, "repl", "--board", board], stdin=slave, stdout=slave, stderr=slave,
                               preexec_fn=lambda: (os.setsid(), None)[1])
    seen = b""

    def until(text: bytes) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while text not in seen and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                seen += os.read(master, 4096)
            time.sleep(0.01)
        assert text in seen, seen
        seen = seen.partition(text)[2]

    until(b">>> ")
    os.write(master, b"import torch\r")
    until(b">>> ")
    os.write(master, b"torch.eye(2)\r")
    until(b"tensor([[1., 0.],\r\n        [0., 1.]])")
    until(b">>> ")
    if board != ports.HOST:
        os.write(master, b"while True: print('round')\r\r\r\r")
        until(b"round")
        os.write(master, b"\x03")
        until(b"KeyboardInterrupt:")
        until(b">>> ")
    os.write(master, b"half a li\x03")
    until(b">>> ")
    os.write(master, b"\x04")
    assert process.wait(timeout=60) == 0
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


def test_the_clock_of_a_board():
    """Time passes at the rate of a second a second, or slower where the emulator is; the modules around it work too."""
    path = Path(__file__).parent / "scripts" / "stdlib.py"
    expected = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
    said: list[bytes] = []
    clock = """
import time
before, since, seconds = time.ticks_ms(), time.perf_counter(), time.time()
time.sleep(0.7)
time.sleep_ms(50)
time.sleep_us(1000)
print(time.ticks_diff(time.ticks_ms(), before) >= 750, time.perf_counter() - since >= 0.75)
print(time.time() - seconds >= 0.75)
"""
    with open_session(boards.load(BOARD), build(ports.port(BOARD))) as session:
        assert session.execute(path.read_text() + clock, said.append, said.append), b"".join(said)
    assert b"".join(said).decode().replace("\r", "") == expected + "True True\nTrue\n"


def test_a_list_of_operators(tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text("operators: [softmax, torch.conv2d, aten::add.Tensor]\npython: [torch.nn]\n")
    found = from_file(path)
    assert found.operators is not None
    assert "softmax.int" in found.operators and "conv2d.default" in found.operators
    assert [name for name in found.operators if name.startswith("add")] == ["add.Tensor"]
    assert found.python is not None and {"torch", "torch.nn"} <= set(found.python)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operators: [sofmax]", "no operator sofmax"),
        ("operators: [relu]\npython: [torch.n]", "no Python module torch.n"),
        ("[relu]", "not a list of operators"),
        ("operators: relu", "not a list of operators"),
        ("ops: [relu]", "not a list of operators"),
        ("operators: [", "not YAML"),
    ],
)
def test_lists_that_are_wrong(tmp_path, text, message):
    path = tmp_path / "ops.yaml"
    path.write_text(text)
    assert message in call_error("micropython", "export", "--ops-file", path, "-o", tmp_path / "out")["message"]


def test_close_names_are_offered(tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text("operators: [sofmax]")
    assert "softmax" in call_error("micropython", "export", "--ops-file", path, "-o", tmp_path)["hint"]


NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(self.fc(x) + 1, -1)


def net():
    return Net(), (torch.ones(2, 4),)


def broken():
    return torch.no_such_function()
"""


def test_what_a_file_needs(tmp_path):
    """It is run by MicroPython: its operators, and the modules it loaded."""
    path = tmp_path / "net.py"
    path.write_text(NET)
    for found in (from_model(f"{path}:net"), from_model(f"{path}:Net", ["2x4"])):
        assert found.operators is not None and found.python is not None
        operators = {name.partition(".")[0] for name in found.operators}
        assert {"linear", "softmax", "add"} <= operators and not {"conv2d", "matmul", "sub"} & operators
        assert "torch.nn.modules.linear" in found.python and "torch.nn.modules.conv" not in found.python
        assert "torch.nn.modules._state" in found.python and "torch.nn.modules._conv" not in found.python
    error = call_error("micropython", "export", "--ops", f"{path}:broken", "-o", tmp_path / "out")
    assert "no_such_function" in error["message"] and error["kind"] == "user-code"


def test_what_a_saved_graph_needs(tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(torch.relu(x), -1).view(4)

    x = torch.ones(2, 2)
    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "net.pt2")
    torch.jit.trace(Net(), x).save(tmp_path / "net.pt")
    torch.save({"weight": x}, tmp_path / "weights.pt")
    for name in ("net.pt2", "net.pt"):
        found = from_model(str(tmp_path / name))
        assert found.operators is not None
        operators = {n.partition(".")[0] for n in found.operators}
        assert {"softmax", "relu", "view"} <= operators and not {"conv2d", "add", "matmul"} & operators
    (tmp_path / "broken.pt").write_text("no archive")
    error = call_error("micropython", "export", "--ops", tmp_path / "broken.pt", "-o", tmp_path / "out")
    assert error["kind"] == "bad-file"
    error = call_error("micropython", "export", "--ops", tmp_path / "weights.pt", "-o", tmp_path / "out")
    assert "no operators in it" in error["message"]


def test_firmware_and_its_report(tmp_path):
    listed = tmp_path / "ops.yaml"
    listed.write_text("operators: [softmax, frombuffer]")
    report = call_json("micropython", "build", "--board", BOARD, "--ops-file", listed, "-o", tmp_path / "firmware")
    assert {"firmware.elf", "firmware.bin", "firmware.hex", "report.json"} <= {p.name for p in
                                                                               (tmp_path / "firmware").iterdir()}
    assert json.loads((tmp_path / "firmware" / "report.json").read_text()) == report
    assert report["made"]["versions"]["compiler"].startswith("arm-none-eabi-gcc ")
    alone = {row["operator"]: row["alone"] for row in report["operators"]}
    assert alone.keys() == {"softmax", "frombuffer"} and 500 < alone["softmax"] < 8000
    totals = report["totals"]
    assert sum(report["sources"].values()) + totals["python"] == totals["module"]
    assert totals["operators"] + totals["tables"] + totals["tensor"] + totals["python"] == totals["module"]
    size = (tmp_path / "firmware" / "firmware.bin").stat().st_size
    assert size == report["sizes"]["text"] + report["sizes"]["data"]
    everything = elf_sizes(build(ports.port(BOARD)))
    assert everything["text"] - report["sizes"]["text"] > 60_000
    assert abs(totals["all"] - size) < 0.05 * size
    shown = call("micropython", "build", "--board", BOARD, "--ops-file", listed, "-o", tmp_path / "firmware").stdout
    assert "softmax" in shown and "bytes of its own" in shown
    said: list[bytes] = []
    with open_session(boards.load(BOARD), tmp_path / "firmware" / "firmware.elf") as session:
        assert session.execute(
            "import torch, array\nx = torch.frombuffer(array.array('f', [1, 1]), dtype=torch.float32)\n"
            "print(list(memoryview(torch.softmax(x, 0))), hasattr(torch, 'relu'))", said.append, said.append
        )
    assert b"".join(said).split() == [b"[0.5,", b"0.5]", b"False"]


def test_a_folder_for_cmake(tmp_path):
    """What rp2 and esp32 do with the module."""
    write_module(tmp_path / "module", select(["relu"], [], "here"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(port C)\nadd_library(usermod INTERFACE)\n"
        "include(${CMAKE_SOURCE_DIR}/module/micropython.cmake)\n"
        "get_target_property(found usermod_torch INTERFACE_SOURCES)\n"
        'file(WRITE ${CMAKE_BINARY_DIR}/found "${found}")\n'
    )
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b"], check=True, capture_output=True)
    names = {Path(p).name for p in (tmp_path / "b" / "found").read_text().split(";")}
    assert {"tensor.c", "tables.c", "rows.c"} <= names


def test_a_folder_is_brought_up_to_date(tmp_path):
    """Files that stay the same are not touched; those that are no longer wanted go away."""
    write_module(tmp_path, ALL)
    kept = tmp_path / "torch" / "tensor.h"
    os.utime(kept, (1, 1))
    assert (tmp_path / "python" / "torch" / "nn" / "functional.py").exists()
    write_module(tmp_path, select(["relu"], [], "here"))
    assert kept.stat().st_mtime == 1
    assert not (tmp_path / "python" / "torch" / "nn" / "functional.py").exists()
    assert not (tmp_path / "python" / "torch" / "__init__.py").exists()
