"""The table of sizes is read as it was written, and a change is shown."""

from __future__ import annotations

import sys

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import sizes  # noqa: E402

TABLE = {
    ("net", "float32"): sizes.Sizes(5304, 24248, 7224, 514539),
    ("net", "int8"): sizes.Sizes(6492, 7700, None, 265648),
}


def test_the_recorded_table_has_every_network() -> None:
    recorded = sizes.read((BENCHMARKS / "sizes.md").read_text())
    assert list(recorded) == [(name, mode) for name in sizes.MODELS for mode in ("float32", "int8")]
    assert sizes.write(recorded) == (BENCHMARKS / "sizes.md").read_text()


def test_what_is_written_is_read() -> None:
    assert sizes.read(sizes.write(TABLE)) == TABLE


def test_a_change_is_shown_with_its_share() -> None:
    changed, added = sizes.Sizes(5304, 24248, 7225, 463085), sizes.Sizes(1, 2, 3, 4)
    now = {**TABLE, ("net", "float32"): changed, ("new", "int8"): added}
    said = sizes.compare(TABLE, now)
    assert "2 of 3 rows differ" in said
    assert "| net | float32 | 5,304 | 24,248 | 7,224 → 7,225 (+0.0%) | 514,539 → 463,085 (-10.0%) |" in said
    assert "| new | int8 | new | new | new | new |" in said
    assert "all 2 rows are as recorded" in sizes.compare(TABLE, TABLE)
