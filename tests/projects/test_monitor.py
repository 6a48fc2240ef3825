"""`pilotlight monitor`: lines of text, log frames between them, faults in words; boards that say nothing or go away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import serial
from hypothesis import given
from hypothesis import strategies as st

from pilotlight import boards
from pilotlight.device.console import LogReader
from pilotlight.device.faults import explain_fault, read_fault
from pilotlight.device.frames import ANSWER, LOG, Frame, pack
from support.booted_projects import NET, built
from support.command_line import call, call_error, call_json
from support.device_lines import Board, serial_board
from support.elf_files import fake_project
from support.paths import ROOT
from support.programs import path_of

SAID = b"boot\r\n" + pack(Frame(LOG, 0, 0, b"one\ntwo")) + pack(Frame(ANSWER, 5, 7, b"\n\n ok")) + "grün\n".encode()
LINES = ["boot", "one\ntwo", "grün", "no end"]


@given(st.lists(st.integers(1, len(SAID)), max_size=8))
def test_lines_and_frames_are_told_apart_however_they_arrive(cuts: list[int]) -> None:
    reader, found, before = LogReader(), [], 0
    for cut in [*sorted(cuts), len(SAID)]:
        found += reader.feed(SAID[before:cut])
        before = cut
    found += reader.feed(b"no end")
    assert [*found, *reader.end()] == LINES


def test_noise_is_not_a_line() -> None:
    reader = LogReader()
    assert reader.feed(b"\0\x05\x02\xff\n\xfe\0ok\n") == ["ok"]
    assert len(reader.feed(b"\x01" * 5000)) == 1 and reader.feed(b"after\n") == ["after"]


# ---- faults in words ----

ARM = "fault: hard fault cause=0x{:08x} pc=0x00000100 from=0x00000201 address=0x40ffff00 hfsr=0x{:08x}"


@pytest.mark.parametrize(("cause", "hfsr", "words"), [
    (0x8200, 1 << 30, ["data could not be accessed at 0x40ffff00"]),
    (0x82, 0, ["data was accessed where none may be at 0x40ffff00"]),
    (0x400, 0, ["data could not be accessed some instructions before (imprecise bus error)"]),
    (0x10000, 0, ["an undefined instruction"]),
    (0x80000, 0, ["an instruction of the FPU or another coprocessor, which is off or not there"]),
    (0x3000000, 0, ["an access that is not aligned", "a division by zero"]),
    (0, 2, ["the vector table could not be read"]),
    (0, 0, ["the core does not say why"]),
])
def test_causes_of_cortex_m(cause: int, hfsr: int, words: list[str]) -> None:
    record = read_fault("text before it, " + ARM.format(cause, hfsr))
    assert record is not None and record.what == "hard fault" and record["address"] == 0x40FFFF00
    assert list(explain_fault(record, boards.load("mps2-an386"), None).reasons) == words


@pytest.mark.parametrize(("cause", "words"), [
    (5, "a load from where nothing is at 0xf0000000"), (2, "an illegal instruction"),
    (0x80000007, "interrupt 7, for which there is no handler"), (99, "an unknown cause, 99 at 0xf0000000"),
])
def test_causes_of_riscv(cause: int, words: str) -> None:
    record = read_fault(f"fault: trap cause=0x{cause:08x} pc=0x80000100 from=0x80000200 address=0xf0000000")
    assert record is not None
    assert explain_fault(record, boards.load("riscv32-virt"), None).reasons == (words,)


def test_other_lines_are_no_faults() -> None:
    assert read_fault("fault: none") is None and read_fault("pc=0x00000000") is None


# ---- an emulated board ----


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its input cannot be read in the third run."""
    for program in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        path_of(program)
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "net.py").write_text(NET, encoding="utf-8")
    node = folder / "node"
    call_json("new", node, f"{folder / 'net.py'}:net", "--board", "mps2-an386", "--option", "interval=300")
    text = (node / "input.c").read_text(encoding="utf-8")
    assert "example_net_offset[i]" in text
    text = re.sub(r"(for \(\w+ i = 0)", r"static int calls;\n    calls += 1;\n    \1", text, count=1)
    wild = "(calls > 2 ? ((const volatile int64_t *)0xF0000000u)[i] : example_net_offset[i])"
    (node / "input.c").write_text(text.replace("example_net_offset[i]", wild), encoding="utf-8")
    built(node)
    return node


def test_a_fault_is_explained_with_function_and_line(faulty: Path) -> None:
    found = call_json("monitor", faulty, exit_code=1)
    assert sum(line.startswith("output scores") for line in found["lines"]) == 2
    (fault,) = found["faults"]
    assert fault["reasons"] == ["data could not be accessed at 0xf0000000"]
    text = (faulty / "input.c").read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(text, 1) if "0xF0000000u" in line]
    assert re.fullmatch(rf"read_net_input\+0x[0-9a-f]+, input\.c:{number}", fault["at"])
    assert fault["called_from"].startswith("main+0x") and "main.c:" in fault["called_from"]
    shown = call("monitor", faulty)
    assert shown.exit_code == 1 and "why" in shown.stdout and "r12     0x" in shown.stdout
    assert "output scores" in shown.stdout and not shown.stderr


def test_ctrl_c_ends_it(faulty: Path, tmp_path: Path) -> None:
    """As a program of its own, which gets the signal, while the board goes on."""
    node = shutil.copytree(faulty, tmp_path / "node", ignore=shutil.ignore_patterns("build"))
    text = (node / "input.c").read_text(encoding="utf-8")
    (node / "input.c").write_text(text.replace("calls > 2", "calls < 0"), encoding="utf-8")
    built(node)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "pilotlight", "monitor", str(node)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=_heed_ctrl_c)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("output scores")
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    assert process.wait(20) == 0


def _heed_ctrl_c() -> None:
    """Tests that run in the background ignore it, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# ---- a board on a line ----


def later(work: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        time.sleep(0.3)
        work()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_board_on_a_line(tmp_path: Path) -> None:
    project = fake_project(tmp_path / "node", "nucleo-wb55rg")
    with serial_board(None) as (port, board):
        thread = later(lambda: board.say(SAID + ARM.format(0x10000, 0).encode() + b"\n"))
        found = call_json("monitor", project, "--port", port, "--seconds", "1", exit_code=1)
        thread.join()
    assert found["lines"][:3] == LINES[:3] and found["device"] == f"the board on {port}"
    (fault,) = found["faults"]  # nothing was built here, so that no function is known
    assert fault["reasons"] == ["an undefined instruction"] and fault["at"] is None


def test_boards_that_are_not_there_busy_silent_or_unplugged(tmp_path: Path) -> None:
    project = fake_project(tmp_path / "node", "nucleo-wb55rg")

    def error(*args: str) -> str:
        found = call_error("monitor", project, *args)
        assert found["hint"] and "\n" not in found["message"]
        return f"{found['kind']}: {found['message']}"

    assert error().startswith("board-missing: nucleo-wb55rg is not plugged in")
    assert error("--port", "/dev/no-such-port") == "board-missing: there is no board on /dev/no-such-port: no such port"
    with serial_board(None) as (port, _):
        assert error("--port", port, "--seconds", "0.3") == (
            f"board-hangs: the board on {port} is silent: nothing came for 0.3 s"
        )
        with serial.Serial(port, exclusive=True):
            assert error("--port", port) == f"board-busy: the board on {port} is busy: another program holds the port"
    with serial_board(None) as (port, board):
        thread = later(lambda: unplugged(board))
        assert error("--port", port) == f"board-missing: the board on {port} is gone: the line was closed"
        thread.join()
    unbuilt = fake_project(tmp_path / "unbuilt", "mps2-an386")
    assert call_error("monitor", unbuilt)["kind"] == "not-built"
    assert json.dumps(call_error("monitor", tmp_path))


def unplugged(board: Board) -> None:
    board.say(b"last words\n")
    board.unplug()
