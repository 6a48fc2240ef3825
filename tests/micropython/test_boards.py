"""Firmware for boards that are not emulated: how it is built, and what is checked of it. `make micropython-boards`
really builds it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.device.flashing.uf2_file import read_uf2
from pilotlight.errors import PilotlightError
from pilotlight.micropython import ports, rp2
from pilotlight.micropython.firmware import report_tables, write_firmware
from support.command_line import call_error

# The lines that the build looks for in MicroPython's port.
PORT = {
    "CMakeLists.txt": "set(MICROPY_SSL_MBEDTLS ON)\nlist(APPEND GIT_SUBMODULES lib/mbedtls)\n"
    "    mbedtls/mbedtls_port.c\ntarget_link_libraries(${MICROPY_TARGET} micropy_lib_mbedtls)\n"
    "-Wl,--defsym=__micropy_extra_stack__=4096\n",
    "memmap_mp_rp2040.ld": "__GcHeapEnd = ORIGIN(RAM) + LENGTH(RAM);\n"
    "__StackBottom = __StackTop - SIZEOF(.stack_dummy);\n",
    "mpconfigport.h": "#define MICROPY_PY_HASHLIB_SHA1                 (1)\n"
    "#define MICROPY_PY_CRYPTOLIB                    (1)\n#define MICROPY_SSL_MBEDTLS                     (1)\n"
    "#define MICROPY_PY_SSL                  (1)\n",
    "boards/RPI_PICO2/mpconfigboard.h": "// a board\n",
}
CMAKE = """#!/bin/sh
echo "$MICROPY_MPYCROSS $*" >> "$RECORD"
for last; do :; done
case "$1" in --build) mkdir -p "$2"; echo made > "$2/firmware.elf";; esac
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of MicroPython, with what the port needs, but without Mbed TLS and micropython-lib."""
    for name, text in PORT.items():
        path = tmp_path / "source" / "ports" / "rp2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in ("lib/pico-sdk/sdk.cmake", "lib/tinyusb/usb.c", "lib/uzlib/uzlib.h", "py/mkrules.mk"):
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True)
        path.write_text("there\n", encoding="utf-8")
    return tmp_path / "source"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a CMake was asked for that does nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cmake").write_text(CMAKE, encoding="utf-8")
    (tmp_path / "bin" / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    return tmp_path / "record"


def test_a_build_by_cmake(source, record, tmp_path):
    port = ports.port("pico2", runnable=False)
    module = tmp_path / "module"
    module.mkdir()
    (module / "manifest.py").write_text("freeze('python')\n", encoding="utf-8")
    for given in (module, None):
        made = rp2.make_rp2(port, source, tmp_path / "work", given, tmp_path / "mpy-cross")
        assert made.read_text(encoding="utf-8") == "made\n"
    configured, built, without, _ = record.read_text(encoding="utf-8").splitlines()
    tree = tmp_path / "work" / "tree"
    assert configured.startswith(f"{tmp_path / 'mpy-cross'} -S {tree / 'ports' / 'rp2'} -B {tmp_path / 'work'}/build")
    for words in ("-DMICROPY_BOARD=RPI_PICO2", f"-DMICROPY_BOARD_DIR={tree / 'ports' / 'rp2' / 'boards' / 'RPI_PICO2'}",
                  f"-DUSER_C_MODULES={module / 'micropython.cmake'}", "-DPICO_NO_PICOTOOL=1"):
        assert words in configured.split()
    assert f"--build {tmp_path / 'work' / 'build'}" in built and "USER_C_MODULES" not in without
    assert (tree / "lib" / "tinyusb").resolve() == (source / "lib" / "tinyusb").resolve()
    settings = (tree / "ports" / "rp2" / "mpconfigport.h").read_text(encoding="utf-8")
    assert settings.count("(0)") == 4 and "(1)" not in settings
    cmake = (tree / "ports" / "rp2" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert cmake.split() == ["set(MICROPY_SSL_MBEDTLS", "OFF)", "-Wl,--defsym=__micropy_extra_stack__=24576"]
    assert (source / "ports" / "rp2" / "CMakeLists.txt").read_text(encoding="utf-8") == PORT["CMakeLists.txt"]


def test_submodules_that_are_there_are_used(source, record, tmp_path):
    """With them, nothing of the port is switched off, and its own modules are frozen."""
    for name in ("lib/mbedtls/README.md", "lib/micropython-lib/README.md"):
        (source / name).parent.mkdir()
        (source / name).write_text("there\n", encoding="utf-8")
    rp2.make_rp2(ports.port("pico2", runnable=False), source, tmp_path / "work", None, tmp_path / "mpy-cross")
    settings = (tmp_path / "work" / "tree" / "ports" / "rp2" / "mpconfigport.h").read_text(encoding="utf-8")
    assert settings == PORT["mpconfigport.h"]
    assert "boards/manifest.py" in (tmp_path / "work" / "manifest.py").read_text(encoding="utf-8")


def test_another_version_of_the_port(source, record, tmp_path):
    (source / "ports" / "rp2" / "memmap_mp_rp2040.ld").write_text("changed\n", encoding="utf-8")
    with pytest.raises(PilotlightError, match="rp2 port is not known: there is no '__GcHeapEnd"):
        rp2.make_rp2(ports.port("pico", runnable=False), source, tmp_path / "work", None, tmp_path / "mpy-cross")


def test_a_missing_tool(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PilotlightError, match=r"cmake was not found.* to build MicroPython for pico2") as error:
        rp2.make_rp2(ports.port("pico2", runnable=False), source, tmp_path / "work", None, tmp_path / "mpy-cross")
    assert error.value.hint is not None and "cmake" in error.value.hint


def test_what_cannot_be_run_says_why():
    for board in ports.built_names():
        error = call_error("micropython", "run", __file__, "--board", board)
        assert error["kind"] == "not-runnable" and "cannot be run here: no emulator has this board" in error["message"]
        assert f"build --board {board}" in error["hint"]
    assert {"pico", "pico2"} <= set(ports.built_names())
    error = call_error("micropython", "build", "--board", "pico2", "--heap", "64K", "-o", "nowhere")
    assert error["kind"] == "usage" and "all the memory that is left" in error["message"]
    error = call_error("micropython", "build", "--board", "esp32", "-o", "nowhere")
    assert error["kind"] == "not-runnable" and "pico2" in error["hint"]


def _program(folder: Path, address: int) -> Path:
    """A program of a few bytes at an address."""
    (folder / "start.s").write_text(".globl _start\n_start: .rept 200\n.word 0x12345678\n.endr\n", encoding="utf-8")
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m33", "-nostdlib", f"-Wl,-Ttext={address:#x},--build-id=none",
               "start.s", "-o", "firmware.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "firmware.elf"


def test_firmware_as_uf2(tmp_path):
    port, flash = ports.port("pico2", runnable=False), boards.load("pico2").memory("flash")
    report = write_firmware(port, _program(tmp_path, flash.base), tmp_path / "out")
    assert report["files"] == ["firmware.elf", "firmware.bin", "firmware.hex", "firmware.uf2", "report.json"]
    assert report["uf2"] == {"family": 0xE48BFF59, "address": 0x10000000, "bytes": 1024, "flash": 4 << 20}
    image = read_uf2((tmp_path / "out" / "firmware.uf2").read_bytes())
    assert image.bytes_at(flash.base, 800) == (tmp_path / "out" / "firmware.bin").read_bytes()
    assert any("built, not run" in str(line) for line in report_tables(report, False))
    with pytest.raises(PilotlightError, match="flash at 0x10000000 to 0x10400000"):
        write_firmware(port, _program(tmp_path, flash.base + 0x1000), tmp_path / "out")
    with pytest.raises(PilotlightError, match="nothing of it lies in the board's flash"):
        write_firmware(port, _program(tmp_path, 0x08000000), tmp_path / "out")
