"""Projects of the template zephyr: the files as Zephyr's own tools read them, and the sources by the board's compiler.

Zephyr is in no registry, so its headers are stood in for. Where ZEPHYR_BASE names a Zephyr in a west workspace,
`make projects` also builds projects with west and boots them in QEMU.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from pilotlight import boards
from pilotlight.projects.boot import boot_project, project_program
from pilotlight.projects.manifest import read_manifest
from pilotlight.toolchain.find import compiler
from support import booted_projects
from support.booted_projects import ask_and_compare, built, printed
from support.command_line import call_error, call_json
from support.paths import FIXTURES
from support.programs import path_of

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""
CONFIG = ["-DCONFIG_SRAM_BASE_ADDRESS=0x20000000", "-DCONFIG_SRAM_SIZE=192"]
ARM = ["-DCONFIG_ARM", "-DCONFIG_CPU_CORTEX_M", "-DCONFIG_ARMV7_M_ARMV8_M_MAINLINE"]

needs_zephyr = pytest.mark.skipif(
    not {"ZEPHYR_BASE", "PILOTLIGHT_ALL_BOARDS"} <= set(os.environ),
    reason="ZEPHYR_BASE names no Zephyr in a west workspace, or this is not `make projects`: not run",
)


@pytest.mark.parametrize(("name", "app"), [("nucleo-wb55rg", "run"), ("riscv32-virt", "run"), ("mps2-an386", "server")])
def test_files_and_sources(name: str, app: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load(name)
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", name, "--template", "zephyr", "--app", app)

    module = yaml.safe_load((node / "model" / "zephyr" / "module.yml").read_text())
    assert module == {"name": "pilotlight-net", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}
    kconfig = (node / "model" / "zephyr" / "Kconfig").read_text()
    symbols = re.findall(r"^config (\w+)\n\tbool \".*\"\n\thelp\n(?:\t  .*\n)+\Z", kconfig, re.MULTILINE)
    assert symbols == ["PILOTLIGHT_NET"]
    settings = dict(re.findall(r"^CONFIG_(\w+)=(\S+)$", (node / "prj.conf").read_text(), re.MULTILINE))
    assert settings["PILOTLIGHT_NET"] == "y" and int(settings["MAIN_STACK_SIZE"]) >= 2048
    assert ("FPU" in settings) == ("fpu32" in board.isa)
    assert (settings.get("UART_INTERRUPT_DRIVEN"), settings.get("CONSOLE")) == (
        ("y", "n") if app == "server" else (None, None)
    )
    lines = [line for line in (node / "prj.conf").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(settings)

    cmake = (node / "model" / "zephyr" / "CMakeLists.txt").read_text()
    assert "if(CONFIG_PILOTLIGHT_NET)" in cmake
    (sources,) = re.findall(r"zephyr_library_sources\((.*)\)", cmake)
    assert all((node / "model" / "zephyr" / source).is_file() for source in sources.split())
    (own,) = re.findall(r"target_sources\(app PRIVATE (.*)\)", (node / "CMakeLists.txt").read_text())
    for source in own.split():
        flags = [*board.flags, "-std=c17", "-ffreestanding", "-Os", "-Wall", "-Wextra", "-Werror", *CONFIG]
        flags += ARM if board.startup == "cortex-m" else ["-DCONFIG_RISCV"]
        include = [f"-I{folder}" for folder in (FIXTURES / "zephyr", "src", "server", "model/src")]
        done = subprocess.run(
            [compiler(board), *flags, *include, "-fsyntax-only", source], cwd=node, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    assert call_json("build", node, "--dry-run")["commands"] == [f"west build -b {board.names.zephyr} ."]


def test_memories_are_zephyrs(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    choices = ["--template", "zephyr", "--arena-in", "psram"]
    error = call_error("new", tmp_path / "node", f"{tmp_path / 'net.py'}:net", *choices)
    assert "the template zephyr does not choose memories" in error["message"] and "omit --arena-in" in error["hint"]


def test_code_in_another_memory(tmp_path: Path) -> None:
    """Zephyr relocates the model's library into a region of its linker script, where the board's file names one."""
    (tmp_path / "net.py").write_text(NET)
    source, choices = f"{tmp_path / 'net.py'}:net", ["--template", "zephyr", "--board", "teensy41"]
    call_json("new", tmp_path / "node", source, *choices, "--code-in", "itcm")
    assert "CONFIG_CODE_DATA_RELOCATION=y\n" in (tmp_path / "node" / "prj.conf").read_text()
    cmake = (tmp_path / "node" / "model" / "zephyr" / "CMakeLists.txt").read_text()
    assert "zephyr_code_relocate(LIBRARY pilotlight_net LOCATION ITCM_TEXT)" in cmake
    error = call_error("new", tmp_path / "other", source, *choices, "--code-in", "ram")
    assert error["message"] == "the template zephyr cannot put the code of a project for teensy41 into ram"
    assert error["hint"] == "omit --code-in, or choose itcm" and not (tmp_path / "other").exists()


def west_build(node: Path, board: boards.Board, monkeypatch: pytest.MonkeyPatch) -> Path:
    """By Debian's compilers; that for RISC-V has to be told which of its libraries is the one for 32 bits."""
    gcc = Path(path_of(compiler(board)))
    if board.startup == "riscv":
        command = [gcc, *board.flags, "-print-libgcc-file-name"]
        library = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        monkeypatch.setenv("ZEPHYR_TOOLCHAIN_VARIANT", "cross-compile")
        monkeypatch.setenv("CROSS_COMPILE", str(gcc).removesuffix("gcc"))
        monkeypatch.setenv("LDFLAGS", f"-L{library.parent}")
    else:
        monkeypatch.setenv("ZEPHYR_TOOLCHAIN_VARIANT", "gnuarmemb")
        monkeypatch.setenv("GNUARMEMB_TOOLCHAIN_PATH", str(gcc.parent.parent))
    assert call_json("build", node)["ran"]
    return project_program(node, read_manifest(node))


@needs_zephyr
@pytest.mark.parametrize("name", ["mps2-an386", "riscv32-virt"])
def test_a_project_prints_what_the_bare_one_prints(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, board = tmp_path / "net.py", boards.load(name)
    source.write_text(booted_projects.NET)
    for template in ("cmake", "zephyr"):
        choices = ["--board", name, "--template", template, "--option", "interval=20"]
        call_json("new", tmp_path / template, f"{source}:net", *choices)
    expected = _outputs(printed(board, built(tmp_path / "cmake", f"-DRUNS={booted_projects.RUNS}")))
    program = west_build(tmp_path / "zephyr", board, monkeypatch)
    assert board.emulator is not None
    command = [board.emulator.program, "-M", board.emulator.machine, *board.emulator.args, "-nographic", "-kernel"]
    lines: list[str] = []
    with subprocess.Popen([*command, program], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as emulator:
        assert emulator.stdout is not None
        while sum(" cycles; stack " in line for line in lines) < booted_projects.RUNS:
            lines.append(emulator.stdout.readline())
            assert lines[-1], "it ended"
        emulator.kill()
    assert len(expected) > 10 and _outputs("".join(lines)) == expected


@needs_zephyr
@pytest.mark.parametrize(("name", "more"), [("mps2-an386", ["--code-in", "ram"]), ("riscv32-virt", [])])
def test_a_project_answers(name: str, more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, board = tmp_path / "net.py", boards.load(name)
    source.write_text(booted_projects.NET)
    choices = ["--board", name, "--template", "zephyr", "--app", "server", *more]
    call_json("new", tmp_path / "node", f"{source}:net", *choices)
    program = west_build(tmp_path / "node", board, monkeypatch)
    if more:
        names = subprocess.run(["arm-none-eabi-nm", program], capture_output=True, text=True, check=True).stdout
        (address,) = re.findall(r"^([0-9a-f]{8}) T net_run$", names, re.MULTILINE)
        assert int(address, 16) >= board.memory("ram").base
    with boot_project(tmp_path / "node") as device:
        ask_and_compare(device, source)


def _outputs(text: str) -> list[str]:
    """The lines of the outputs, without what a run cost."""
    return [line for line in text.splitlines() if re.match(r"output |  \d+: ", line)]
