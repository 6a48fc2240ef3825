"""Which kernel is chosen for a layer: rules, what is registered, budgets, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph
from pilotlight.kernels import registry
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.selection import Offers, Selection, fastest, least_scratch, select_by, usual
from support.command_line import call, call_json
from support.dense_s8_cases import random_layer

M4 = Target(frozenset({"thumb2", "dsp", "fpu32"}))


def candidate(name: str, instructions: int | None, flash: int, scratch: int, distance: int | None = None) -> Candidate:
    return Candidate(
        name, (), name, "int", lambda backward: {}, lambda: (np.zeros(flash, np.int8),), scratch, distance,
        instructions=instructions,
    )


def test_the_usual_kernel_gives_way_to_one_that_is_faster_for_nothing() -> None:
    first, smaller = candidate("first", 100, 50, 8), candidate("smaller", 90, 50, 8)
    larger, hungry = candidate("larger", 10, 51, 8), candidate("hungry", 10, 50, 16)
    unknown = candidate("unknown", None, 1, 0)
    assert usual([first]).reason == "only candidate"
    chosen = usual([first, larger, hungry, smaller, unknown])
    assert (chosen.candidate, chosen.offered[1]) == (smaller, larger)
    assert "fewest instructions" in chosen.reason
    assert usual([unknown, first]).candidate is unknown  # what is not estimated is not compared


def test_other_rules() -> None:
    first, larger = candidate("first", 100, 50, 8, 4), candidate("larger", 10, 90, 24, 4)
    further, hungry = candidate("further", 120, 50, 8, 6), candidate("hungry", 30, 60, 16)
    offered = [first, larger, further, hungry]
    assert least_scratch(offered).candidate is further and least_scratch(offered).reason == "least scratch"
    assert fastest(offered) is larger
    assert fastest(offered, scratch=16) is hungry and fastest(offered, scratch=16, flash=60) is first


def test_constants_are_packed_only_when_they_are_needed() -> None:
    packed = []
    slow = Candidate("slow", (), "slow", "int", lambda backward: {}, lambda: packed.append(1) or (), instructions=9)
    assert usual([candidate("first", 5, 3, 0), slow]).candidate.name == "first" and not packed
    assert slow.flash == 0 and packed == [1] and slow.constants == () and packed == [1]


@pytest.fixture
def vendor() -> Iterator[list[int]]:
    """A second generator for int8 layers on Cortex-M4: the estimate of its kernel can be set."""
    instructions = [0]

    @registry.offers(Int8Layer, needs={"dsp"})
    def mine(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
        yield candidate("vendor.conv", instructions[0], 1, 0)

    yield instructions
    registry.withdraw(mine)


def test_two_generators_compete_by_their_estimates(vendor: list[int]) -> None:
    layer, _ = random_layer(2, kind=3)
    ours = registry.candidates(layer, Target(frozenset({"thumb2"})))
    assert [c.name for c in ours] == [c.name for c in ours if c.name.startswith("portable.")]
    offered = registry.candidates(layer, M4)
    assert (offered[0].name, offered[-1].name) == ("dsp.conv", "vendor.conv")
    vendor[0] = (offered[0].instructions or 0) - 1
    assert usual(registry.candidates(layer, M4)).candidate.name == "vendor.conv"
    vendor[0] += 2
    assert usual(registry.candidates(layer, M4)).candidate.name == "dsp.conv"


def convolutions(*channels: int) -> Graph:
    torch.manual_seed(5)
    layers = [nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU()) for i, o in pairwise(channels)]
    net = nn.Sequential(*layers).eval()
    samples = [[torch.randn(1, channels[0], 28, 28)] for _ in range(2)]
    return pl.lower(pl.quantize(pl.capture(net, samples[0], "net"), samples))


def names(selection: Selection) -> list[str]:
    return [choice.candidate.name for choice in selection.values()]


def test_budgets_decide() -> None:
    graph = convolutions(16, 16, 16)
    assert names(pl.select(graph, "mps2-an386", optimize="size")) == ["dsp.conv"] * 2
    fast = pl.select(graph, "mps2-an386")
    assert names(fast) == ["dsp.winograd"] * 2
    assert {choice.reason for choice in fast.values()} == {"fewest instructions within the flash budget"}
    small = pl.select(graph, "mps2-an386", optimize="ram")
    plans = [pl.make_plan(graph, "mps2-an386", s).arena.size for s in (small, pl.select(graph, "mps2-an386"))]
    assert "dsp.conv.low_scratch" in names(small) and plans[0] < plans[1]
    assert names(pl.select(graph, "host")) == ["portable.conv"] * 2
    with pytest.raises(pl.PilotlightError, match="max"):
        pl.select(graph, "mps2-an386", max_flash=100)


def test_every_dense_layer_has_a_candidate_and_an_estimate() -> None:
    layers = [nn.Conv2d(2, 4, 3), nn.ConvTranspose2d(4, 4, 1), nn.Flatten(), nn.Linear(64, 32), nn.Linear(32, 32)]
    net = nn.Sequential(*layers).eval()
    x = [[torch.randn(1, 2, 6, 6)] for _ in range(2)]
    float32 = pl.capture(net, x[0], "net")
    for mode in (None, "int8", "int16x8", "weights-int8", "weights-int4"):
        lowered = pl.lower(float32 if mode is None else pl.quantize(float32, x, mode, min_weights=1))
        for board in ("mps2-an386", "mps3-an547", "riscv32-virt", "microbit"):
            chosen = pl.select(lowered, board, optimize="size")
            assert set(chosen) == {node for node in lowered.nodes if ops.get(node.op).macs(node)}
            assert all((choice.candidate.instructions or 0) > 0 for choice in chosen.values())


def test_candidates_are_shown(tmp_path: Path) -> None:
    file, calibration = tmp_path / "net.py", tmp_path / "data.npz"
    file.write_text("from torch import nn\nconv = nn.Conv2d(16, 16, 3, padding=1).eval()\nlstm = nn.LSTM(16, 4)\n")
    np.savez(calibration, x=np.random.default_rng(0).normal(size=(2, 1, 16, 28, 28)).astype(np.float32))
    model = (f"{file}:conv", "--input", "1x16x28x28", "--quantize", "int8", "--calibrate", calibration)
    found = call_json("inspect", *model, "--board", "mps2-an386", "--candidates")
    (layer,) = found["layers"]
    assert layer["what"].startswith("conv2d 3x3, int8")
    rows = {row["name"]: row for row in layer["candidates"]}
    assert {"dsp.conv", "dsp.conv.low_scratch", "dsp.winograd", "dsp.unfold.1"} <= set(rows)
    assert [name for name, row in rows.items() if row["chosen"]] == ["dsp.winograd"]
    assert rows["dsp.winograd"]["why"] == "fewest instructions within the flash budget"
    assert rows["dsp.conv"]["why"] == "more instructions"
    assert rows["dsp.unfold.1"]["scratch"] > rows["dsp.conv"]["scratch"]
    text = call("inspect", *model, "--board", "mps2-an386", "--candidates").stdout
    assert "* dsp.winograd" in text and "  dsp.conv " in text
    assert "dsp." not in call("inspect", *model, "--board", "mps2-an386").stdout
    (lstm,) = call_json("inspect", f"{file}:lstm", "--input", "5x16", "--board", "mps2-an386", "--candidates")["layers"]
    assert [row["why"] for row in lstm["candidates"]] == ["the operator has one way only"]


def test_layers_inside_patches_are_chosen_with_the_stage() -> None:
    graph = convolutions(4, 8, 4)
    offers = Offers(M4)
    selection = select_by(graph, offers, lambda node: least_scratch)
    assert all(choice.reason == "least scratch" for choice in selection.values())
    assert all(selection.inside[node] is least_scratch for node in graph.nodes if node not in selection)
