"""Measured kernels of models with several entry points: one arena, shared weights in one packing, all outputs right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.codegen.target import Target
from pilotlight.errors import PilotlightError
from pilotlight.programs import ProgramBuild
from pilotlight.quantize.quantizer import Int8Quantizer
from pilotlight.selection import Offers
from pilotlight.trials.confirm import confirm, tuned_build
from pilotlight.trials.search import Limits, Search
from pilotlight.tune.costs import Cost, Costs, Origin
from pilotlight.tune.entries import packing, shared_layers, solve_entries
from pilotlight.tune.network import MeasuredKernel, Network, Room
from support.command_line import call

BOARD = "mps2-an386"
X = (1, 3, 7, 9)


def quantized(model: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """As somebody else quantizes a module, with PT2E."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    samples = [torch.randn(shape) for _ in range(2)]
    prepared = prepare_pt2e(torch.export.export(model, (samples[0],)).module(), Int8Quantizer())
    for sample in samples:
        prepared(sample)
    converted: nn.Module = convert_pt2e(prepared)
    return converted


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.body = quantized(nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU()).eval(), X)
        self.head = quantized(nn.Sequential(nn.Conv2d(8, 6, 1), nn.ReLU()).eval(), (1, 8, *X[2:]))
        self.register_buffer("calls", torch.zeros(1))

    def look(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)

    def decide(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))

    def count(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.body(x)


@pytest.fixture(scope="module")
def build() -> ProgramBuild:
    net, x = Net(), torch.randn(X)
    program = pl.capture({"look": (net.look, (x,)), "decide": (net.decide, (x,))}, name="net")
    built = pl.compile(program, board=BOARD, emulator="unicorn")
    assert isinstance(built, ProgramBuild)
    return built


def test_layers_of_all_entry_points_are_measured_once_and_every_output_matches(
    build: ProgramBuild, tmp_path: Path
) -> None:
    search = Search(build, Costs(Origin.of(build.board)))
    assert len(search.layers) == 3 and len(search.by_key) == 2  # both entry points have the body
    search.run(Limits(trials=12))
    before, after = confirm(search, tmp_path / "t")
    assert before.match and after.match and len(after.sessions) == 2 and after.cost <= before.cost
    body, again, head = search.kernels(after.build)
    assert body == again
    for layer, kernel in zip(search.layers, (body, again, head), strict=True):
        found = search.costs.of(layer.key)
        assert found[kernel].value == min(cost.value for cost in found.values())
    small, large = (each.build.module.metadata["weights_bytes"] for each in (before, after))
    assert large < small + 2048  # the body's weights are there once


def networks(build: ProgramBuild, costs: Costs) -> dict[str, Network]:
    offers = Offers(Target.of(build.board, measured=True))
    entries = build.entries.items()
    return {name: Network(entry.lowered, offers, costs, entry.selection, False) for name, entry in entries}


def test_shared_weights_keep_one_packing_even_if_one_entry_point_has_no_room_for_it(build: ProgramBuild) -> None:
    search = Search(build, Costs(Origin.of(build.board)))
    for layer in search.layers:
        for candidate in layer.offered:  # the more scratch the better
            search.costs.add(layer.key, candidate.name, Cost(100_000 - candidate.scratch))
    for arena in (0, 200, 4000):
        nets = networks(build, search.costs)
        (members,) = shared_layers(nets)
        assert {entry for entry, _ in members} == {"look", "decide"}
        usual = max(net.plan(net.default).arena.size for net in nets.values())
        found = solve_entries(nets, Room(usual + arena, 10**6))
        assert len({packing(found[entry].selection[node].candidate) for entry, node in members}) == 1
        for entry, net in nets.items():
            assert found[entry].plan.arena.size <= usual + arena and found[entry].cost <= net.cost(net.default)
    roomy = {entry: found[entry].selection[node].candidate.name for entry, node in members}
    assert all(name != search.default(search.layers[0]) for name in roomy.values())


def wished(build: ProgramBuild, wishes: dict[str, dict[str, int]]) -> tuple[dict[str, str], str]:
    """What the shared layers get if an entry point's costs are these; "" is the usual kernel, and others cost more."""
    costs = Costs(Origin.of(build.board))
    for layer in Search(build, costs).layers:
        for candidate in layer.offered:
            costs.add(layer.key, candidate.name, Cost(1000))
    nets = networks(build, costs)
    (members,) = shared_layers(nets)
    for entry, node in members:
        net = nets[entry]
        names = {wish or net.default[node].name: cost for wish, cost in wishes[entry].items()}
        assert set(names) <= {k.candidate.name for k in net.measured[node]}
        kernels = [MeasuredKernel(k.candidate, names.get(k.candidate.name, 1000)) for k in net.measured[node]]
        net.measured[node] = sorted(kernels, key=lambda kernel: kernel.cost)
    found = solve_entries(nets, Room(10**6, 10**6))
    usual = nets[members[0][0]].default[members[0][1]].name
    return {entry: found[entry].selection[node].candidate.name for entry, node in members}, usual


def test_entry_points_that_wish_different_packings_get_the_best_one_for_both(build: ProgramBuild) -> None:
    wide, other = "dsp.conv.wide.chain.p3", "dsp.conv.p6"
    got, usual = wished(build, {"look": {wide: 100, other: 300}, "decide": {wide: 900, other: 200}})
    assert usual not in (wide, other) and got == {"look": other, "decide": other}
    got, _ = wished(build, {"look": {wide: 100, other: 300}, "decide": {wide: 300, other: 200}})
    assert got == {"look": wide, "decide": wide}


def test_what_one_entry_point_has_better_without_measurements_stays_for_all(build: ProgramBuild) -> None:
    wide = "dsp.conv.wide.chain.p3"
    got, usual = wished(build, {"look": {wide: 100}, "decide": {wide: 500, "": 400}})
    assert got == {"look": usual, "decide": usual}


def test_buffers_that_change_are_still_for_float_models() -> None:
    net, x = Net(), torch.randn(X)
    with pytest.raises(PilotlightError, match="is quantized, and entry points of this model change its buffers"):
        pl.capture({"look": (net.look, (x,)), "count": (net.count, (x,))}, name="net")


def test_a_float_program_has_nothing_to_measure_but_its_memories(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        torch.manual_seed(0)\n"
        "        self.first, self.last = nn.Linear(64, 128), nn.Linear(128, 8)\n"
        "    def look(self, x):\n        return self.first(x)\n"
        "    def decide(self, x):\n        return self.last(self.first(x))\n"
        "def net():\n    net, x = Net().eval(), torch.randn(1, 64)\n"
        "    return {'look': (net.look, (x,)), 'decide': (net.decide, (x,))}\n"
    )
    tune = ["tune", f"{tmp_path}/net.py:net", "--emulator", "unicorn", "--jobs", "1", "--out", str(tmp_path / "t")]
    refused = call(*tune, "--board", BOARD)
    assert refused.exit_code == 2 and "no layer of net has more than one kernel" in refused.stderr
    ended = call(*tune, "--board", "nucleo-f746zg", "--json")
    assert ended.exit_code == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["match"] and result["placement"]["text"].startswith("weights in ram")
    run = ["run", *tune[1:4], "--board", "nucleo-f746zg", "--tuned", str(tmp_path / "t"), "--json"]
    built = call(*run)
    assert built.exit_code == 0, built.stdout + built.stderr
    assert "weights in ram" in built.stderr
    for entry in json.loads(built.stdout)["entries"].values():
        assert entry["match"] and entry["placement"]["weights"] == "ram"


def test_the_file_is_used_by_programs_and_refused_for_other_goals(build: ProgramBuild, tmp_path: Path) -> None:
    Costs(Origin.of(build.board)).write(tmp_path / "empty")
    same = tuned_build(build, tmp_path / "empty")
    assert same.module.metadata["weights_bytes"] == build.module.metadata["weights_bytes"]
    with pytest.raises(PilotlightError, match="--tuned chooses the fastest kernels"):
        pl.compile(build.program, board=BOARD, tuned=(tmp_path / "empty",), optimize="ram")
