"""The application `server` of projects: built by their own files, booted in QEMU, and asked over the serial line."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

import pilotlight as pl
from pilotlight import boards
from pilotlight.device.booted import emulator_arguments
from pilotlight.device.line import LineDevice
from pilotlight.errors import PilotlightError
from pilotlight.projects.boot import boot_project
from pilotlight.projects.manifest import read_manifest
from pilotlight.toolchain.find import compiler
from support.booted_projects import BOARDS, NET, ask_and_compare, built
from support.command_line import call, call_error, call_json
from support.paths import ROOT


def made(folder: Path, board: str, *more: str) -> Path:
    (folder / "net.py").write_text(NET)
    call_json("new", folder / "node", f"{folder / 'net.py'}:net", "--board", board, "--app", "server", *more)
    return folder / "node"


@pytest.mark.parametrize("name", [name for name in BOARDS if name != "mps2-an386"])  # which is below
def test_a_project_answers(name: str, tmp_path: Path) -> None:
    node = made(tmp_path, name)
    built(node)
    with boot_project(node) as device:
        ask_and_compare(device, tmp_path / "net.py")


def test_a_board_without_a_line_uses_pipes(tmp_path: Path) -> None:
    """The board of docs/adding-a-board.md."""
    text = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "adding-a-board.md").read_text(), re.DOTALL)
    assert text is not None
    (tmp_path / "lm3s6965evb.toml").write_text(text[1])
    node = made(tmp_path, str(tmp_path / "lm3s6965evb.toml"))
    built(node)
    with boot_project(node) as device:
        ask_and_compare(device, tmp_path / "net.py")


def test_over_tcp_with_logs_restarts_and_faults(tmp_path: Path) -> None:
    """What the program prints comes between the answers; a fault is told before the board starts over."""
    node, board = made(tmp_path, "mps2-an386"), boards.load("mps2-an386")
    main, words = node / "main.c", 'pl_io_open();\n    board_print("ready, ");\n    board_print("waiting\\n");\n'
    text = main.read_text().replace('#include "pl_server.h"', '#include "pl_io.h"\n#include "pl_server.h"')
    main.write_text(text.replace("pl_serve();", f"{words}    pl_serve();"))
    program = built(node, "-DWATCH_BYTES=64", "-DWINDOW_BYTES=64")
    assert board.emulator is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = ["-serial", f"tcp:127.0.0.1:{port},server=on,wait=on"]
    emulator = subprocess.Popen([board.emulator.program, *emulator_arguments(board.emulator, program), *line])
    try:
        with opened(f"tcp://127.0.0.1:{port}") as device:
            assert device.model.name == "net" and [p.name for p in device.model.inputs] == ["image", "offset"]
            ask_and_compare(device, tmp_path / "net.py", steady=False)
            assert device.log == ["ready, waiting"]
            device.restart()
            assert device.log == ["ready, waiting"] * 2
            ask_and_compare(device, tmp_path / "net.py", steady=False)
            with pytest.raises(PilotlightError) as caught:
                device.call(bytes.fromhex("00de00de"))  # an undefined instruction
        assert "fault: hard fault cause=0x00010000 pc=0x2000" in caught.value.message
        assert " hfsr=0x40000000 " in caught.value.message
    finally:
        emulator.kill()
        emulator.wait()


def opened(where: str) -> LineDevice:
    """The emulator needs a moment until its port is there."""
    deadline = time.monotonic() + 20
    while True:
        try:
            device = pl.connect(where, timeout=10)
            assert isinstance(device, LineDevice)
            return device
        except PilotlightError as error:
            if error.kind != "board-missing" or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_a_board_without_a_driver_is_named(tmp_path: Path) -> None:
    text = (Path(boards.__file__).parent / "nucleo-wb55rg.toml").read_text(encoding="utf-8")
    text = re.sub(r"\[+uart.*?(?=\[place\])", "", text, flags=re.DOTALL).replace('"nucleo-wb55rg"', '"mine"')
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    node = made(tmp_path, str(tmp_path / "mine.toml"))
    assert "no driver for the serial line of ST Nucleo-WB55RG" in (node / "README.md").read_text()
    flags = ["-std=c99", "-Wall", "-Werror", "-Iserver", "-fsyntax-only"]
    command = [compiler(boards.load("nucleo-wb55rg")), *flags, "io.c"]
    done = subprocess.run(command, cwd=node, capture_output=True, text=True)
    assert done.returncode != 0
    assert "write pl_io_read and pl_io_write for the serial line of ST Nucleo-WB55RG" in done.stderr
    io = node / "io.c"
    io.write_text("".join(line for line in io.read_text().splitlines(True) if not line.startswith("#error")))
    subprocess.run(command, cwd=node, check=True)


def test_what_it_is_is_recorded(tmp_path: Path) -> None:
    node = made(tmp_path, "nrf52840dk")
    manifest = read_manifest(node)
    assert (manifest.app, manifest.yours, manifest.program) == ("server", ("main.c", "io.c"), "build/node.elf")
    (node / "main.c").write_text("/* mine */\n")
    done = call_json("update", node)
    assert (done["written"], done["removed"], done["kept"]) == ([], [], [])
    built_by_itself = "pl_io_read" in (node / "io.c").read_text() and "#error" not in (node / "io.c").read_text()
    assert built_by_itself and read_manifest(node).app == "server"
    with pytest.raises(PilotlightError, match="is not there"):
        boot_project(node)


def test_applications_are_listed_and_checked(tmp_path: Path) -> None:
    error = call_error("new", tmp_path / "node", "no-such.py:net", "--app", "serve")
    assert error["message"] == "the template cmake has no application 'serve'" and "run, server" in error["hint"]
    shown = " ".join(call("new", "--help").output.split())
    assert "answers a computer on a serial line" in shown and "--app NAME" in shown
