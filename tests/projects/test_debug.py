"""`pilotlight debug`: gdb and its server with their exact arguments, against fakes, and QEMU's own server."""

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

from pilotlight.projects.template import all_templates
from support.command_line import call, call_error, call_json
from support.elf_files import fake_project, write_elf
from support.programs import path_of

CONNECT = "target extended-remote 127.0.0.1:"
LOOP = struct.pack("<16I", 0x2000_1000, 0x41, *[0x41] * 14) + b"\xfe\xe7"  # vectors, and `b .` at 0x40
# Like gdb it tries again until the server is there, asks for the registers, and leaves.
GDB = """
import json, re, socket, sys, time
words = sys.argv[1:]
port = next(int(w.rpartition(":")[2]) for w in words if w.startswith("target extended-remote"))
for _ in range(100):
    try:
        line = socket.create_connection(("127.0.0.1", port), 5)
        break
    except OSError:
        time.sleep(0.05)
else:
    sys.exit(1)
line.sendall(b"+$g#67")
said = b""
while not re.search(rb"#..", said):
    said += line.recv(4096)
with open({log!r}, "w", encoding="utf-8") as file:
    json.dump([words, said.decode()], file)
sys.exit({code})
"""
SERVER = """
import json, re, socket, sys
words = sys.argv[1:]
with open({log!r}, "w", encoding="utf-8") as file:
    json.dump(words, file)
if {says!r}:
    sys.stderr.write({says!r})
    sys.exit(1)
port = int(re.search(r"(?:--port |gdb_port )(\\d+)", " ".join(words))[1])
listening = socket.create_server(("127.0.0.1", port))
line, _ = listening.accept()
line.recv(100)
line.sendall(b"+$00#60")
line.recv(100)
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, text: str, code: int = 0, says: str = "") -> Path:
        log, script = tmp_path / f"{name}.json", folder / name
        text = textwrap.dedent(text).replace("{log!r}", repr(str(log))).replace("{code}", str(code))
        script.write_text(f"#!{sys.executable}\n{text.replace('{says!r}', repr(says))}", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return log

    return make


def project(folder: Path, board: str, address: int) -> Path:
    write_elf(folder / "build" / "app.elf", address, LOOP)
    return fake_project(folder, board)


def test_qemus_own_server_answers(tmp_path: Path, fakes: Callable[..., Path]) -> None:
    """Fake gdb, real QEMU: stopped at the first instruction of the program."""
    path_of("qemu-system-arm")
    log = fakes("gdb-multiarch", GDB)
    done = call("debug", project(tmp_path / "node", "mps2-an386", 0), "--json", "--", "-batch")
    said = json.loads(done.stdout)
    assert done.exit_code == 0 and said["with"] == "emulator" and said["ran"]
    words, answer = json.loads(log.read_text(encoding="utf-8"))
    assert words[:3] == ["-q", "-ex", "set confirm off"] and words[-2:] == ["-batch", "build/app.elf"]
    assert [w for w in words if w.startswith(CONNECT)] and words[words.index("tbreak main") + 2] == "continue"
    registers = bytes.fromhex(answer.partition("$")[2].partition("#")[0])
    assert struct.unpack_from("<I", registers, 4 * 15) == (0x40,)  # pc


@pytest.mark.parametrize(("tool", "expected"), [
    ("pyocd", ["gdbserver", "--target", "stm32wb55rgvx", "--port", "PORT", "--probe", "066A", "--semihosting"]),
    ("openocd", ["-f", "board/st_nucleo_wb55.cfg", "-c", "adapter serial 066A", "-c",
                 "gdb_port PORT; telnet_port disabled; tcl_port disabled", "-c", "init; arm semihosting enable"]),
])
def test_a_real_board(tool: str, expected: list[str], tmp_path: Path, fakes: Callable[..., Path]) -> None:
    gdb, server = fakes("gdb-multiarch", GDB, code=7), fakes(tool, SERVER)
    node = project(tmp_path / "node", "nucleo-wb55rg", 0x0800_0000)
    said = call_json("debug", node, "--with", tool, "--probe", "066A", exit_code=7)
    assert said["code"] == 7
    words, _ = json.loads(gdb.read_text(encoding="utf-8"))
    port = next(w for w in words if w.startswith(CONNECT)).removeprefix(CONNECT)
    lines = [word for word in words if word != "-ex"]
    assert lines[3:7] == ["load", "monitor reset halt", "tbreak main", "continue"]
    assert json.loads(server.read_text(encoding="utf-8")) == [word.replace("PORT", port) for word in expected]


def test_a_dry_run_prints_both_commands(tmp_path: Path, fakes: Callable[..., Path]) -> None:
    fakes("gdb-multiarch", GDB)
    result = call("debug", project(tmp_path / "node", "nucleo-wb55rg", 0x0800_0000), "--dry-run", "--with", "openocd")
    assert result.exit_code == 0 and result.stdout == (
        "openocd -f board/st_nucleo_wb55.cfg -c 'gdb_port 3333; telnet_port disabled; tcl_port disabled' "
        "-c 'init; arm semihosting enable'\n"
        "gdb-multiarch -q -ex 'set confirm off' -ex 'target extended-remote 127.0.0.1:3333' -ex load "
        "-ex 'monitor reset halt' -ex 'tbreak main' -ex continue build/app.elf\n"
    )


def test_errors(tmp_path: Path, fakes: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    node = project(tmp_path / "node", "nucleo-wb55rg", 0x0800_0000)
    fakes("gdb-multiarch", GDB)
    fakes("openocd", SERVER, says="Error: open failed")
    error = call_error("debug", node, "--with", "openocd")
    assert error["kind"] == "debug" and "ended with exit code 1: Error: open failed" in error["message"]
    error = call_error("debug", node, "--with", "emulator")
    assert error["message"] == "nucleo-wb55rg cannot be debugged with emulator" and "pyocd, openocd" in error["hint"]
    other = project(tmp_path / "other", "teensy41", 0x6000_0000)
    assert call_error("debug", other)["message"] == "nothing is known that debugs teensy41"
    assert call_error("debug", fake_project(tmp_path / "unbuilt", "mps2-an386"))["kind"] == "not-built"
    fakes("arm-none-eabi-gdb", GDB)
    (tmp_path / "bin" / "gdb-multiarch").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert call_json("debug", node, "--with", "openocd", "--dry-run")["commands"][1].startswith("arm-none-eabi-gdb -q ")
    monkeypatch.setenv("PATH", str(tmp_path))
    error = call_error("debug", node, "--with", "openocd")
    assert error["message"] == "gdb-multiarch was not found; it is needed to debug nucleo-wb55rg"
    assert error["kind"] == "missing-tool" and "apt-get install gdb-multiarch" in error["hint"]


def test_editors_are_told(tmp_path: Path) -> None:
    """launch.json and tasks.json are JSON with a comment on top; what is named in them is there."""
    model = tmp_path / "net.py"
    model.write_text("import torch\n\n\ndef net():\n    return torch.nn.Linear(2, 2), (torch.ones(1, 2),)\n", "utf-8")
    told = {template.name for template in all_templates() if ".vscode/launch.json" in template.shared}
    assert told >= {"cmake", "freertos", "zephyr", "mbed"}
    for template, board, kinds in (("cmake", "mps2-an521", ["cortex-debug", "cppdbg"]),
                                   ("zephyr", "nucleo-wb55rg", ["cortex-debug", "cortex-debug"]),
                                   ("cmake", "riscv32-virt", ["cppdbg"])):
        node = tmp_path / f"{template}-{board}"
        call_json("new", node, f"{model}:net", "--board", board, "--template", template)
        launch, tasks = (_commented(node / ".vscode" / name) for name in ("launch.json", "tasks.json"))
        assert [row["type"] for row in launch["configurations"]] == kinds
        labels = {task["label"]: task for task in tasks["tasks"]}
        assert all(row["preLaunchTask"] in labels for row in launch["configurations"])
        assert all(task.get("dependsOn", "build") == "build" for task in tasks["tasks"])
        programs = {row.get("executable") or row["program"].removeprefix("${workspaceFolder}/")
                    for row in launch["configurations"]}
        assert len(programs) == 1 and f'program = "{programs.pop()}"' in (node / "pilotlight.toml").read_text("utf-8")
        if template == "zephyr":
            assert labels["flash"]["command"] == "west flash"


def _commented(path: Path) -> dict[str, list[dict[str, str]]]:
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    assert first.startswith("// ")
    found: dict[str, list[dict[str, str]]] = json.loads(rest)
    return found
