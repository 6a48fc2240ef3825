"""Kernels chosen by measurement: what is tried, what wins, and what never happens."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import unicorn
from torch import nn

import pilotlight as pl
from pilotlight.codegen.target import Target
from pilotlight.device.inprocess import InProcessDevice
from pilotlight.errors import PilotlightError
from pilotlight.fleet import chosen_workers
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.portable.dense_s8 import portable
from pilotlight.kernels.registry import offers, withdraw
from pilotlight.quantize import quantize
from pilotlight.selection import Offers
from pilotlight.session import run_session
from pilotlight.toolchain import BuildInfo, build_model
from pilotlight.trials.confirm import confirm, tuned_build
from pilotlight.trials.image import CRASHES, DIFFERS, run_batch
from pilotlight.trials.search import Limits, Search
from pilotlight.trials.window import WindowTrials
from pilotlight.tune.costs import Cost, Costs, Origin, read_costs
from pilotlight.tune.network import Network, Room
from support.command_line import call

BOARD = "mps2-an386"


def small_net(channels: int = 8, kernel: int = 2) -> pl.Graph:
    torch.manual_seed(3)
    layers = [nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, channels, kernel), nn.ReLU()]
    samples = [[torch.randn(1, 3, 9, 11)] for _ in range(2)]
    return quantize(pl.capture(nn.Sequential(*layers).eval(), samples[0], "net"), samples)


def search_of(graph: pl.Graph) -> Search:
    return Search(pl.compile(graph, board=BOARD, emulator="unicorn"), Costs(Origin.of(pl.boards.load(BOARD))))


@pytest.fixture(scope="module")
def searched() -> Search:
    search = search_of(small_net())
    search.run(Limits())
    return search


def test_every_candidate_is_counted_exactly_and_the_network_is_not_slower(searched: Search, tmp_path: Path) -> None:
    assert len(searched.layers) == 2 and searched.left == 0 and not searched.failures()
    assert searched.measured == searched.total > 20
    before, after = confirm(searched, tmp_path / "net.tuned")
    assert before.match and after.match and after.cost <= before.cost
    (first, second) = (searched.costs.of(layer.key) for layer in searched.layers)
    for row, found in zip(before.profile.rows, (first, second), strict=True):
        usual = found[before.build.plan.steps[row.index].attrs["candidate"].name]
        assert usual.instructions == pytest.approx(row.instructions, rel=0.02)
        assert usual.cycles == pytest.approx(row.cycles, rel=0.03)
    chosen = [after.build.plan.steps[i].attrs["candidate"].name for i in range(2)]
    assert chosen == [min(found, key=lambda name: found[name].value) for found in (first, second)]
    assert after.build.plan.arena.size <= before.build.plan.arena.size + 1024


def test_what_was_measured_is_not_measured_again_and_a_few_are_enough(searched: Search) -> None:
    again = Search(searched.build, searched.costs)
    again.run(Limits())
    assert again.measured == 0 and again.left == 0
    few = Search(searched.build, Costs(searched.costs.origin))
    few.run(Limits(trials=3))
    assert few.measured == 3 and few.left == few.total - 3
    for key, found in few.costs.layers.items():  # what else is in an image decides what the compiler writes out
        for name, cost in found.items():
            assert cost.instructions == pytest.approx(searched.costs.of(key)[name].instructions, rel=0.02)
    usual = {layer.key: few.default(layer) for layer in few.layers}
    assert all(usual[key] in found for key, found in few.costs.layers.items())  # they come first


def test_a_cluster_measures_the_same(searched: Search) -> None:
    distributed = pytest.importorskip("distributed")
    far = Search(searched.build, Costs(searched.costs.origin))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as farm, chosen_workers(1, farm.scheduler_address) as workers:
        far.run(Limits(), workers)
    assert far.costs.text() == searched.costs.text()


def test_layers_of_one_shape_share_what_was_measured(searched: Search, tmp_path: Path) -> None:
    searched.costs.write(tmp_path / "team.tuned")
    torch.manual_seed(9)
    other = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1)).eval()
    samples = [[torch.randn(1, 3, 9, 11)] for _ in range(2)]
    graph = quantize(pl.capture(other, samples[0], "other"), samples)
    build = pl.compile(graph, board=BOARD, tuned=(tmp_path / "team.tuned",), emulator="unicorn")
    names = [step.attrs["candidate"].name for step in build.plan.steps]
    found = searched.costs.of(searched.layers[0].key)
    assert names[0] == min(found, key=lambda name: found[name].value)
    plain = pl.compile(graph, board=BOARD).plan.steps[1].attrs["candidate"].name
    assert names[1] == plain and run_session(build, samples).match


class NoisyBoard(InProcessDevice):
    """An emulated board whose counter of cycles goes by the bytes of code that are executed, with noise."""

    def __init__(self, build: BuildInfo):
        self.executed = 0
        self.noise = random.Random(1)
        super().__init__(build, 60.0, False)
        self._machine.uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block)

    def _block(self, uc: unicorn.Uc, address: int, size: int, data: object) -> None:
        self.executed += size

    def call_code(self, argument: int = 0, offset: int = 0) -> tuple[int, int | None]:
        before = self.executed
        result, _ = super().call_code(argument, offset)
        late = self.noise.choice([1.0, 1.0, 1.001, 1.01, 3.0])  # an interrupt now and then
        return result, round((self.executed - before) * late)


@pytest.mark.usefixtures("broken_kernels")
def test_a_board_times_the_best_candidates_from_ram(tmp_path: Path) -> None:
    build = pl.compile(small_net(), board=BOARD, emulator="unicorn")
    search = Search(build, Costs(Origin.of(build.board)))
    search.layers = search.layers[1:]
    (layer,) = search.layers
    names = [search.default(layer), "dsp.conv.p1", "dsp.conv.p6", "test.wrong"]
    for name in names:  # estimates that are wrong: the board knows better
        search.costs.add(layer.key, name, Cost(1000 - 100 * names.index(name)))
    server = pl.compile(pl.capture(nn.ReLU(), (torch.randn(6),), "net"), board=BOARD).write(tmp_path / "server")
    info = build_model(server, build.board, tmp_path / "work", debug=True, window=16384)
    with NoisyBoard(info) as board:
        search.time(WindowTrials(board, build.board))
    found = search.costs.of(layer.key)
    assert found["test.wrong"].failure == DIFFERS
    timed = {name: cost.timed or 0 for name, cost in found.items() if cost.failure is None}
    assert set(timed) == set(names[:3]) and timed["dsp.conv.p1"] > 1.3 * timed["dsp.conv.p6"]
    assert found["dsp.conv.p1"].instructions == 900  # what the emulated core counted stays
    search.costs.write(tmp_path / "t")
    again = read_costs([tmp_path / "t"], build.board)
    assert again.text() == search.costs.text() and again.board == BOARD
    chosen = tuned_build(build, tmp_path / "t").selection
    assert min(timed, key=lambda name: timed[name]) in {choice.candidate.name for choice in chosen.choices.values()}
    with pytest.raises(PilotlightError, match="was timed on a board mps2-an386, this is for netduinoplus2"):
        read_costs([tmp_path / "t"], pl.boards.load("netduinoplus2"))


def test_a_board_without_a_counter_or_with_a_small_window_is_refused(searched: Search, tmp_path: Path) -> None:
    server = pl.compile(pl.capture(nn.ReLU(), (torch.randn(6),), "net"), board=BOARD).write(tmp_path / "server")
    info = build_model(server, searched.build.board, tmp_path / "work", debug=True)
    with InProcessDevice(info, 60.0, False) as board, pytest.raises(PilotlightError, match="does not count cycles"):
        WindowTrials(board, searched.build.board)
    few = Search(searched.build, Costs(searched.costs.origin))
    few.costs.merge(searched.costs)
    with NoisyBoard(info) as noisy:
        few.time(WindowTrials(noisy, searched.build.board), best=0)
    assert few.costs.layers == searched.costs.layers  # nothing fits 1,024 bytes, and nothing is dropped for it


@pytest.fixture
def broken_kernels() -> Iterator[None]:
    """Candidates that would win: one adds to every bias, one reads where there is no memory."""

    def offer(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
        if target.measured:
            shifted = replace(layer, bias=layer.bias + np.int32(1 << 14))
            yield replace(next(iter(portable(shifted, Target()))), name="test.wrong")
            right = next(iter(portable(layer, Target())))
            far = {"ih": 1 << 28, "top": -(1 << 20)}
            yield replace(right, name="test.crash", table=lambda reverse: {**right.table(reverse), **far})

    offers(Int8Layer)(offer)
    yield
    withdraw(offer)


def test_a_candidate_that_differs_or_crashes_is_dropped_and_the_others_are_measured(
    broken_kernels: None, tmp_path: Path
) -> None:
    search = Search(pl.compile(small_net(), board=BOARD, emulator="unicorn"), Costs(Origin.of(pl.boards.load(BOARD))))
    search.layers = search.layers[1:]
    search.run(Limits())
    assert {(failure.kernel, failure.why) for failure in search.failures()} == {
        ("test.wrong", DIFFERS), ("test.crash", CRASHES)
    }
    assert search.left == 0
    search.costs.write(tmp_path / "t")
    chosen = tuned_build(search.build, tmp_path / "t").selection
    assert not any(choice.candidate.name.startswith("test.") for choice in chosen.choices.values())
    assert read_costs([tmp_path / "t"], search.build.board).text() == search.costs.text()


def network(search: Search, better: int) -> Network:
    """The search's layers, with costs that make every other kernel better, the more it needs."""
    costs = Costs(search.costs.origin)
    for layer in search.layers:
        for candidate in layer.offered:
            usual = candidate.name == search.default(layer)
            costs.add(layer.key, candidate.name, Cost(100_000 - better * (not usual) * candidate.scratch))
    offered = Offers(Target.of(search.build.board, measured=True))
    return Network(search.build.lowered, offered, costs, search.build.selection, False)


@pytest.mark.parametrize("better", [1, -1])
def test_the_whole_network_stays_within_its_room(better: int) -> None:
    net = network(search_of(small_net(kernel=1)), better)
    usual = net.plan(net.default).arena.size
    costs = []
    for arena in (usual, usual + 300, usual + 4000):
        found = net.solve(Room(arena, 10**9))
        costs.append(found.cost)
        assert found.plan.arena.size <= arena and found.cost <= net.cost(net.default)
    assert costs == sorted(costs, reverse=True)
    if better < 0:
        assert costs == [net.cost(net.default)] * 3
    else:
        assert costs[-1] < costs[0]
    tight = net.solve(Room(usual + 4000, net.flash(net.default) - 1))
    assert tight.cost <= net.cost(net.default)


def test_the_command_keeps_what_it_found_and_says_what_won(tmp_path: Path) -> None:
    torch.manual_seed(3)
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def net():\n    torch.manual_seed(3)\n"
        "    return nn.Sequential(nn.Conv2d(4, 6, 1), nn.ReLU()).eval(), (torch.randn(1, 4, 3, 5),)\n"
    )
    np.savez(tmp_path / "data.npz", x=torch.randn(4, 4, 3, 5).numpy())
    model = [f"{tmp_path}/net.py:net", "--quantize", "int8", "--calibrate", f"{tmp_path}/data.npz", "--board", BOARD]
    out = tmp_path / "net.tuned"
    ended = call("tune", *model, "--out", str(out), "--jobs", "1", "--emulator", "unicorn", "--json")
    assert ended.exit_code == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["match"] and result["left"] == 0 and result["gain"] >= 0
    (layer,) = result["layers"]
    assert layer["kernels"][0]["failure"] is None and layer["chosen"] in {row["name"] for row in layer["kernels"]}
    before = out.read_text()
    shown = call("tune", *model, "--out", str(out), "--emulator", "unicorn", "--explain")
    assert shown.exit_code == 0 and "fewer estimated cycles" in shown.stdout and out.read_text() == before
    assert f"* {layer['chosen']}" in shown.stdout
    built = json.loads(call("inspect", *model, "--tuned", str(out), "--candidates", "--json").stdout)
    assert [row["name"] for row in built["layers"][0]["candidates"] if row["chosen"]] == [layer["chosen"]]
    for more, said in (
        (["--optimize", "ram", "--tuned", str(out)], "--tuned chooses the fastest kernels"),
        (["--tuned", str(out), "--board", "mps2-an500"], "is stale: it was measured with core 'cortex-m4'"),
        (["--tuned", str(out), "--board", "host"], "not on host"),
    ):
        refused = call("inspect", *model, *more)
        assert refused.exit_code == 2 and said in refused.stderr


def test_an_interrupted_search_keeps_what_was_measured(searched: Search) -> None:
    search = Search(searched.build, Costs(searched.costs.origin))

    def stop(now: Search) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(Limits(), progress=stop)
    assert 0 < search.measured < search.total and search.costs.count == search.measured


def test_another_set_of_kernels_is_noticed_where_they_run(searched: Search) -> None:
    batch = next(Search(searched.build, Costs(searched.costs.origin)).batches(1))
    wrong = replace(batch, trials=(replace(batch.trials[0], key="conv2d #other"),))
    with pytest.raises(PilotlightError, match="other kernels"):
        run_batch(wrong)
