"""Commands on a project that is built: flashed, run and compared on its device, which is emulated or on a line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from serial.tools import list_ports

from pilotlight.projects.manifest import MANIFEST
from support.booted_projects import NET, built
from support.command_line import call, call_error, call_json
from support.device_lines import Board, serial_board, server_program
from support.elf_files import write_elf
from support.paths import FIXTURES
from support.programs import path_of


def made(folder: Path, board: str, *more: str) -> Path:
    (folder / "net.py").write_text(NET, encoding="utf-8")
    call_json("new", folder / "node", f"{folder / 'net.py'}:net", "--board", board, "--app", "server", *more)
    return folder / "node"


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for program in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        path_of(program)
    node = made(tmp_path_factory.mktemp("emulated"), "mps2-an386")
    built(node, "-DWATCH_BYTES=256")
    return node


# ---- an emulated board ----


def test_the_emulator_takes_what_was_built(emulated: Path, tmp_path: Path) -> None:
    said = call_json("flash", emulated)
    assert said["with"] == "emulator" and said["ran"]
    assert said["commands"] == [
        "qemu-system-arm -machine mps2-an386 -kernel build/node.elf -display none -monitor none -serial null -S "
        "-qmp stdio"
    ]
    copy = tmp_path / "node"
    shutil.copytree(emulated, copy, ignore=shutil.ignore_patterns("build"))
    write_elf(copy / "build" / "node.elf", 0x0300_0000, b"no memory is there")
    assert call_error("flash", copy)["kind"] == "wrong-board"


def test_a_project_is_run_and_compared(emulated: Path) -> None:
    found = call_json("run", emulated)
    assert found["match"] and found["runs"] == 8 and found["compared_with"] == "PyTorch"
    assert [row["name"] for row in found["outputs"]] == ["scores", "best", "sure"]
    assert found["stack"] > 0 and found["cycles"] > 0
    rows = found["operators"]
    assert {row["module"] for row in rows} >= {"conv", "linear"} and rows[1]["source"].startswith("net.py:")
    assert all(row["cycles"] > 0 for row in rows) and sum(row["cycles"] for row in rows) <= found["cycles"]


def test_given_inputs_are_run_and_shown(emulated: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    random = np.random.default_rng(0)
    np.savez(data, image=random.standard_normal((3, 1, 2, 4, 5)).astype(np.float32), offset=np.ones((3, 5), np.int64))
    shown = call("run", emulated, "--inputs", data)
    assert shown.exit_code == 0 and "3 runs" in shown.stdout and "qemu-system-arm" in shown.stdout
    assert "conv2d 3x3 + relu" in shown.stdout and "cycles" in shown.stdout


def test_layers_on_the_device_of_a_project(emulated: Path) -> None:
    found = call_json("compare", emulated)
    assert found["match"] and found["runs"] == 3 and found["board"] == "mps2-an386"
    assert all(row["match"] for row in found["steps"])
    alone = [row["op"] for row in found["steps"] if row["against"] != "PyTorch"]
    assert alone == ["cast"]  # which PyTorch does inside of its sum


def test_a_model_that_changed_is_refused(emulated: Path, tmp_path: Path) -> None:
    copy = tmp_path / "node"
    shutil.copytree(emulated, copy)
    (tmp_path / "net.py").write_text(NET.replace("manual_seed(3)", "manual_seed(4)"), encoding="utf-8")
    error = call_error("run", copy)
    assert error["kind"] == "bad-project" and "has changed since its files were written" in error["message"]
    assert error["hint"] == f"`pilotlight update {copy}`, then build and flash it"
    assert call_json("update", copy)["written"]
    error = call_error("run", copy)  # what was built is the model before
    assert "the board holds another model: its build id is" in error["message"]
    assert error["hint"] == f"`pilotlight build {copy}`, then `pilotlight flash {copy}`"


@pytest.mark.skipif(shutil.which("gdb-multiarch") is None, reason="gdb-multiarch is not installed")
def test_gdb_stops_in_main_with_its_source(emulated: Path, tmp_path: Path) -> None:
    """In a copy at another place, too."""
    copy = tmp_path / "node"
    shutil.copytree(emulated, copy)
    for node in (emulated, copy):
        out = tmp_path / f"{node.parent.name}.txt"
        script = [f"set logging file {out}", "set logging redirect on", "set logging enabled on", "bt", "list main"]
        words = [word for line in (*script, "break net_run", "info breakpoints") for word in ("-ex", line)]
        assert call("debug", node, "--", "-batch", *words).exit_code == 0
        said = out.read_text(encoding="utf-8")
        assert "#0  main () at " in said and "pl_serve();" in said
        assert "net.c:" in said


# ---- a board on a line ----


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project for a board that is not emulated, and its server as a program of this computer."""
    folder = tmp_path_factory.mktemp("real")
    node = made(folder, "nucleo-wb55rg")
    return node, server_program(node / "model", folder, 1024)


@pytest.fixture
def line(real: tuple[Path, Path]) -> Iterator[tuple[str, Board]]:
    with serial_board(real[1]) as found:
        yield found


def test_a_board_on_a_line_is_run_and_compared(
    real: tuple[Path, Path], line: tuple[str, Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by its USB id among the serial ports."""
    ports = [SimpleNamespace(device=line[0], vid=0x0483, pid=0x374B), SimpleNamespace(device="x", vid=None, pid=None)]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    found = call_json("run", real[0])
    assert found["match"] and found["runs"] == 8 and found["board"] == "nucleo-wb55rg"
    assert found["device"] == f"the board on {line[0]}" and found["emulator"] is None
    assert found["operators"] is None and found["cycles"] is None  # this computer counts nothing
    error = call_error("compare", real[0], "--port", line[0])
    assert error["message"] == f"the program of {real[0]} does not show what is inside a run"
    assert "-DWATCH_BYTES=" in error["hint"]


def test_boards_that_do_not_answer(real: tuple[Path, Path]) -> None:
    node, _ = real
    error = call_error("run", node)
    assert error["kind"] == "board-missing" and "nucleo-wb55rg is not plugged in" in error["message"]
    error = call_error("run", node, "--port", "/dev/no-such-port")
    assert error["message"] == "there is no board on /dev/no-such-port: no such port"
    with serial_board(None) as (port, _):
        error = call_error("run", node, "--port", port, "--timeout", "0.3")
        assert error["kind"] == "board-hangs" and f"the board on {port} is silent" in error["message"]


def test_quantized_and_several_entry_points(tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, x=np.random.default_rng(0).standard_normal((4, 1, 6)).astype(np.float32))
    (tmp_path / "plain.py").write_text(
        "import torch\n\n\ndef net():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.ReLU(), torch.nn.Linear(9, 2)), "
        "(torch.randn(1, 6),)\n", encoding="utf-8")
    models = {
        "plain": (f"{tmp_path / 'plain.py'}:net", "--quantize", "int8", "--calibrate", str(data)),
        "memory": (f"{FIXTURES / 'cli' / 'entries.py'}:memory",),
    }
    for name, arguments in models.items():
        node = tmp_path / name
        call_json("new", node, *arguments, "--board", "nucleo-wb55rg", "--app", "server")
        (tmp_path / f"{name}-work").mkdir()
        with serial_board(server_program(node / "model", tmp_path / f"{name}-work", 1024)) as (port, _):
            found = call_json("run", node, "--port", port)
        assert found["match"]
        if name == "plain":
            assert found["compared_with"] == "the integer reference" and found["snr_db"][0] > 15
        else:
            assert set(found["entries"]) == {"feed", "ask"}


def test_what_is_not_for_projects(emulated: Path, tmp_path: Path) -> None:
    assert "--quantize is not for a project" in call_error("run", emulated, "--quantize", "int8")["message"]
    assert "--board is not for a project" in call_error("run", emulated, "--board", "host")["message"]
    assert "--port is for projects" in call_error("run", "net.py:net", "--port", "COM3")["message"]
    assert "is not a project: it has no pilotlight.toml" in call_error("run", tmp_path)["message"]
    copy = tmp_path / "node"
    copy.mkdir()
    text = (emulated / MANIFEST).read_text(encoding="utf-8")
    (copy / MANIFEST).write_text(text.replace('app = "server"', 'app = "run"'), encoding="utf-8")
    error = call_error("run", copy)
    assert error["message"] == f"the application of {copy} is run, which answers nobody"
    assert "--app server" in error["hint"]
