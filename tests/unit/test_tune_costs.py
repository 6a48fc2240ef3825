"""Files of measurements: written, read, merged, and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.errors import PilotlightError
from pilotlight.tune.costs import Cost, Costs, Origin, read_costs

BOARD = boards.load("mps2-an386")
LAYER = 'conv2d 3x3, int8, (8, 8, 4) -> (8, 8, 4) "#0123"'


def some() -> Costs:
    costs = Costs(Origin.of(BOARD))
    costs.add(LAYER, "dsp.conv", Cost(2000, 3000))
    costs.add(LAYER, "dsp.conv.p3", Cost(2100))
    costs.add(LAYER, "dsp.wrong", Cost(failure="differs from the reference"))
    return costs


def test_a_file_says_what_was_measured_and_the_same_each_time(tmp_path: Path) -> None:
    some().write(tmp_path / "a")
    read = read_costs([tmp_path / "a"], BOARD)
    assert read.layers == some().layers and read.text() == some().text() == (tmp_path / "a").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_files_merge_in_any_order_and_the_larger_count_stays(tmp_path: Path) -> None:
    other = Costs(Origin.of(BOARD))
    other.add(LAYER, "dsp.conv", Cost(2001, 3003))
    other.add("linear #1", "dsp.row", Cost(5, 6))
    some().write(tmp_path / "a")
    other.write(tmp_path / "b")
    texts = {read_costs([tmp_path / x for x in order], BOARD).text() for order in ("ab", "ba", "aba")}
    assert len(texts) == 1
    merged = read_costs([tmp_path / "a", tmp_path / "b"], BOARD)
    assert merged.of(LAYER)["dsp.conv"] == Cost(2001, 3003) and merged.count == 4
    merged.add(LAYER, "dsp.conv", Cost(failure="stops the board"))
    merged.add(LAYER, "dsp.conv", Cost(1, 1))
    assert merged.of(LAYER)["dsp.conv"].failure == "stops the board"


@pytest.mark.parametrize("what", ["core", "features", "compiler", "kernels"])
def test_what_was_measured_with_something_else_is_refused(tmp_path: Path, what: str) -> None:
    costs = some()
    costs.origin = replace(costs.origin, **{what: "another"})
    costs.write(tmp_path / "old")
    with pytest.raises(PilotlightError, match=r"old is stale: it was measured with .*'another', this is") as caught:
        read_costs([tmp_path / "old"], BOARD)
    assert caught.value.kind == "stale" and caught.value.hint


def test_another_core_with_the_same_instructions_is_another_core(tmp_path: Path) -> None:
    some().write(tmp_path / "m4")
    with pytest.raises(PilotlightError, match="stale: it was measured with core 'cortex-m4', this is 'cortex-m7'"):
        read_costs([tmp_path / "m4"], boards.load("mps2-an500"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("format = ", "Invalid value"),
        ("format = 2", "its format is 2, not 1"),
        ('format = 1\nHEAD\nlayers = 3', "layers is not a table"),
        ('format = 1\nHEAD\n[layers]\nx = 3', "'x' is not a table"),
        ('format = 1\nHEAD\n[layers.x]\nk = [1.5]', "x, k: .1.5. is neither"),
        ('format = 1\nHEAD\n[layers.x]\nk = [1, 2, 3, 4]', "is neither one to three counts nor a reason"),
        ('format = 1\nHEAD\n[layers.x]\nk = [-1]', "is neither"),
        ('format = 1\nHEAD\n[layers.x]\nk = [true]', "is neither"),
    ],
)
def test_what_is_no_such_file_is_refused_with_a_reason(tmp_path: Path, text: str, why: str) -> None:
    head = "\n".join(line for line in some().text().splitlines() if line.split(" ")[0] in Origin.__dataclass_fields__)
    (tmp_path / "bad").write_text(text.replace("HEAD", head))
    with pytest.raises(PilotlightError, match=f"bad is no file of measurements: .*{why}"):
        read_costs([tmp_path / "bad"], BOARD)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PilotlightError, match=r"there is no file .*nothing"):
        read_costs([tmp_path / "nothing"], BOARD)
    with pytest.raises(PilotlightError, match="not on host"):
        read_costs([tmp_path / "nothing"], boards.load("host"))
