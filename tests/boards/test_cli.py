"""Every command on models that work: what it prints for people, for programs, and its exit code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import unicorn

from pilotlight import boards, compiler
from pilotlight.cli import talk
from pilotlight.toolchain import zig
from support.command_line import NETS, call, call_error, call_json, line_of
from support.programs import path_of

NET = f"{NETS}:net"
MACS = 1152 + 2560
PARAMETERS = 80 + 2580
COSTS = {"macs", "macs_executed", "instructions", "cycles_estimate"}
RUN_FIELDS = {"board", "target", "match", "max_abs_error", *COSTS}
FLASH_FIELDS = {"code", "weights", "harness", "total"}
RAM_FIELDS = {"arena", "arena_lower_bound", "arena_no_overlap", "state", "static", "stack", "weights", "total"}


def test_boards_are_listed_without_loading_pytorch() -> None:
    code = (
        "import sys\nfrom pilotlight.cli import main\n"
        "try: main(['boards'])\nexcept SystemExit as end: assert end.code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nucleo-wb55rg" in done.stdout and "flash 1 MB, ram 192 KB" in done.stdout


def test_boards_for_programs() -> None:
    boards = {board["name"]: board for board in call_json("boards")["boards"]}
    assert boards["mps2-an386"]["runs"] == boards["pico"]["runs"] == "emulated"
    assert boards["esp32-s3"]["runs"] is None
    assert boards["host"]["runs"] == "host" and boards["host"]["memories"] == []
    ram = {"name": "ram", "kind": "ram", "base": 0x20000000, "size": 192 * 1024}
    assert any(ram.items() <= memory.items() for memory in boards["nucleo-wb55rg"]["memories"])


def test_inspect_counts_and_fits() -> None:
    found = call_json("inspect", NET, "--board", "nucleo-wb55rg")
    assert found["fits"] and found["parameters"] == PARAMETERS and found["macs"] == MACS
    assert found["captured"] == {"conv2d": 1, "relu": 1, "flatten": 1, "linear": 1}
    assert [row["op"] for row in found["operators"]] == ["linear", "conv2d"]
    assert sum(row["macs"] for row in found["operators"]) == MACS
    ram = found["ram"]
    assert ram["arena_lower_bound"] <= ram["arena"] and ram["static"] == 0
    assert ram["total"] == ram["arena"] + ram["state"] + ram["static"] + ram["stack"]
    memory = {use["name"]: use for use in found["memory"]}
    assert memory["ram"]["used"] == ram["total"]
    assert memory["flash"]["used"] == found["flash"]["code"] + found["flash"]["weights"]
    assert memory["flash"]["free"] == 1024 * 1024 - memory["flash"]["used"]


def test_inspect_says_how_long_an_inference_takes() -> None:
    """On a board without QEMU; the cycles are those of a run, the time has its waits and its interval."""
    found, run = call_json("inspect", NET, "--board", "pico2"), call_json("run", NET, "--board", "pico2")
    timing = found["timing"]
    assert timing == run["timing"] and found["cycles_estimate"] == timing["cycles"] > found["instructions"] > MACS
    assert timing["least"] <= timing["cycles"] <= timing["most"] and timing["clock_hz"] == 150_000_000
    assert timing["waits"]["memories"][0]["name"] == "flash" and timing["waits"]["most"] > timing["waits"]["cycles"]
    assert timing["seconds"] == timing["total"] / 150e6 and timing["total"] >= timing["cycles"]
    shown = " ".join(call("inspect", NET, "--board", "pico2").stdout.split())
    assert "estimate, Cortex-M33 whose memory never waits" in shown and "at 150 MHz" in shown
    assert call_json("inspect", NET, "--board", "pico2", "--no-count")["timing"] is None


def test_inspect_says_what_a_battery_gives() -> None:
    common = ("inspect", NET, "--board", "nrf52840dk", "--every", "1s")
    found = call_json(*common, "--battery", "220mAh")["energy"]
    assert found["microjoules"] == 52 * 64 * 3 * found["seconds"] and found["days"] > 0
    assert "Product Specification" in call(*common).stdout
    error = call_error("inspect", NET, "--board", "mps2-an386", "--every", "1s")
    assert error["kind"] == "no-power" and "mps2-an386" in error["message"]


def test_inspect_without_a_compiler_leaves_the_code_size_open() -> None:
    found = call_json("inspect", NET, "--board", "esp32-s3")
    assert found["fits"] and found["flash"]["code"] is None and found["flash"]["total"] is None
    assert found["flash"]["weights"] > 4 * PARAMETERS - 1 and found["ram"]["stack"] is None
    assert any("xtensa-esp32s3-elf-gcc" in reason for reason in found["unknown"])
    shown = call("inspect", NET, "--board", "esp32-s3")
    assert shown.exit_code == 0 and "code not counted" in shown.stdout


def test_dump_shows_the_graph_after_the_passes() -> None:
    graph = call_json("inspect", NET, "--board", "host", "--dump")["graph"]
    assert "conv2d" in graph and "batch_norm" not in graph and f"nets.py:{line_of('self.fc(torch')}" in graph
    assert graph in call("inspect", NET, "--board", "host", "--dump").stdout


def test_compile_writes_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    found = call_json("compile", NET, "-o", folder, "--board", "nucleo-wb55rg", "--name", "my net")
    assert found["name"] == "my_net" and found["folder"] == str(folder)
    files = {row["file"]: row["bytes"] for row in found["files"]}
    assert files == {p.name: p.stat().st_size for p in folder.iterdir()}
    assert set(files) >= {"my_net.h", "my_net.c", "metadata.json", "CMakeLists.txt", "example_main.c"}
    assert json.loads((folder / "metadata.json").read_text())["arena_bytes"] == found["ram"]["arena"]


def test_compile_says_what_it_wrote(tmp_path: Path) -> None:
    result = call("compile", NET, "-o", tmp_path / "out", "--board", "host")
    assert result.exit_code == 0
    assert "net_weights.c" in result.stdout and "arena" in result.stdout


def test_run_on_a_board() -> None:
    found = call_json("run", NET)
    assert set(found) >= RUN_FIELDS
    assert set(found["flash"]) == FLASH_FIELDS and set(found["ram"]) == RAM_FIELDS
    assert found["board"] == "mps2-an386" and found["target"] == "cortex-m4"
    assert found["match"] and found["runs"] == 8 and found["macs"] == found["macs_executed"] == MACS
    assert found["instructions"] == sum(row["instructions"] for row in found["operators"])
    assert found["cycles_estimate"] > found["instructions"] > MACS
    assert found["flash"]["total"] == sum(found["flash"][part] for part in ("code", "weights", "harness"))


def test_run_on_the_host_counts_nothing() -> None:
    found = call_json("run", NET, "--board", "host")
    assert found["match"] and found["instructions"] is None and found["cycles_estimate"] is None
    shown = call("run", NET, "--board", "host")
    assert shown.exit_code == 0 and "yes" in shown.stdout and "a model file may print" not in shown.stdout


def test_run_of_a_module_with_a_shape() -> None:
    assert call_json("run", f"{NETS}:Net", "--input", "1x1x8x8", "--board", "host")["macs"] == MACS


def test_run_of_a_saved_program(tmp_path: Path) -> None:
    file = tmp_path / "saved.pt2"
    program = torch.export.export(torch.nn.Linear(6, 3).eval(), (torch.randn(2, 6),))
    torch.export.save(program, file)
    found = call_json("run", file, "--board", "host")
    assert found["name"] == "saved" and found["match"] and found["macs"] == 36


def test_run_repeats_a_model_with_state_after_a_reset() -> None:
    found = call_json("run", f"{NETS}:counter", "--board", "host")
    assert found["match"] and found["ram"]["state"] == 16


def test_run_on_labelled_samples(tmp_path: Path) -> None:
    """PyTorch says which classes it finds; one label in four is made wrong."""
    torch.manual_seed(0)
    net = torch.nn.Linear(5, 3).eval()
    samples = torch.randn(12, 5)
    labels = net(samples).argmax(1)
    labels[::4] = (labels[::4] + 1) % 3
    model, data = tmp_path / "linear.pt2", tmp_path / "data.npz"
    torch.export.save(torch.export.export(net, (samples[:1],)), model)
    np.savez(data, x=samples.numpy(), label=labels.numpy())
    found = call_json("run", model, "--board", "host", "--inputs", data)
    assert found["runs"] == 12
    right = {"float": 9, "pt2e": None, "board": 9}
    assert found["accuracy"].items() >= {"samples": 12, "right": right, "different": 0}.items()
    assert "75.00%" in call("run", model, "--board", "host", "--inputs", data).stdout


def test_a_board_that_computes_something_else_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    right = compiler.Running.flat
    monkeypatch.setattr(compiler.Running, "flat", lambda self, x: [y + 0.01 for y in right(self, x)])
    found = call_json("run", NET, "--board", "host", exit_code=1)
    assert not found["match"] and found["max_abs_error"] > found["outputs"][0]["limit"]
    assert "NO" in call("run", NET, "--board", "host").stdout


def test_profile_adds_up() -> None:
    found = call_json("profile", NET)
    rows = found["operators"]
    assert found["match"] and sum(row["instructions"] for row in rows) == found["instructions"]
    assert sum(row["cycles"] for row in rows) == found["cycles_estimate"]
    assert [(row["op"], row["module"]) for row in rows] == [("conv2d", "conv"), ("linear", "fc")]
    assert {row["source"] for row in rows} == {f"nets.py:{line_of('self.fc(torch')}"}
    assert [row["macs"] for row in rows] == [1152, 2560]


def test_profile_for_people() -> None:
    result = call("profile", NET, "--board", "mps2-an385")
    assert result.exit_code == 0
    assert "conv2d 3x3 stride 2 + relu" in result.stdout and "lines are of nets.py" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 100


def test_options_change_the_build() -> None:
    plain = call_json("inspect", NET, "--board", "mps2-an386")
    kept = call_json("inspect", NET, "--keep-inputs", "--torch-layout", "--optimize", "size")
    assert kept["ram"]["arena"] > plain["ram"]["arena"]
    moved = call_json("inspect", NET, "--board", "mps2-an386", "--arena-in", "psram", "--weights-in", "ram")
    memory = {use["name"]: use["used"] for use in moved["memory"]}
    assert memory["psram"] == plain["ram"]["arena"] and memory["ram"] > plain["ram"]["stack"]
    flash, ram, weights = moved["flash"], moved["ram"], plain["flash"]["weights"]
    assert ram["weights"] == weights - flash["weights"] > 4 * PARAMETERS - 1
    assert memory["flash"] == flash["total"] and memory["ram"] + memory["psram"] == ram["total"]
    assert moved["placement"] == {"code": "flash", "weights": "ram", "arena": "psram", "stack": "ram"}


def test_verbose_tells_stages_and_commands() -> None:
    result = call("run", NET, "--board", "host", "-vvv")
    assert result.exit_code == 0
    assert "planning for host" in result.stderr and "planning for host" not in result.stdout


@pytest.mark.parametrize("command", ["boards", "inspect", "compile", "run", "profile"])
def test_help(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0 and "--json" in result.stdout


def test_a_long_stage_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(talk, "PATIENCE", 0.0)
    monkeypatch.setattr(talk, "_REPEAT", 0.01)
    seen = ""
    with talk.Talk().stage("working") as stage:
        stage.done(1, 10)
        while "about" not in seen:
            time.sleep(0.01)
            stage.done(4, 10)
            seen += capsys.readouterr().err
        while "finishing" not in seen:
            time.sleep(0.01)
            stage.done(10, 10)
            seen += capsys.readouterr().err
    assert "working ..." in seen and "working: 4 of 10, about 0 s left" in seen
    assert "working: 10 of 10, finishing\n" in seen


def test_summaries_name_the_memory_that_holds_the_weights(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    shown = call("run", NET, "--weights-in", "psram", "--report", report)
    for text in (shown.stdout, report.read_text()):
        assert re.search(r"stack \d+, weights [\d,]{6} in psram", text)


def test_one_bad_board_file_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.toml").write_text("name = ")
    good = (boards.load("pico").path or Path()).read_text()
    (tmp_path / "mine.toml").write_text(good.replace('name = "pico"', 'name = "mine"'))
    (tmp_path / "other.toml").write_text(good)
    (tmp_path / "odd.toml").write_text(good.replace('name = "pico"', 'name = "odd"').replace("arm-none", "arm-no"))
    strange = good.replace('name = "pico"', 'name = "strange"').replace("[place]", "[plaice]")
    (tmp_path / "strange.toml").write_text(strange)
    monkeypatch.setenv("PILOTLIGHT_BOARDS", str(tmp_path))
    shown = call("boards")
    assert shown.exit_code == 0 and "mine" in shown.stdout and "mps2-an386" in shown.stdout
    told = " ".join(shown.stdout.split())
    assert "broken.toml cannot be used: not valid TOML" in told and "strange.toml cannot be used: plaice" in told
    assert "unknown toolchain 'arm-no-eabi': odd" in told
    found = call_json("boards")
    assert [bad["kind"] for bad in found["bad"]] == ["bad-board"] * 3
    assert call_json("inspect", NET, "--board", "mine")["fits"]
    assert call_error("inspect", NET, "--board", "broken")["kind"] == "bad-board"


def test_doctor_fits_a_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = call("doctor")
    lines = shown.stdout.splitlines()
    assert shown.exit_code == 0 and len(lines) <= 24 and max(map(len, lines)) <= 100
    found = call_json("doctor")
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["torch"]["version"] == str(torch.__version__)
    tool = parts["gcc" if shutil.which("gcc") else "make"]
    assert tool["where"] == shutil.which(tool["name"]) and re.fullmatch(r"\d+(\.\d+)+", tool["version"])
    assert found["boards"] == len(boards.all_boards()) and found["bad_boards"] == []
    monkeypatch.setenv("PATH", str(tmp_path))
    without = " ".join(call("doctor").stdout.split())
    assert "unicorn takes its place, except on mps3-an547 (apt-get install qemu-system-arm)" in without
    assert "make" in call_json("doctor")["missing"] and "arm-none-eabi-gcc" not in call_json("doctor")["missing"]
    monkeypatch.setattr(zig, "program", lambda: None)
    assert {"gcc", "arm-none-eabi-gcc"} <= set(call_json("doctor")["missing"])


@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
@pytest.mark.parametrize("command", ["inspect", "compile", "run", "profile"])
def test_every_figure_says_what_made_it(command: str, toolchain: str, tmp_path: Path) -> None:
    """For people, for programs and on the page."""
    if toolchain == "gcc":
        path_of("arm-none-eabi-gcc")
    page, ran = tmp_path / "page.html", command in ("run", "profile")
    args = [command, NET, "--toolchain", toolchain, "--emulator", "unicorn"]
    args += {"compile": ["-o", tmp_path / "out"], "run": ["--report", page]}.get(command, [])
    versions = call_json(*args)["made"]["versions"]
    compiler = r"zig 0\.17\.\d+" if toolchain == "zig" else r"arm-none-eabi-gcc \d+\.\d+\.\d+"
    assert re.fullmatch(compiler, versions["compiler"])
    assert versions["emulator"] == (f"unicorn {unicorn.__version__}" if ran else None)
    tools = [tool for tool in (versions["compiler"], versions["emulator"]) if tool]
    assert re.search(rf"made with\s+{re.escape(', '.join(tools))}", call(*args).stdout)
    if command == "run":
        assert all(tool in page.read_text(encoding="utf-8") for tool in tools)


@pytest.mark.parametrize("args", [(), ("micropython",)])
def test_a_bare_command_shows_its_help(args: tuple[str, ...]) -> None:
    shown = call(*args)
    assert shown.exit_code == 0 and "Usage: pilotlight" in shown.stdout and shown.stderr == ""


def test_the_demo(tmp_path: Path) -> None:
    result = call_json("demo", "-o", tmp_path / "out", "--toolchain", "zig", "--emulator", "unicorn")
    assert result["match"] and result["runs"] == 360 and result["accuracy"]["different"] == 0
    assert result["accuracy"]["board"] > 0.97 and len(result["operators"]) == 7
    assert result["made"]["versions"]["compiler"].startswith("zig ")
    assert {"digits.c", "digits.h", "report.html"} <= {path.name for path in (tmp_path / "out").iterdir()}
