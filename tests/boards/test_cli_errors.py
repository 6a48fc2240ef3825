"""Everything a user can get wrong: a message that says what, where and what to do, and exit code 2."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight import boards, compiler
from pilotlight.cli import advice
from pilotlight.toolchain import zig
from support.command_line import NETS, board_file, call, call_error, call_json, line_of
from support.paths import ROOT

NET = f"{NETS}:net"
ROOMY = f"{NETS}:roomy"
LARGE = f"{NETS}:large"


@pytest.fixture(autouse=True)
def _without_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs seconds; the tests that are about it switch it on."""
    monkeypatch.setattr(advice, "SECONDS", 0.0)


def test_unknown_board_suggests_the_nearest() -> None:
    error = call_error("run", NET, "--board", "mps2_an386")
    assert error["kind"] == "unknown-board" and "did you mean 'mps2-an386'" in error["message"]


def test_messages_for_people_go_to_stderr() -> None:
    result = call("run", NET, "--board", "mps2_an386")
    assert result.exit_code == 2 and result.stdout == ""
    assert "error: unknown board" in result.stderr and "hint: known boards: " in result.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["frobnicate"], "no command 'frobnicate'"),
        (["profil", NET], "did you mean 'profile'"),
        (["run"], "Missing argument 'MODEL'"),
        (["run", NET, "--borad", "host"], "No such option"),
        (["compile", NET], "Missing option '-o'"),
        (["inspect", NET, "--max-ram", "plenty"], "'plenty' is not a size"),
        (["inspect", NET, "--optimize", "looks"], "'looks' is not one of"),
        (["run", NET, "--timeout", "0"], "'0' is not a time"),
        (["profile", NET, "--timeout", "nan"], "'nan' is not a time"),
        (["run", NET, "--max-loss", "-1"], "'-1' is not a share"),
        (["run", NET, "--max-loss", "200%"], "'200%' is not a share"),
        (["run", NET, "--wide", "fc"], "--wide does nothing in a float model"),
        (["run", NET, "--float-io"], "--float-io does nothing in a float model"),
        (["run", NET, "--quantize", "weights-int8", "--group", "32"], "--group does nothing in weights-int8"),
        (["micropython", "run", str(NETS), "--heap", "1"], "outside 16,384 to"),
        (["run", str(NETS)], "names no model"),
        (["run", f"{NETS}:nothing"], "expected a module"),
        (["run", f"{NETS}:absent"], "has no 'absent'"),
        (["run", f"{NETS}:Net"], "without example inputs"),
        (["run", f"{NETS}:Net", "--input", "1xtwo"], "is not understood"),
        (["run", "saved.pt2", "--input", "1x2"], "with shapes of its own"),
    ],
)
def test_usage(args: list[str], text: str) -> None:
    error = call_error(*args)
    assert error["kind"] == "usage" and text in error["message"]


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        (["--weights-in", ""], "unknown-memory", "no memory named ''"),
        (["--board", "host", "--arena-in", "ram"], "unknown-memory", "no memories to choose from"),
        (["--board", "mps2-an386.toml"], "unknown-board", "did you mean 'mps2-an386'"),
        (["--board", "absent.toml"], "unknown-board", "there is no board file absent.toml"),
        (["--input", "99999999999x99999999"], "too-large", "a tensor may have"),
    ],
)
def test_choices_that_are_not_there(args: list[str], kind: str, text: str) -> None:
    error = call_error("inspect", NET, *args)
    assert error["kind"] == kind and text in error["message"]


def test_a_report_that_cannot_be_written_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = call_error("run", f"{NETS}:raises", "--report", tmp_path / "file" / "report.html")
    assert error["kind"] == "file" and "--report" in error["hint"]


def test_what_a_model_prints_is_not_the_result() -> None:
    assert call_json("run", f"{NETS}:talks", "--board", "host")["match"]
    shown = call("run", f"{NETS}:talks", "--board", "host")
    assert "talking" not in shown.stdout and "talking" in shown.stderr


def test_sparse_inputs_and_weights_without_a_scale(tmp_path: Path) -> None:
    assert "expected a dense one" in call_error("inspect", f"{NETS}:sparse", "--board", "host")["message"]
    error = call_error("inspect", f"{NETS}:broken", "--board", "host", "--quantize", "weights-int8")
    assert error["kind"] == "calibration" and "hold NaN or infinity" in error["message"]


def test_unsupported_operators_are_all_listed_with_their_place() -> None:
    error = call_error("compile", f"{NETS}:unsupported", "-o", "nowhere")
    assert error["kind"] == "unsupported"
    assert "linalg_inv_ex" in error["message"] and "_linalg_det" in error["message"]
    assert error["message"].count(f"nets.py:{line_of('torch.linalg.inv')}") >= 2
    assert not Path("nowhere").exists()


def test_data_dependent_control_flow() -> None:
    error = call_error("run", f"{NETS}:decides")
    assert error["kind"] == "data-dependent" and error["where"] == f"nets.py:{line_of('if x.sum()')}"


def test_an_exception_in_the_model_file_shows_the_users_line() -> None:
    error = call_error("run", f"{NETS}:raises")
    assert error["kind"] == "user-code" and "return nn.Linear(3, size)" in error["message"]
    assert error["where"] == f"{NETS}:{line_of('nn.Linear(3, size)')}"


def test_a_syntax_error_in_the_model_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import torch\n\ndef net(:\n    pass\n")
    error = call_error("run", f"{file}:net")
    assert error["kind"] == "user-code" and "def net(:" in error["message"] and error["where"] == f"{file}:3"


def test_a_model_file_that_ends_the_program(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("import sys\nsys.exit(0)\n")
    assert call_error("run", f"{file}:net")["kind"] == "user-code"


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert call_error("run", tmp_path / "absent.pt2")["kind"] == "no-file"
    assert call_error("run", f"{tmp_path / 'absent.py'}:net")["kind"] == "no-file"
    (tmp_path / "folder.py").mkdir()
    error = call_error("run", f"{tmp_path / 'folder.py'}:net")
    assert "is not a file" in error["message"] and "did you mean" not in error["hint"]
    (tmp_path / "binary.py").write_bytes(b"\0\0")
    error = call_error("run", f"{tmp_path / 'binary.py'}:net")
    assert error["kind"] == "user-code" and error["where"] == str(tmp_path / "binary.py")
    for path, text in ((tmp_path / "absent.npz", "does not exist"), (tmp_path, "is not a file")):
        error = call_error("run", NET, "--board", "host", "--inputs", path)
        assert error["kind"] == "no-file" and text in error["message"]


def test_broken_pt2(tmp_path: Path) -> None:
    file = tmp_path / "broken.pt2"
    file.write_bytes(b"not a model")
    assert call_error("inspect", file)["kind"] == "broken-file"
    good = tmp_path / "good.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(2, 2).eval(), (torch.randn(1, 2),)), good)
    content = good.read_bytes()
    file.write_bytes(content[: len(content) // 2] + content[len(content) // 2 + 64 :])
    assert call_error("inspect", file)["kind"] == "broken-file"


def test_a_shape_that_the_model_does_not_take() -> None:
    error = call_error("run", f"{NETS}:Net", "--input", "1x3x8x8")
    assert error["kind"] == "capture" and error["where"] == f"nets.py:{line_of('self.fc(torch')}"


@pytest.mark.parametrize("content", [b"", b"not numbers"])
def test_inputs_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    file.write_bytes(content)
    assert call_error("run", NET, "--board", "host", "--inputs", file)["kind"] == "broken-file"


def test_too_large_for_an_emulated_board_names_the_peak() -> None:
    error = call_error("run", LARGE, "--board", "netduinoplus2")
    assert error["kind"] == "does-not-fit" and error["where"] == "board netduinoplus2"
    assert "ram by " in error["message"] and "294,912 bytes  conv2d 3x3 + relu (0)" in error["message"]
    assert "mps2-an386" in error["hint"] or "nucleo-l4r5zi" in error["hint"]


def test_too_large_for_a_real_board_shows_figures_and_fails(tmp_path: Path) -> None:
    result = call("inspect", LARGE, "--board", "pico")
    assert result.exit_code == 2 and "bytes too many" in result.stdout and "does not fit" in result.stderr
    assert call_error("inspect", LARGE, "--board", "pico")["kind"] == "does-not-fit"
    assert call_error("compile", LARGE, "--board", "pico", "-o", tmp_path / "out")["kind"] == "does-not-fit"
    assert not (tmp_path / "out").exists()


def test_another_memory_is_suggested() -> None:
    error = call_error("inspect", LARGE, "--input", "1x3x64x64", "--board", "stm32f746g-disco")
    assert "--arena-in sdram" in error["hint"]


@pytest.mark.parametrize("board", ["mps2-an386", "host", "esp32-s3"])
def test_over_budget_names_the_peak_and_the_miss(board: str) -> None:
    error = call_error("inspect", LARGE, "--board", board, "--max-ram", "256K")
    assert error["kind"] == "over-budget" and "more than the 262,144 that --max-ram 256K allows" in error["message"]
    assert ("stack size is unknown" if board != "mps2-an386" else "static 0, stack ") in error["message"]
    first, last = error["hint"].split("\n        ")
    assert "--optimize ram" in first and "no time" in first
    assert last == "allow more with --max-ram; make the model smaller"
    assert "294,912 bytes  conv2d 3x3 + relu (0)" in error["message"]
    error = call_error("compile", LARGE, "--board", board, "--max-flash", "16K", "-o", "nowhere")
    assert error["kind"] == "over-budget" and "bytes  conv2d 3x3 (2)" in error["message"]


def test_what_else_would_fit_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures are those that the other way really has."""
    monkeypatch.setattr(advice, "SECONDS", 600.0)
    error = call_error("inspect", ROOMY, "--max-ram=4K", "--max-flash", "1M")
    assert "that --max-ram=4K allows" in error["message"]
    *ways, last = error["hint"].split("\n        ")
    found = call_json("inspect", ROOMY, "--max-ram=4K", "--max-flash", "1M", "--optimize", "ram")
    flash, ram = found["flash"]["code"] + found["flash"]["weights"], found["ram"]["total"]
    assert ways[0].startswith("--quantize int8 --calibrate FILE.npz needs ") and len(ways) == 2
    assert ways[1] == f"--optimize ram needs {ram:,} bytes of RAM and {flash:,} of flash, which fits"
    assert last == "allow more with --max-ram; make the model smaller"


def test_a_budget_counts_code_and_stack() -> None:
    """The weights and the arena alone would fit."""
    graph = pl.load(NET)
    build = pl.compile(graph, board="mps2-an386")
    sizes, stack = build.info.sizes, build.info.stack
    assert sizes.code is not None and stack is not None
    flash, ram = sizes.code + sizes.weights, build.module.metadata["arena_bytes"] + stack
    pl.compile(graph, board="mps2-an386", max_flash=flash, max_ram=ram)
    for budget in ({"max_flash": flash - 1}, {"max_ram": ram - 1}):
        with pytest.raises(pl.PilotlightError, match="1 more than") as caught:
            pl.compile(graph, board="mps2-an386", **budget)
        assert caught.value.kind == "over-budget"


@pytest.mark.parametrize(("board", "option"), [("host", "--max-ram"), ("esp32-s3", "--max-flash")])
def test_a_budget_that_cannot_be_checked_is_refused(board: str, option: str) -> None:
    assert call_error("inspect", NET, "--board", board, option, "1M")["kind"] == "unknown-size"


def test_unknown_memory() -> None:
    error = call_error("inspect", NET, "--arena-in", "dram")
    assert error["kind"] == "unknown-memory" and "flash, ram, psram" in error["message"]
    assert call_error("inspect", NET, "--arena-in", "flash")["kind"] == "unknown-memory"


def test_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(zig, "program", lambda: None)
    error = call_error("run", NET)
    assert error["kind"] == "missing-tool" and "arm-none-eabi-gcc" in error["message"]
    assert error["hint"] == "install it with: pip install ziglang, or apt-get install gcc-arm-none-eabi"
    result = call("compile", NET, "-o", tmp_path / "out", "--board", "pico")
    assert result.exit_code == 0 and "apt-get install gcc-arm-none-eabi" in result.stdout


def test_missing_emulator(tmp_path: Path) -> None:
    board = board_file(tmp_path, "qemu-system-nothing")
    error = call_error("run", NET, "--board", board, "--emulator", "qemu")
    assert error["kind"] == "missing-tool" and "qemu-system-nothing" in error["message"]
    result = call_json("run", NET, "--board", board)
    assert result["match"] and result["made"]["versions"]["emulator"].startswith("unicorn ")


def test_a_board_that_hangs(tmp_path: Path) -> None:
    program = tmp_path / "emulator"
    program.write_text("#!/bin/sh\necho these are my last words\nexec sleep 600\n")
    program.chmod(0o755)
    error = call_error("run", NET, "--board", board_file(tmp_path, str(program)), "--timeout", "0.5")
    assert error["kind"] == "board-hangs" and "did not answer for 0.5 s" in error["message"]
    assert "these are my last words" in error["message"]


def test_a_board_without_an_emulator_cannot_be_run() -> None:
    for command in (("run", NET), ("demo",)):
        error = call_error(*command, "--board", "esp32-s3")
        assert error["kind"] == "not-runnable" and "mps2-an386" in error["hint"]
    error = call_error("run", NET, "--board", "nucleo-wb55rg", "--emulator", "qemu")
    assert error["kind"] == "usage" and "QEMU does not emulate nucleo-wb55rg" in error["message"]


def test_profile_needs_a_board_that_counts() -> None:
    assert call_error("profile", NET, "--board", "host")["kind"] == "not-countable"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert call_error("compile", NET, "--board", "host", "-o", tmp_path / "file" / "out")["kind"] == "file"


def test_an_interrupt_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(boards, "known_boards", interrupt)
    assert call_json("boards", exit_code=130)["error"]["kind"] == "interrupted"


def test_a_bug_is_one_sentence_and_a_traceback_only_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "known_boards", lambda: 1 // 0)
    result = call("boards")
    assert result.exit_code == 2 and "please report it" in result.stderr
    assert "Traceback" not in result.output
    assert "Traceback" in call("boards", "-vv").stderr
    assert call_error("boards")["kind"] == "internal"


def test_a_bug_leaves_a_file_to_report_it_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: object, *args: object, **more: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(compiler, "emit_module", fail)
    error = call_error("inspect", NET, "--board", "host")
    assert error["kind"] == "internal" and "KeyError: 'a bug'" in error["message"]
    (file,) = (tmp_path / "reports").glob("*.zip")
    assert f"attach {file} to the report" in error["hint"]
    with zipfile.ZipFile(file) as bundle:
        texts = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert set(texts) == {"command.txt", "versions.json", "traceback.txt", "graph.txt"}
    assert texts["command.txt"] == f"pilotlight inspect {NET} --board host --json\n"
    assert "emit_module(" in texts["traceback.txt"] and "torch.ops.aten.conv2d" in texts["graph.txt"]
    assert {"torch", "gcc", "Python"} <= {part["name"] for part in json.loads(texts["versions.json"])}
    assert file.stat().st_size < 100_000


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros((2, 1, 9, 9), np.float32), "has samples of shape [1, 9, 9]; expected [1, 1, 8, 8]"),
        (np.zeros((2, 1, 8, 8), np.int32), "is int32; expected float32"),
        (np.zeros((0, 1, 8, 8), np.float32), "expected one number, not 0"),
    ],
)
def test_inputs_of_the_wrong_shape_or_type(array: np.ndarray, text: str, tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    np.savez(file, x=array)
    error = call_error("run", NET, "--board", "host", "--inputs", file)
    assert error["kind"] == "wrong-input" and text in error["message"]


@pytest.mark.parametrize("label", [np.array(["a", "b"]), np.array([0.5, 1.0]), np.zeros((2, 2), np.int64)])
def test_labels_are_whole_numbers(label: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    np.savez(file, x=np.zeros((2, 1, 1, 8, 8), np.float32), label=label)
    error = call_error("run", NET, "--board", "host", "--inputs", file)
    assert error["kind"] == "wrong-input" and "expected one whole number" in error["message"]


def test_damaged_compressed_inputs(tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    np.savez_compressed(file, x=np.zeros((2, 1, 1, 8, 8), np.float32))
    content = bytearray(file.read_bytes())
    content[40:90] = b"Z" * 50
    file.write_bytes(content)
    assert call_error("run", NET, "--board", "host", "--inputs", file)["kind"] == "broken-file"


def test_every_kind_of_error_is_documented() -> None:
    source, docs = Path(pl.__file__).parent, ROOT / "docs" / "cli.md"
    texts = [path.read_text() for path in source.rglob("*.py") if "micropython/python" not in path.as_posix()]
    kinds = {kind for text in texts for kind in re.findall(r'[ (]kind="([a-z-]+)"', text)} - {"stable"}  # of argsort
    assert "missing-tool" in kinds and sorted(kind for kind in kinds if f"`{kind}`" not in docs.read_text()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode on other systems")
def test_a_name_that_is_not_in_utf8(tmp_path: Path) -> None:
    """Such as a file of another system's; Python gives its bytes as surrogates."""
    model = tmp_path / "n\udce9t.py"
    model.write_text("import torch\nnet = torch.nn.ReLU()\n", encoding="utf-8")
    error = call_error("inspect", f"{model}:net", "--input", "1x4")
    assert error["kind"] == "usage" and "a name is not in UTF-8: " in error["message"]
    assert "n\\udce9t.py" in error["message"]
