"""Every example model, compiled: it matches PyTorch on the host, and on emulated boards where it fits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import pilotlight as pl
from gpt import ALPHABET, generate
from pilotlight.capture.reference import variations
from pilotlight.session import Session, run_session
from support.compiled import zoo_build, zoo_graph
from support.emulators import assert_emulators_agree
from zoo import HERE, ZOO, load

MACS = {"kws": 2_656_768, "vww": 7_489_664, "ic": 12_501_632, "ad": 264_192}
ON_BOARD = [name for name, entry in ZOO.items() if entry.on_board]
# A few networks each on boards with other cores: soft float, M7, M33, M55, RISC-V, a small real budget, Cortex-M0.
QEMU_ALONE = {"mps3-an547"}  # Unicorn does not know Helium
ELSEWHERE = [
    ("mps2-an385", "kws"), ("mps2-an385", "gpt"), ("mps2-an500", "mobilenet_v3"), ("mps2-an500", "lstm"),
    ("mps2-an505", "ad"), ("mps2-an505", "several"), ("mps3-an547", "tcn"), ("mps3-an547", "autoencoder"),
    ("riscv32-virt", "encoder"), ("riscv32-virt", "kws"), ("netduinoplus2", "kws"), ("netduinoplus2", "bilstm"),
    ("microbit", "softmax"), ("microbit", "mlp"),
]


def assert_matches(session: Session) -> None:
    for match in session.matches:
        assert match.match, f"output {match.name}: off by {match.max_abs_error:g}, allowed is {match.limit:g}"
    assert session.repeated
    assert session.figures["ram"]["static"] == 0


@pytest.mark.parametrize("name", [n for n in ZOO if n != "alexnet"])
def test_matches_on_the_host(name: str) -> None:
    assert_matches(run_session(zoo_build(name)))


@pytest.mark.parametrize("name", ON_BOARD)
def test_matches_on_a_cortex_m4(name: str) -> None:
    """The example and two variations; instructions of the operators add up to those of the run."""
    build = pl.compile(zoo_graph(name), board="mps2-an386")
    example = build.graph.truth.example
    session = run_session(build, [example, *variations(example, 3 if ZOO[name].stateful else 2)], timeout=300)
    assert_matches(session)
    assert session.profile is not None
    assert sum(row.instructions for row in session.profile.rows) == session.profile.instructions
    assert session.painted_stack is not None
    assert 0 <= session.figures["ram"]["stack"] - session.painted_stack <= 64
    assert_emulators_agree(build)


@pytest.mark.parametrize(("board", "name"), ELSEWHERE)
def test_matches_on_other_boards(board: str, name: str) -> None:
    build = pl.compile(zoo_graph(name), board=board)
    example = build.graph.truth.example
    assert_matches(run_session(build, [example, *variations(example, 2)], timeout=300, count=False))
    if board not in QEMU_ALONE:
        assert_emulators_agree(build)


@pytest.mark.parametrize("name", MACS)
def test_macs_are_the_published_ones(name: str) -> None:
    meta = zoo_build(name).module.metadata
    assert meta["macs"] == MACS[name]
    assert meta["macs_executed"] <= meta["macs"]


def test_gpt_writes_the_same_text_on_the_board() -> None:
    module, _ = load("gpt")
    with torch.no_grad():
        want = generate(module, "the ", 24)
    assert len(set(want[4:])) > 1
    with pl.compile(zoo_graph("gpt"), board="mps2-an386").open() as running:
        running.reset()
        got = generate(running, "the ", 24)
        running.reset()
        again = generate(running, "the ", 24)
    assert got == again == want
    assert set(got) <= set(ALPHABET)


ALEXNET = """
import json, re, resource, sys
sys.path.insert(0, sys.argv[1])
from zoo import load
import pilotlight as pl
module, inputs = load("alexnet")
build = pl.compile(pl.capture(module, inputs, "alexnet"))
build.info
mine = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])  # ru_maxrss counts who started it
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
from pilotlight.session import run_session
session = run_session(build, [list(inputs)])
print(json.dumps({
    "kilobytes": max(mine, children), "match": session.match,
    "sources": build.module.metadata["sources"],
}))
"""


def test_alexnet_compiles_in_two_gigabytes() -> None:
    """Neither the compiler nor gcc may need more for 244 MB of weights, which go past gcc."""
    done = subprocess.run([sys.executable, "-c", ALEXNET, str(HERE)], capture_output=True, text=True, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["match"]
    assert found["sources"] == ["alexnet.c", "alexnet_weights.S"]
    assert found["kilobytes"] < 2_000_000
