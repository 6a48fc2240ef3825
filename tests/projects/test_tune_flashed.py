"""Measured kernels confirmed in flash: built and flashed by a project, timed by the board, taken back if not faster."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.device import Device
from pilotlight.device.protocol import Marks
from pilotlight.errors import PilotlightError
from pilotlight.projects.manifest import read_manifest
from pilotlight.quantize import quantize
from pilotlight.trials import flashed
from pilotlight.trials.confirm import tuned_build
from pilotlight.trials.flashed import NOT_CONFIRMED, SLOWER_IN_FLASH, AnyBuild, ServerProject, confirm_flashed
from pilotlight.trials.search import Search
from pilotlight.tune.costs import Cost, Costs, Origin, read_costs
from pilotlight.tune.places import Place, place_key
from support.command_line import call, call_json

BOARD = "mps2-an386"
NET = (
    "import torch\nfrom torch import nn\n"
    "def net():\n    torch.manual_seed(3)\n"
    "    return nn.Sequential(nn.Conv2d(4, 6, 1), nn.ReLU()).eval(), (torch.randn(1, 4, 3, 5),)\n"
)


def search_of(*names: str) -> Search:
    """One layer whose kernels are better the later they are named."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Conv2d(4, 6, 1), nn.ReLU()).eval()
    samples = [[torch.randn(1, 4, 3, 5)] for _ in range(2)]
    build = pl.compile(quantize(pl.capture(net, samples[0], "net"), samples), board=BOARD)
    search = Search(build, Costs(Origin.of(build.board)))
    (layer,) = search.layers
    assert {*names} <= {candidate.name for candidate in layer.offered}
    for k, name in enumerate((search.default(layer), *names)):
        search.costs.add(layer.key, name, Cost(1000 - k))
    return search


class Told(ServerProject):
    """A project whose board takes what it is told for each kernel."""

    def __init__(self, search: Search, told: Callable[[str, bool], int]):
        self.search, self.told, self.seen = search, told, list[str]()

    def cycles(self, build: AnyBuild) -> int:
        (kernel,) = self.search.kernels(build)
        self.seen.append(kernel)
        return self.told(kernel, build.place is not None)


def test_what_is_faster_in_flash_stays(tmp_path: Path) -> None:
    search = search_of("dsp.conv.p6", "dsp.conv.p1")
    search.costs.write(tmp_path / "t")
    project = Told(search, lambda kernel, placed: 500 if kernel == "dsp.conv.p1" else 800)
    found = confirm_flashed(search, tmp_path / "t", project)
    assert found.faster and (found.before, found.after, found.dropped) == (800, 500, ())
    assert project.seen == [search.default(search.layers[0]), "dsp.conv.p1"] and not search.failures()
    assert not search.costs.board  # nothing in the file is about this board alone


def test_what_is_not_is_marked_and_the_next_one_has_its_turn(tmp_path: Path) -> None:
    search = search_of("dsp.conv.p4", "dsp.conv.p1")
    search.costs.write(tmp_path / "t")
    project = Told(search, lambda kernel, placed: {"dsp.conv.p1": 800, "dsp.conv.p4": 700}.get(kernel, 800))
    found = confirm_flashed(search, tmp_path / "t", project)
    assert found.faster and found.dropped == ("dsp.conv.p1",)
    again = read_costs([tmp_path / "t"], search.build.board)
    assert [(failure.kernel, failure.why) for failure in search.failures()] == [("dsp.conv.p1", SLOWER_IN_FLASH)]
    assert again.board == BOARD and again.text() == search.costs.text()


def test_the_usual_kernels_stay_after_some_rounds(tmp_path: Path) -> None:
    names = [f"dsp.conv.p{n}" for n in (1, 2, 4, 6)] + [f"dsp.conv.wide.chain.p{n}" for n in (1, 2, 4, 6)]
    search = search_of(*names)
    search.costs.write(tmp_path / "t")
    found = confirm_flashed(search, tmp_path / "t", project := Told(search, lambda kernel, placed: 800))
    usual = search.default(search.layers[0])
    assert not found.faster and len(project.seen) == 1 + flashed.ROUNDS and len(found.dropped) == flashed.ROUNDS
    assert {failure.why for failure in search.failures()} == {SLOWER_IN_FLASH, NOT_CONFIRMED}
    assert search.kernels(tuned_build(search.build, tmp_path / "t")) == [usual]


def test_memories_are_taken_back_before_kernels(tmp_path: Path) -> None:
    search = search_of("dsp.conv.p1")
    build = search.build
    search.costs.places[place_key(build.board, "net", build.lowered_graphs)] = Place("ram", "", (900, 800))
    search.costs.write(tmp_path / "t")
    found = confirm_flashed(search, tmp_path / "t", Told(search, lambda kernel, placed: 900 if placed else
                                                         700 if kernel == "dsp.conv.p1" else 800))
    assert found.faster and found.dropped == ("weights in ram",) and not search.failures()
    assert not read_costs([tmp_path / "t"], build.board).places


class NoisyProject(ServerProject):
    """The built project in QEMU, whose counter goes by the bytes of weights, with noise: larger is slower."""

    def open(self, build: AnyBuild) -> Device:
        device, noise = super().open(build), random.Random(1)
        size = int(build.module.metadata["weights_bytes"])

        def marks() -> Marks:
            return Marks(None, None, round(size * noise.choice([1.0, 1.0, 1.001, 3.0])))

        setattr(device, "marks", marks)  # noqa: B010
        return device


def test_a_project_is_built_flashed_and_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").write_text(NET)
    np.savez(tmp_path / "data.npz", x=torch.randn(4, 4, 3, 5).numpy())
    model = [f"{tmp_path}/net.py:net", "--quantize", "int8", "--calibrate", f"{tmp_path}/data.npz", "--board", BOARD]
    node = tmp_path / "node"
    call_json("new", str(node), *model, "--app", "server")
    names = [*read_manifest(node).files, "pilotlight.toml"]
    before = {name: (node / name).read_bytes() for name in names}
    monkeypatch.setattr(flashed, "ServerProject", NoisyProject)
    search = search_of("dsp.conv.wide.chain.p15")  # whose weights take more bytes
    file = tmp_path / "t"
    search.costs.write(file)
    tune = ["tune", *model, "--out", str(file), "--trials", "1", "--jobs", "1", "--emulator", "unicorn"]
    ended = call(*tune, "--confirm", str(node))
    assert ended.exit_code == 0, ended.stderr
    said = " ".join(ended.stdout.split())
    assert "and nothing that was faster; not faster there: dsp.conv.wide.chain.p15" in said
    assert f'"dsp.conv.wide.chain.p15" = "{SLOWER_IN_FLASH}"' in file.read_text()
    assert f'board = "{BOARD}"' in file.read_text()
    assert {name: (node / name).read_bytes() for name in names} == before


def test_a_project_of_something_else_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    call_json("new", str(tmp_path / "node"), f"{tmp_path}/net.py:net", "--board", BOARD, "--app", "server")
    call_json("new", str(tmp_path / "plain"), f"{tmp_path}/net.py:net", "--board", BOARD)
    build = pl.compile(pl.load(f"{tmp_path}/net.py:net"), board="mps2-an500")
    with pytest.raises(PilotlightError, match="is a project for mps2-an386, and the model is tuned for mps2-an500"):
        ServerProject(tmp_path / "node", build)
    other = pl.compile(pl.load(f"{tmp_path}/net.py:net"), board=BOARD, name="other")
    with pytest.raises(PilotlightError, match="is a project of the model net, not of other"):
        ServerProject(tmp_path / "node", other)
    with pytest.raises(PilotlightError, match="which answers nobody"):
        ServerProject(tmp_path / "plain", other)
    with pytest.raises(PilotlightError, match="is not a project"):
        ServerProject(tmp_path, other)
