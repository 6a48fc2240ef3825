"""Memories as a choice of the tuner: compared by waits, confirmed by a run, heeded for one model on one board."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.options import Options
from pilotlight.projects.manifest import read_manifest
from pilotlight.quantize import quantize
from pilotlight.trials.confirm import Whole, place, run_whole, tuned_build
from pilotlight.trials.placement import compare_placements
from pilotlight.trials.search import Search
from pilotlight.tune.costs import Costs, Origin, read_costs
from pilotlight.tune.places import Place, other_boards, place_key
from support.command_line import call
from support.paths import ROOT

BOARD = "nucleo-f746zg"


def graph() -> pl.Graph:
    torch.manual_seed(3)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 25, 40)).eval()
    samples = [[torch.randn(1, 3, 7, 7)] for _ in range(2)]
    return quantize(pl.capture(net, samples[0], "net"), samples)


@pytest.fixture(scope="module")
def usual() -> Whole:
    return run_whole(pl.compile(graph(), board=BOARD, emulator="unicorn"))


def test_the_fewest_cycles_with_waits_win_and_are_confirmed_by_a_run(usual: Whole, tmp_path: Path) -> None:
    search = Search(usual.build, Costs(Origin.of(usual.build.board)))
    file = tmp_path / "net.tuned"
    placed, found = place(search, file, usual)
    assert found.best is not None and found.best.weights == "ram"
    by_place = {(one.place.weights, one.place.code): one for one in found.tried}
    assert set(by_place) >= {("", ""), ("ram", ""), ("", "itcm"), ("ram", "itcm")}
    assert {code for _, code in by_place} == {"", "itcm"}  # no code in the RAM of the data
    assert by_place["", ""].cycles == usual.with_waits and by_place["", ""].moved == 0
    assert by_place["ram", ""].cycles == placed.with_waits < by_place["", ""].cycles
    assert by_place["ram", ""].moved == placed.figures["ram"]["weights"] > 8000
    assert placed.match and placed.build.options.weights_in == "ram"
    assert placed.build.plan.arena.size == usual.build.plan.arena.size

    again = read_costs([file], usual.build.board)
    assert again.text() == search.costs.text() and list(again.places.values()) == [found.best]
    own = pl.compile(usual.build.graph, board=BOARD, tuned=(file,), weights_in="flash")
    assert own.place is None and own.options.weights_in == "flash"
    other = pl.compile(usual.build.graph, board="mps2-an500", tuned=(file,))  # the same core: kernels hold
    assert other.place is None and other.options.weights_in is None
    assert other_boards(again.places, other.board, "net", [other.lowered]) == [BOARD]
    tight = pl.compile(usual.build.graph, board=BOARD, tuned=(file,), max_ram=8192)
    assert tight.place is None  # it would not fit, so it stays as it was
    taken_back, _ = place(search, file, replace(usual, build=tuned_build(search.build, file)))
    assert taken_back.match


def test_a_placement_that_is_not_better_when_run_is_not_kept(usual: Whole, tmp_path: Path) -> None:
    search = Search(usual.build, Costs(Origin.of(usual.build.board)))
    (session,), timing = usual.sessions, usual.profile.timing
    assert timing is not None
    halved = replace(usual.profile, timing=replace(timing, cycles=timing.cycles // 2))
    fast = replace(usual, sessions=(replace(session, profile=halved),))
    kept, found = place(search, tmp_path / "t", fast)
    assert kept is fast and found.best is None and "was not better when it was run" in (found.reason or "")
    assert not search.costs.places and "places" not in (tmp_path / "t").read_text()


@pytest.mark.parametrize(
    ("board", "options", "why"),
    [
        ("mps2-an386", Options(), "the file of board mps2-an386 says of no `speed` of flash"),
        ("riscv32-virt", Options(), "riscv32-virt has no table of cycles"),
        (BOARD, Options(arena_in="ram"), "--weights-in or --arena-in says"),
        (BOARD, Options(max_ram=4000), "no other placement has room"),
    ],
)
def test_what_cannot_be_told_apart_stays_and_is_said(usual: Whole, board: str, options: Options, why: str) -> None:
    code_free = [replace(part, info=replace(part.info, sizes=replace(part.info.sizes, code=10**6)))
                 for part in usual.parts]
    found = compare_placements(code_free, pl.boards.load(board), options)
    assert found.best is None and why in (found.reason or "")


def test_a_place_of_another_form_is_refused_and_the_better_one_stays(usual: Whole, tmp_path: Path) -> None:
    board = usual.build.board
    key = place_key(board, "net", [usual.build.lowered])
    for name, weights, after in (("a", "ram", 90), ("b", "itcm", 80)):
        costs = Costs(Origin.of(board), places={key: Place(weights, "", (100, after))})
        costs.write(tmp_path / name)
    for order in ("ab", "ba"):
        assert read_costs([tmp_path / name for name in order], board).places[key].weights == "itcm"
    text = (tmp_path / "a").read_text()
    for wrong in ("cycles = 3", 'cycles = [1, "2"]', "cycles = [1]"):
        (tmp_path / "c").write_text(text.replace("cycles = [100, 90]", wrong))
        with pytest.raises(PilotlightError, match=r"c is no file of measurements: .*, net #.* is no placement"):
            read_costs([tmp_path / "c"], board)


def test_commands_say_where_the_model_is_and_projects_put_it_there(tmp_path: Path) -> None:
    model = f"{ROOT}/examples/zoo/classics.py:mlp"
    build = pl.compile(pl.load(model), board=BOARD)
    places = {place_key(build.board, "mlp", [build.lowered]): Place("ram", "itcm", (1000, 900))}
    file = tmp_path / "t"
    Costs(Origin.of(build.board), places=places).write(file)
    new = ["new", str(tmp_path / "p"), model, "--board", BOARD, "--tuned", str(file)]
    made = call(*new)
    assert made.exit_code == 0 and "weights in ram and code in itcm" in made.stderr and "10.0 % fewer" in made.stderr
    script = next((tmp_path / "p").rglob("*.ld")).read_text()
    assert "> itcm" in script
    manifest = read_manifest(tmp_path / "p")
    assert manifest.code_in is None and manifest.arguments["tuned"] == ["../t"]
    updated = call("update", str(tmp_path / "p"))
    assert updated.exit_code == 0 and "0 files written" in updated.stdout
    shown = call("inspect", model, "--board", "mps2-an500", "--tuned", str(file), "--no-count")
    assert shown.exit_code == 0 and f"places mlp on {BOARD} only" in " ".join(shown.stderr.split())
    other = call(*new[:1], str(tmp_path / "z"), *new[2:], "--template", "zephyr")
    said = " ".join(other.stderr.split())
    assert other.exit_code == 0 and "does not choose memories" in said and "cannot put code into itcm" in said
