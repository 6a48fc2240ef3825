"""`pilotlight flash`: every tool with its exact arguments, against fakes of it; errors of one sentence."""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from pilotlight import boards, system
from pilotlight.projects.template import all_templates
from support.command_line import call, call_error, call_json
from support.elf_files import RISCV, fake_project, write_elf

STM32, PICO = 0x0800_0000, 0x1000_0000


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a fake of a program first on PATH: it writes its arguments and where it runs to a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, says: str = "", code: int = 0) -> Path:
        log = tmp_path / f"{name}.json"
        script = folder / name
        script.write_text(textwrap.dedent(f"""\
            #!{sys.executable}
            import json, os, sys
            with open({str(log)!r}, "w", encoding="utf-8") as file:
                json.dump([sys.argv[1:], os.getcwd()], file)
            print({says!r})
            sys.exit({code})
            """), encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return log

    return make


def called(log: Path, folder: Path) -> list[str]:
    """The arguments of a fake; it must have been run in the project."""
    arguments, where = json.loads(log.read_text(encoding="utf-8"))
    assert Path(where) == folder.resolve()
    return list(arguments)


def nucleo(folder: Path) -> Path:
    write_elf(folder / "build" / "app.elf", STM32, b"abcd" * 100)
    return fake_project(folder, "nucleo-wb55rg")


# ---- OpenOCD ----


def test_openocd_gets_the_boards_files(tmp_path: Path, tools: Callable[..., Path]) -> None:
    log, project = tools("openocd"), nucleo(tmp_path / "my node")
    said = call_json("flash", project, "--with", "openocd", "--probe", "0669FF")
    expected = [
        "-f", "board/st_nucleo_wb55.cfg", "-c", "adapter serial 0669FF", "-c",
        "program {build/app.elf} verify reset exit",
    ]
    assert called(log, project) == expected and said["ran"]
    assert said["commands"] == [
        "openocd -f board/st_nucleo_wb55.cfg -c 'adapter serial 0669FF' -c 'program {build/app.elf} verify reset exit'"
    ]


def test_a_dry_run_prints_the_command_and_runs_nothing(tmp_path: Path, tools: Callable[..., Path]) -> None:
    log, project = tools("openocd"), nucleo(tmp_path / "node")
    result = call("flash", project, "--dry-run", "--with", "openocd")
    assert result.exit_code == 0 and not log.exists()
    assert result.stdout == "openocd -f board/st_nucleo_wb55.cfg -c 'program {build/app.elf} verify reset exit'\n"


@pytest.mark.parametrize(("says", "kind", "text"), [
    ("Error: open failed", "board-missing", "OpenOCD finds no debug probe at all, so nucleo-wb55rg cannot be reached"),
    ("Error: checksum mismatch\nbye", "flash", "nucleo-wb55rg with exit code 3: Error: checksum mismatch"),
])
def test_openocd_fails(says: str, kind: str, text: str, tmp_path: Path, tools: Callable[..., Path]) -> None:
    tools("openocd", says, 3)
    error = call_error("flash", nucleo(tmp_path / "node"), "--with", "openocd")
    assert error["kind"] == kind and text in error["message"] and "\n" not in error["message"]


# ---- pyOCD ----

PYOCD = {
    "core/exceptions.py": """
        class Error(Exception): pass
        class TargetSupportError(Error): pass
        """,
    "core/helpers.py": """
        import json, os
        from . import exceptions
        LOG = os.environ["FAKE_PYOCD"]
        def say(*words):
            with open(LOG, "a", encoding="utf-8") as file:
                file.write(json.dumps(words) + "\\n")
        class Info:
            name, target = "Nucleo board", os.environ.get("FAKE_TARGET", "stm32wb55rgvx")
        class Probe:
            description, associated_board_info = "STLINK-V2.1", Info
            def __init__(self, unique_id): self.unique_id = unique_id
        class Target:
            def reset(self): say("reset")
        class Session:
            target = Target()
            def __enter__(self):
                if os.environ.get("FAKE_FAILS") == "target": raise exceptions.TargetSupportError("no such target")
                if os.environ.get("FAKE_FAILS") == "open": raise exceptions.Error("No ACK received\\nmore")
                return self
            def __exit__(self, *args): say("closed")
        class ConnectHelper:
            @staticmethod
            def get_all_connected_probes(blocking=True, unique_id=None, print_wait_message=True):
                assert blocking is False
                return [Probe(i) for i in os.environ["FAKE_PROBES"].split() if unique_id is None or unique_id in i]
            @staticmethod
            def session_with_chosen_probe(blocking=True, return_first=False, unique_id=None, options=None):
                assert blocking is False
                say("session", unique_id, options)
                return Session()
        """,
    "flash/file_programmer.py": """
        from ..core.helpers import say
        class FileProgrammer:
            def __init__(self, session): pass
            def program(self, file): say("program", file)
        """,
}


@pytest.fixture
def fake_pyocd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "fakes" / "pyocd"
    for name, text in PYOCD.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(textwrap.dedent(text), encoding="utf-8")
    for folder in (top, top / "core", top / "flash"):
        (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(top.parent))
    monkeypatch.setenv("FAKE_PYOCD", str(tmp_path / "pyocd.txt"))
    monkeypatch.setenv("FAKE_PROBES", "066A")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyocd"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path / "pyocd.txt"


@pytest.fixture(autouse=True)
def forget_fakes() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "pyocd"]:
        del sys.modules[name]


def test_pyocd_programs_and_resets(tmp_path: Path, fake_pyocd: Path) -> None:
    project = nucleo(tmp_path / "node")
    said = call_json("flash", project)
    assert said["with"] == "pyocd"
    assert said["commands"] == ["pyocd flash --target stm32wb55rgvx build/app.elf"]
    assert [json.loads(line) for line in fake_pyocd.read_text(encoding="utf-8").splitlines()] == [
        ["session", "066A", {"target_override": "stm32wb55rgvx"}], ["program", str(project / "build" / "app.elf")],
        ["reset"], ["closed"],
    ]


@pytest.mark.parametrize(("setting", "args", "kind", "text"), [
    ({"FAKE_PROBES": ""}, (), "board-missing", "pyOCD finds no debug probe at all"),
    ({"FAKE_PROBES": "066A"}, ("--probe", "7"), "board-missing", "pyOCD finds no debug probe with the id 7"),
    ({"FAKE_PROBES": "066A 066B"}, (), "usage", "may be on any of 2 debug probes: 066A (STLINK-V2.1), 066B"),
    ({"FAKE_TARGET": "STM32F746ZGTx"}, (), "wrong-board",
     "the probe 066A is on Nucleo board, whose target is stm32f746zgtx; expected nucleo-wb55rg with stm32wb55rgvx"),
    ({"FAKE_FAILS": "target"}, (), "missing-tool", "pyOCD does not know the target stm32wb55rgvx"),
    ({"FAKE_FAILS": "open"}, (), "flash", "pyOCD failed to flash nucleo-wb55rg: No ACK received"),
])
def test_pyocd_fails(
    setting: dict[str, str], args: tuple[str, ...], kind: str, text: str, tmp_path: Path, fake_pyocd: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    error = call_error("flash", nucleo(tmp_path / "node"), *args)
    assert error["kind"] == kind and text in error["message"] and error["hint"] and "\n" not in error["message"]


def test_pyocd_is_not_installed(tmp_path: Path) -> None:
    error = call_error("flash", nucleo(tmp_path / "node"), "--with", "pyocd")
    assert error["message"] == "Python's package pyocd was not found; it is needed to flash nucleo-wb55rg"
    assert "pip install pyocd" in error["hint"]


# ---- esptool ----

ARGS = {
    "write_flash_args": ["--flash_mode", "dio", "--flash_size", "4MB", "--flash_freq", "80m"],
    "flash_files": {"0x10000": "app.bin", "0x0": "bootloader/bootloader.bin", "0x8000": "partition_table/table.bin"},
    "extra_esptool_args": {"after": "hard_reset", "before": "default_reset", "stub": True, "chip": "esp32c3"},
}


def esp(folder: Path) -> Path:
    write_elf(folder / "build" / "app.elf", 0x4200_0000, b"abcd", RISCV)
    (folder / "build" / "flasher_args.json").write_text(json.dumps(ARGS), encoding="utf-8")
    return fake_project(folder, "esp32-c3", "espidf")


def test_esptool_writes_what_the_build_lists(tmp_path: Path, tools: Callable[..., Path]) -> None:
    log, project = tools("esptool"), esp(tmp_path / "node")
    assert call_json("flash", project, "--port", "/dev/ttyUSB7")["with"] == "esptool"
    assert called(log, project) == [
        "--chip", "esp32c3", "--port", "/dev/ttyUSB7", "--baud", "460800", "--before", "default_reset", "--after",
        "hard_reset", "write_flash", *ARGS["write_flash_args"], "0x0", "build/bootloader/bootloader.bin",
        "0x8000", "build/partition_table/table.bin", "0x10000", "build/app.bin",
    ]


@pytest.mark.parametrize(("says", "kind", "text"), [
    ("A fatal error occurred: Could not open /dev/ttyUSB7", "board-missing", "there is no board on /dev/ttyUSB7"),
    ("A fatal error occurred: This chip is ESP32-S3 not ESP32-C3. Wrong chip argument?", "wrong-board",
     "the board on /dev/ttyUSB7 is not esp32-c3: A fatal error occurred: This chip is ESP32-S3"),
    ("A fatal error occurred: Failed to connect", "flash", "Failed to connect"),
])
def test_esptool_fails(says: str, kind: str, text: str, tmp_path: Path, tools: Callable[..., Path]) -> None:
    tools("esptool", says, 2)
    error = call_error("flash", esp(tmp_path / "node"), "--port", "/dev/ttyUSB7")
    assert error["kind"] == kind and text in error["message"]


def test_a_board_that_is_not_plugged_in(tmp_path: Path, tools: Callable[..., Path]) -> None:
    tools("esptool")
    error = call_error("flash", esp(tmp_path / "node"))
    assert error["kind"] == "board-missing" and "esp32-c3 is not plugged in" in error["message"]


# ---- UF2 ----


@pytest.fixture
def drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Makes a drive with that name and board id."""
    mounts = tmp_path / "mounts"
    mounts.write_text("sysfs /sys sysfs rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr(system, "_MOUNTS", mounts)
    monkeypatch.setattr(system, "_PLACES", ())

    def make(name: str, board: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "INFO_UF2.TXT").write_text(f"UF2 Bootloader v3.0\nModel: X\nBoard-ID: {board}\n", encoding="utf-8")
        with mounts.open("a", encoding="utf-8") as file:
            file.write(f"/dev/sdb1 {str(folder).replace(' ', chr(92) + '040')} vfat rw 0 0\n")
        return folder

    return make


def pico(folder: Path) -> Path:
    write_elf(folder / "build" / "app.elf", PICO + 0x100, bytes(range(256)) + b"end")
    return fake_project(folder, "pico", "mbed")


def test_uf2_is_copied_with_addresses_and_family(tmp_path: Path, drives: Callable[[str, str], Path]) -> None:
    volume, project = drives("MY RPI", "RPI-RP2"), pico(tmp_path / "node")
    call_json("flash", project, "--with", "uf2")
    data = (volume / "app.uf2").read_bytes()
    assert len(data) == 2 * 512
    for number in range(2):
        words = struct.unpack_from("<8I", data, 512 * number)
        assert words == (0x0A324655, 0x9E5D5157, 0x2000, PICO + 0x100 * (number + 1), 256, number, 2, 0xE48BFF56)
        assert struct.unpack_from("<I", data, 512 * number + 508) == (0x0AB16F30,)
    assert data[32:288] == bytes(range(256)) and data[544:548] == b"end\0"


def test_what_can_be_wrong_with_a_drive(tmp_path: Path, drives: Callable[[str, str], Path]) -> None:
    project = pico(tmp_path / "node")

    def message(*args: str) -> str:
        error = call_error("flash", project, "--with", "uf2", *args)
        assert error["hint"]
        return f"{error['kind']}: {error['message']}"

    assert message().startswith("board-missing: pico is not there as a drive")
    assert message("--port", str(tmp_path)).startswith(f"board-missing: {tmp_path} is not the drive of a board")
    other = drives("other", "RP2350")
    assert message() == f"wrong-board: the board at {other} is RP2350; expected RPI-RP2, pico"
    assert message("--port", str(other)).startswith("wrong-board: ")
    first, second = drives("first", "RPI-RP2"), drives("second", "RPI-RP2")
    assert message() == f"usage: pico may be any of {first}, {second}"
    (first / "app.uf2").mkdir()
    assert message("--port", str(first)) == (
        f"flash: {project / 'build' / 'app.uf2'} cannot be copied to {first}: Is a directory"
    )


# ---- the environment's own tool, and the choice of one ----


def test_west_flashes_a_zephyr_project(tmp_path: Path, tools: Callable[..., Path]) -> None:
    log = tools("west")
    project = fake_project(tmp_path / "node", "nucleo-wb55rg", "zephyr", "build/zephyr/zephyr.elf",
                           {"flash": [["west", "flash"]]})
    write_elf(project / "build" / "zephyr" / "zephyr.elf", STM32, b"abcd")
    assert call_json("flash", project, "--probe", "066A")["with"] == "west"
    assert called(log, project) == ["flash", "--dev-id", "066A"]
    assert "west takes no choice by --port" in call_error("flash", project, "--port", "COM3")["message"]
    tools("west", "FATAL ERROR: no probe", 1)
    assert "with exit code 1: FATAL ERROR: no probe" in call_error("flash", project)["message"]


def test_templates_say_how_they_flash() -> None:
    own = {template.name: template.commands["flash"][0][0] for template in all_templates()
           if "flash" in template.commands}
    assert own.items() >= {"zephyr": "west", "arduino": "arduino-cli", "platformio": "pio"}.items()
    for template in all_templates():
        if "flash" not in template.commands and "build" in template.commands:
            assert template.program is not None, template.name


def test_boards_with_a_drive_have_a_family() -> None:
    assert all((b.flashing.uf2 is None) == (b.flashing.uf2_family is None) for b in boards.all_boards())


def test_errors_before_any_tool_is_run(tmp_path: Path, tools: Callable[..., Path]) -> None:
    project = fake_project(tmp_path / "node", "nucleo-wb55rg")
    error = call_error("flash", project, "--dry-run")
    assert error["kind"] == "not-built" and error["hint"] == f"`pilotlight build {project}` makes it"
    log = tools("openocd")
    for address, machine, reason in ((STM32, RISCV, "it is for another core, RISCV"),
                                     (PICO, 40, "nothing of it lies in the board's flash: it starts at 0x10000000")):
        write_elf(project / "build" / "app.elf", address, b"abcd", machine)
        error = call_error("flash", project, "--with", "openocd")
        assert error["kind"] == "wrong-board"
        assert error["message"].endswith(f"is not a program for nucleo-wb55rg: {reason}")
    (project / "build" / "app.elf").write_bytes(b"no program")
    assert call_error("flash", project, "--with", "openocd")["kind"] == "broken-file"
    assert not log.exists()
    error = call_error("flash", project, "--with", "uf2")
    assert "nucleo-wb55rg cannot be flashed with uf2 in this project" in error["message"]
    assert error["hint"] == "there is: pyocd, openocd"
    drop_in = fake_project(tmp_path / "cube", "nucleo-wb55rg", "stm32cube", None)
    assert call_error("flash", drop_in)["kind"] == "usage"


def test_a_tool_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = nucleo(tmp_path / "node")
    monkeypatch.setenv("PATH", str(tmp_path))
    error = call_error("flash", project, "--with", "openocd")
    assert error["message"] == "openocd was not found; it is needed to flash nucleo-wb55rg"
    assert error["kind"] == "missing-tool" and "apt-get install openocd" in error["hint"]
    own = fake_project(tmp_path / "own", "pico", "arduino", None, {"flash": [["arduino-cli", "upload"]]})
    assert call_error("flash", own)["kind"] == "missing-tool"
