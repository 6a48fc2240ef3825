"""Waits for memory, intervals, and the lines that say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pilotlight import boards
from pilotlight.boards.board import MemorySpeed
from pilotlight.device.counts import Counts, Segment
from pilotlight.errors import PilotlightError
from pilotlight.measure.timing import Timing, Waits, code_waits
from pilotlight.report.timing import timing_rows
from pilotlight.toolchain.disassembly import Disassembly, printed

# 100 instructions of 4 bytes from address 0: 25 lines of 16 bytes. The first 40 ran ten times, 9 of them taken.
CODE = Disassembly(tuple(printed(4 * k, "nop") for k in range(100)))
COUNTS = Counts(((460,),), (Segment(0, 0, 40, 10, 9), Segment(0, 160, 60, 1, 0)))
SPEED = MemorySpeed(waits=5, line=16, cache=256, source="a manual")


def test_code_that_fits_into_the_cache_does_not_wait() -> None:
    assert code_waits(COUNTS, CODE, replace(SPEED, cache=400), 460) == ("cached", 0, 115 * 5)
    assert code_waits(COUNTS, CODE, replace(SPEED, cache=400), 460, weights=1)[0] == "once"


def test_each_line_is_fetched_once_through_a_cache() -> None:
    assert code_waits(COUNTS, CODE, SPEED, 460) == ("once", 25 * 5, 115 * 5)


def test_without_a_cache_every_line_waits() -> None:
    assert code_waits(COUNTS, CODE, replace(SPEED, cache=0), 460) == ("uncached", 115 * 5, 115 * 5)


def test_prefetching_hides_what_a_line_takes_to_execute() -> None:
    """115 lines in 460 cycles: 4 a line, of which one is the fetch itself."""
    ahead = replace(SPEED, prefetch=True)
    assert code_waits(COUNTS, CODE, ahead, 460) == ("once", 25 * 2, 115 * 5)
    assert code_waits(COUNTS, CODE, replace(ahead, cache=0), 460) == ("uncached", 115 * 5 - 106 * 3, 115 * 5)
    assert code_waits(COUNTS, CODE, ahead, 46_000) == ("once", 0, 115 * 5)


def test_a_line_that_two_pieces_share_is_fetched_by_both() -> None:
    counts = Counts(((4,),), (Segment(0, 0, 2, 1, 0), Segment(0, 8, 2, 1, 0)))
    assert code_waits(counts, CODE, SPEED, 4) == ("cached", 0, 2 * 5)
    assert code_waits(counts, CODE, replace(SPEED, cache=8), 4) == ("once", 5, 10)


def found(**more: Any) -> dict[str, Any]:
    memory = {"name": "flash", "waits": 5, "line": 16, "cache": 1024, "prefetch": False, "source": "a manual"}
    waits = Waits(2_000, 90_000, "once", (memory,))
    timing = Timing("Cortex-M4", "a manual", True, (-0.2, 0.25), "a program", 10_000, 8_000, 12_500, waits, 1_000_000)
    return {"timing": replace(timing, **more).as_dict()}


def test_lines_say_what_they_assume() -> None:
    cycles, waits, time = timing_rows(found())
    assert cycles == ("cycles", "10,000", "estimate, Cortex-M4 whose memory never waits")
    assert waits[:2] == ("waits", "2,000")
    assert "each line of code and weights is fetched once" in waits[2]
    assert "flash: 5 cycles a line of 16 bytes, cache of 1,024 bytes" in waits[2]
    assert "90,000 (90.0 ms) if every fetch and load waited" in waits[2]
    assert time[:2] == ("time", "12.0 ms")
    assert time[2].startswith("at 1 MHz, 10.0 ms to 14.5 ms; ") and "off by -20% to +25% (a program)" in time[2]


def test_assumed_timings_are_called_so() -> None:
    assert next(timing_rows(found(published=False)))[2].endswith("its timings are not published, so they are assumed")


def test_lines_of_a_board_that_says_little() -> None:
    _, time = timing_rows(found(waits=None, measured=()))
    assert "not checked" in time[2] and "without waits for memory" in time[2] and time[1] == "10.0 ms"
    assert [row[0] for row in timing_rows(found(clock_hz=None))] == ["cycles", "waits"]
    assert list(timing_rows({"timing": None, "cycles_estimate": None})) == []
    assert list(timing_rows({"cycles_estimate": 7})) == [("cycles", "7", "estimate")]


@pytest.mark.parametrize(
    ("speed", "message"),
    [
        ("waits = 1, line = 0, cache = 0, source = 'a'", "line of at least 1 byte"),
        ("waits = -1, line = 4, cache = 0, source = 'a'", "waits and cache of at least 0"),
        ("waits = 1, line = 4, cache = 0", r"memory\[0\].speed.source: missing"),
        ("waits = 1.5, line = 4, cache = 0, source = 'a'", r"speed.waits: expected a whole number"),
        ("waits = 1, line = 4, cache = 0, source = 'a', ahead = true", "unknown key"),
    ],
)
def test_a_wrong_speed_is_refused(speed: str, message: str, tmp_path: Path) -> None:
    path = boards.load("pico2").path
    assert path is not None
    lines = path.read_text().splitlines()
    text = [f"speed = {{ {speed} }}" if line.startswith("speed") else line for line in lines]
    (tmp_path / "pico2.toml").write_text("\n".join(text))
    with pytest.raises(PilotlightError, match=message):
        boards.load(tmp_path / "pico2.toml")
