"""Devices: the same results as PyTorch everywhere, and boards that hang, crash or are not there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight import boards, device, toolchain
from pilotlight.errors import MissingToolError, PilotlightError
from support.paths import ROOT
from support.programs import path_of
from support.tiny_model import EMULATED, FOLDER, Tiny, altered, inputs


def opened(
    name: str, work: Path, folder: Path = FOLDER, timeout: float = 60.0, emulator: str | None = None
) -> device.Device:
    board = boards.load(name)
    build = toolchain.build_model(folder, board, work)
    return device.open(board, build, timeout=timeout, emulator=emulator)


@pytest.mark.parametrize("name", ["host", *EMULATED])
def test_same_bits_as_pytorch_with_state_and_reset(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as dev:
        for _ in range(2):
            model = Tiny()
            for seed in range(4):
                arrays = inputs(seed, n=seed + 1)
                (got,) = dev.run(arrays)
                expected = model(*(torch.from_numpy(a) for a in arrays)).numpy()
                np.testing.assert_array_equal(got, expected)
            dev.reset()
    assert dev.runs == 8


def test_arena_contents_before_a_run_do_not_matter(tmp_path: Path) -> None:
    with opened("mps2-an386", tmp_path) as dev:
        results = []
        for fill in (None, 0x00, 0xFF):
            dev.reset()
            results.append(dev.run(inputs(), fill=fill)[0])
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_sanitized_host_build_runs(tmp_path: Path) -> None:
    board = boards.load("host")
    build = toolchain.build_model(FOLDER, board, tmp_path, sanitize=True)
    arrays = inputs()
    with device.open(board, build) as dev:
        (got,) = dev.run(arrays)
    expected = Tiny()(*(torch.from_numpy(a) for a in arrays)).numpy()
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("y[16] = 1.0f;", "AddressSanitizer: global-buffer-overflow"),
        ("*n = *n + 2147483647;", "runtime error: signed integer overflow"),
    ],
)
def test_sanitizer_report_becomes_the_error(code: str, message: str, tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(1);": f"PL_STEP(1); {code}"})
    board = boards.load("host")
    build = toolchain.build_model(folder, board, tmp_path / "work", sanitize=True)
    with device.open(board, build) as dev, pytest.raises(PilotlightError, match=message) as error:
        dev.run(inputs())
    assert error.value.kind == "board-crashed"


def test_zig_has_no_sanitizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the flags and check nothing."""
    host = boards.load("host")
    with pytest.raises(PilotlightError, match="zig has no sanitizers") as error:
        toolchain.build_model(FOLDER, host, tmp_path, sanitize=True, compiler="zig")
    assert error.value.kind == "usage"
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="gcc was not found; it is needed for sanitizers, which zig") as missing:
        toolchain.build_model(FOLDER, host, tmp_path, sanitize=True)
    assert missing.value.hint == "install it with: apt-get install gcc"


@pytest.mark.parametrize("name", ["host", "mps2-an386", "microbit", "riscv32-virt"])
def test_hanging_board_times_out(name: str, tmp_path: Path) -> None:
    """The error says in which operator it hangs where instructions are counted."""
    folder = altered(
        tmp_path / "model", {"PL_STEP(1);": 'PL_STEP(1); while (*n == 99) { __asm__ volatile(""); }'}
    )
    with opened(name, tmp_path / "work", folder, timeout=3.0) as dev:
        dev.run(inputs())
        with pytest.raises(PilotlightError, match="did not answer for 3 s") as error:
            dev.run(inputs(n=99))
        assert error.value.kind == "board-hangs"
        assert error.value.where == f"board {name}, run 2"
        if name != "host":
            assert "step 1 (scale, second, tiny.py:4)" in error.value.message
            assert "tiny_run+0x" in error.value.message
        with pytest.raises(PilotlightError, match="is closed"):
            dev.run(inputs())


@pytest.mark.parametrize("name", EMULATED)
def test_crashing_board_says_what_and_where(name: str, tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(2);": "PL_STEP(2); if (*n == 99) { __builtin_trap(); }"})
    with opened(name, tmp_path / "work", folder) as dev:
        dev.run(inputs())
        with pytest.raises(PilotlightError, match="stopped by itself") as error:
            dev.run(inputs(n=99))
    assert error.value.kind == "board-crashed"
    assert "fault: " in error.value.message
    line = next(k for k, text in enumerate((folder / "tiny.c").read_text().splitlines(), 1) if "trap()" in text)
    assert re.search(rf"\(tiny_run\+0x[0-9a-f]+, tiny\.c:{line}\)", error.value.message)
    assert "step 2 (accumulate, sum, tiny.py:5)" in error.value.message


def test_wild_pointer_is_a_fault(tmp_path: Path) -> None:
    folder = altered(
        tmp_path / "model", {"PL_STEP(2);": "PL_STEP(2); *(volatile int32_t *)0xDEAD0000u = *n;"}
    )
    with (
        opened("mps2-an386", tmp_path / "work", folder, emulator="qemu") as dev,
        pytest.raises(PilotlightError, match=r"hard fault cause=0x00008200 .* address=0xdead0000"),
    ):
        dev.run(inputs())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("netduinoplus2", "1: push {r0-r3}; b 1b"),
        ("mps2-an386", "mov r12, sp; movs r3, #64; 1: push {r0-r3}; subs r3, #1; bne 1b; mov sp, r12; bx lr"),
    ],
)
def test_stack_overflow_is_a_fault_and_not_a_wrong_result(name: str, code: str, tmp_path: Path) -> None:
    """Assembly that uses more than it says: without end it runs into the end of the memory; once, the server
    sees it afterwards."""
    text = f"""
    .syntax unified
    .thumb
    .section .text.tiny_kernel, "ax"
    .globl tiny_kernel
    .thumb_func
    .type tiny_kernel, %function
tiny_kernel:
    {code}
    .size tiny_kernel, . - tiny_kernel
"""
    folder = altered(
        tmp_path / "model",
        {"PL_STEP(1);": "PL_STEP(1); extern void tiny_kernel(void); tiny_kernel();"},
        {"tiny_kernels.S": text},
        asm_stack={"tiny_kernel": 16},
    )
    with opened(name, tmp_path / "work", folder) as dev:
        in_qemu = (dev.emulator or "").startswith("qemu")  # Unicorn stops at the first access outside of the memory
        message = "fault: stack overflow" if in_qemu else r"fault: pc=.* \(tiny_kernel\+\w+.*writes 0x1fff"
        with pytest.raises(PilotlightError, match=message):
            dev.run(inputs())


def test_crash_on_the_host_stays_in_its_process(tmp_path: Path) -> None:
    folder = altered(tmp_path / "model", {"PL_STEP(2);": "PL_STEP(2); __builtin_trap();"})
    with opened("host", tmp_path / "work", folder) as dev, pytest.raises(PilotlightError) as error:
        dev.run(inputs())
    assert error.value.kind == "board-crashed"


def test_missing_emulator_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = boards.load("riscv32-virt")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="qemu-system-riscv32 was not found") as error:
        device.open(board, build, emulator="qemu")
    assert error.value.hint == "install it with: apt-get install qemu-system-misc"


def test_no_emulator_is_left_running(tmp_path: Path) -> None:
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    with pytest.raises(ZeroDivisionError), device.open(board, build, emulator="qemu") as dev:
        dev.run(inputs())
        raise ZeroDivisionError
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(build.image).encode() in _bytes(path)]


def _bytes(path: Path) -> bytes:
    """What a process was called with, unless it has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_emulator_ends_with_a_killed_parent(tmp_path: Path) -> None:
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    path_of("qemu-system-arm")
    script = (
        "import os, signal\nfrom pilotlight import boards, device, toolchain\n"
        "board = boards.load('mps2-an386')\n"
        f"dev = device.open(board, toolchain.build_model({str(FOLDER)!r}, board, {str(tmp_path)!r}))\n"
        "print(dev._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    status = Path(f"/proc/{int(done.stdout)}/cmdline")
    for _ in range(100):
        if not status.exists() or str(build.image) not in status.read_text():
            break
        time.sleep(0.1)
    else:
        pytest.fail("the emulator outlived the program that started it")


def test_emulator_that_refuses_the_image(tmp_path: Path) -> None:
    """What the emulator says is shown; here it does not know the machine."""
    file = tmp_path / "mps2-an386.toml"
    text = (Path(boards.__file__).parent / "mps2-an386.toml").read_text()
    file.write_text(text.replace('machine = "mps2-an386"', 'machine = "mps9"'))
    board = boards.load(file)
    build = toolchain.build_model(FOLDER, board, tmp_path / "work")
    with pytest.raises(PilotlightError, match="unsupported machine type") as error:
        device.open(board, build, emulator="qemu")
    assert error.value.kind == "board-crashed"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([np.zeros((2, 4), np.float32)], "tiny has 2 inputs, got 1"),
        ([np.zeros((4, 2), np.float32), np.zeros(1, np.int32)], r"input x: expected float32 \(2, 4\)"),
        ([np.zeros((2, 4), np.float64), np.zeros(1, np.int32)], "input x: expected float32 .* got float64"),
    ],
)
def test_wrong_input_is_refused(arrays: list[np.ndarray], message: str, tmp_path: Path) -> None:
    with opened("host", tmp_path) as dev:
        with pytest.raises(PilotlightError, match=message) as error:
            dev.run(arrays)
        assert error.value.kind == "wrong-input"
        dev.run(inputs())


def test_real_board_cannot_be_opened(tmp_path: Path) -> None:
    board = boards.load("esp32-s3")
    build = toolchain.build_model(FOLDER, board, tmp_path, need_compiler=False)
    with pytest.raises(PilotlightError, match="is not emulated"):
        device.open(board, build)
    with pytest.raises(PilotlightError, match="was built for esp32-s3, not for host"):
        device.open(boards.load("host"), build)


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_more_ports_than_a_byte_can_number(board: str) -> None:
    class Sums(torch.nn.Module):
        def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
            return [x + 1 for x in inputs]

    inputs = tuple(torch.tensor([float(k)]) for k in range(260))
    with pl.compile(pl.capture(Sums(), inputs, "net"), board=board).open() as running:
        outputs = running(*inputs)
    assert [y.item() for y in outputs] == [k + 1.0 for k in range(260)]


def test_a_board_with_another_model(tmp_path: Path) -> None:
    """The same shapes with other constants."""
    host = boards.load("host")
    build = toolchain.build_model(FOLDER, host, tmp_path / "one")
    text = (FOLDER / "tiny_weights.c").read_text()
    other = altered(tmp_path / "model")
    (other / "tiny_weights.c").write_text(text.replace("0x3f", "0x40", 1))
    wrong = toolchain.build_model(other, host, tmp_path / "other")
    with pytest.raises(PilotlightError, match=r"holds another model: its build id is [0-9a-f]{8}, not ") as error:
        device.open(host, replace(build, image=wrong.image))
    assert error.value.kind == "protocol"


@pytest.mark.parametrize("name", ["host", "mps2-an386"])
def test_a_state_goes_on_where_it_was_saved(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as dev:
        dev.run(inputs(0))
        saved = dev.save_state()
        expected = [dev.run(inputs(k))[0] for k in (1, 2)]
        dev.reset()
        dev.run(inputs(5))
        dev.load_state(saved)
        for k, want in zip((1, 2), expected, strict=True):
            np.testing.assert_array_equal(dev.run(inputs(k))[0], want)
        with pytest.raises(PilotlightError, match="tiny has 16 bytes of state, got 15"):
            dev.load_state(saved[1:])


def test_the_deepest_stack_stays(tmp_path: Path) -> None:
    with opened("mps2-an386", tmp_path) as dev:
        dev.run(inputs())
        marks = dev.marks()
        assert marks.stack == marks.deepest_stack == dev.stack and dev.stack is not None and 0 < dev.stack <= 512
        assert marks.cycles is None
    with opened("host", tmp_path / "host") as here:
        here.run(inputs())
        assert here.marks() == (None, None, None)


def test_the_board_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "adding-a-board.md").read_text()
    (tmp_path / "lm3s6965evb.toml").write_text(text.split("```toml\n")[1].split("```")[0])
    monkeypatch.setenv("PILOTLIGHT_BOARDS", str(tmp_path))
    arrays = inputs()
    with opened("lm3s6965evb", tmp_path / "work") as dev:
        (got,) = dev.run(arrays)
    np.testing.assert_array_equal(got, Tiny()(*(torch.from_numpy(a) for a in arrays)).numpy())
