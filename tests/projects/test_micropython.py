"""Projects of the template micropython: built into MicroPython by their own Makefile, and used at its prompt.

`make projects` builds them for this computer and for RV32 as well.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight import boards
from pilotlight.capture import load_model
from pilotlight.graph.ports import from_memory, to_memory
from pilotlight.measure.compare import Truth
from pilotlight.micropython import cache
from pilotlight.micropython.session import BoardSession
from pilotlight.micropython.source import micropython_source
from support.booted_projects import NET
from support.command_line import call_error, call_json
from support.programs import path_of

ALL = bool(os.environ.get("PILOTLIGHT_ALL_BOARDS"))
UNIX = "unix"
FLAGS = {  # for the source as Debian has it, and its compilers
    "mps2-an385": "FROZEN_MANIFEST=",
    "riscv32-virt": 'FROZEN_MANIFEST= RV32_ARCH="rv32imac -misa-spec=2.2"',
    UNIX: "FROZEN_MANIFEST= MICROPY_PY_SSL=0 MICROPY_SSL_MBEDTLS=0 MICROPY_PY_BTREE=0 MICROPY_PY_FFI=0",
}
SCRIPT = """
import net, gc
rows = {rows!r}
print([[bytes(x) for x in net.run(*row)] for row in rows])
net.reset()
print([[bytes(x) for x in net.run(*row)] for row in rows[:1]])
print([bytes(x) for x in net.example()])
print([net.inputs, net.outputs, net.ram > 0, net.weights > 0, net.stack > 0])
kept = net.run(*rows[0])
before = [bytes(x) for x in kept]
for i in range(20):
    net.run(*rows[1])
gc.collect()
print([before == [bytes(x) for x in kept]])
import array
for given in ([array.array("f", [0] * 40), array.array("f", [0] * 10)], [b"123", b""], [rows[0][0]]):
    try:
        net.run(*given)
    except (TypeError, ValueError) as error:
        print([str(error)])
"""


def made(folder: Path, name: str) -> Path:
    """A project in the cache, built there: MicroPython itself is compiled once."""
    node, board = folder / "node", "pico" if name == UNIX else name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.py").write_text(NET)
    call_json("new", node, f"{folder / 'net.py'}:net", "--board", board, "--template", "micropython", "--force")
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    environment["MICROPY_DIR"] = str(micropython_source())
    command = [path_of("make"), "-j2", "unix" if name == UNIX else "board", f"FLAGS={FLAGS[name]}"]
    done = subprocess.run(command, cwd=node, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return node


def printed(name: str, node: Path, scripts: list[str]) -> list[str]:
    """What each script prints, one after the other in one session on a board."""
    if name == UNIX:
        program = node / "build-unix" / "micropython"
        done = [subprocess.run([program, "-c", text], capture_output=True, text=True, timeout=60) for text in scripts]
        assert [run.stderr for run in done] == ["", ""]
        return [run.stdout for run in done]
    session = BoardSession(boards.load(name), node / "build" / "firmware.elf")
    texts = []
    try:
        for text in scripts:
            said: list[bytes] = []
            assert session.execute(text, said.append, said.append), b"".join(said)
            texts.append(b"".join(said).decode())
    finally:
        session.close()
    return texts


def check(lines: list[str], rows: list[tuple[torch.Tensor, ...]], source: Path) -> None:
    """What the script printed, against the module run eagerly; the state lasts from run to run."""
    graph = load_model(f"{source}:net", (), None)
    ports = pl.lower(graph)

    def tensors(run: list[bytes]) -> list[torch.Tensor]:
        arrays = [np.frombuffer(data, port.value.dtype.numpy).reshape(port.value.shape)
                  for port, data in zip(ports.outputs, run, strict=True)]
        return [from_memory(port, x) for port, x in zip(ports.outputs, arrays, strict=True)]

    runs, again, example, about, kept, *errors = [ast.literal_eval(line) for line in lines]
    truth = Truth(graph.truth, rows)
    found = [tensors(run) for run in runs]
    assert [match.name for match in truth.compare(found, ["scores", "best", "sure"]) if not match.match] == []
    assert again == runs[:1] and kept == [True]
    assert example == [to_memory(port, x).tobytes()
                       for port, x in zip(ports.inputs, graph.truth.example, strict=True)]
    assert about == [
        (("image", (1, 4, 5, 2), "f"), ("offset", (5,), "q")),
        (("scores", (1, 5), "f"), ("best", (1,), "q"), ("sure", (1, 5), "B")), True, True, True,
    ]
    assert [text for (text,) in errors] == [
        "offset: expected elements of type 'q', got 'f'", "image: expected 160 bytes, got 3",
        "function takes 2 positional arguments but 1 were given",
    ]


@pytest.fixture
def rows() -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(5)
    return [(torch.randn(1, 2, 4, 5), torch.randint(-5, 5, (5,))) for _ in range(3)]


def script(rows: list[tuple[torch.Tensor, ...]], source: Path) -> str:
    ports = pl.lower(load_model(f"{source}:net", (), None)).inputs
    return SCRIPT.format(rows=[[to_memory(port, x).tobytes() for port, x in zip(ports, row, strict=True)]
                               for row in rows])


@pytest.mark.parametrize("name", FLAGS if ALL else ["mps2-an385"])
def test_the_model_is_a_module_of_the_firmware(name: str, rows: list[tuple[torch.Tensor, ...]]) -> None:
    with cache.lock(f"work-project-{name}"):
        folder = cache.folder() / f"work-project-{name}"
        node = made(folder, name)
        main = (node / "main.py").read_text().replace("RUNS = 0", "RUNS = 2")
        (read,) = re.findall(r"return (net\.example)\(\)", (node / "inputs.py").read_text())
        main = main.replace("import inputs\n", f"class inputs:\n    read = {read}\n")
        told, shown = printed(name, node, [script(rows, folder / "net.py"), main])
        check(told.splitlines(), rows, folder / "net.py")
        assert shown.count("output scores, 5 values, crc32 ") == 2 and shown.count(" bytes of the heap left") == 2


def test_files(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node = tmp_path / "node"
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", "pico", "--template", "micropython")
    rule = (node / "Makefile").read_text()
    assert "PORT = rp2\nBOARD = RPI_PICO\nMODULES = $(CURDIR)/micropython.cmake\n" in rule
    assert {path.suffix for path in (node / "model").iterdir()} == {".c", ".h", ".mk", ".cmake"}
    for name in ("main.py", "inputs.py"):
        ast.parse((node / name).read_text())
    assert call_json("build", node, "--dry-run")["commands"] == ["make"]
    assert call_json("update", node)["written"] == []
    environment = {key: value for key, value in os.environ.items() if key != "MICROPY_DIR"}
    done = subprocess.run([path_of("make")], cwd=node, capture_output=True, text=True, env=environment)
    assert done.returncode != 0 and "MICROPY_DIR is not set: let it name the folder" in done.stderr
    error = call_error("new", "other", "no-such.py:net", "--template", "micropython", "--board", "mps3-an547")
    assert error["message"] == "the template micropython does not take mps3-an547: its file has no names.micropython"
