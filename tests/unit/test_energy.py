"""Energy, currents and batteries: plain arithmetic on published figures, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.boards.board import Power
from pilotlight.errors import PilotlightError
from pilotlight.measure.energy import energy
from pilotlight.measure.timing import Timing
from pilotlight.report.timing import timing_rows
from support.command_line import call_error

# 10 ms at 64 MHz and 50 µA a MHz: 3.2 mA at 3 V.
BOARD = replace(boards.load("nrf52840dk"), power=Power(50, 4, 3, "a manual"))
TIME = Timing("Cortex-M4", "a manual", True, (), "", 640_000, 640_000, 640_000, None, 64_000_000)


def test_one_inference_a_second() -> None:
    found = energy(BOARD, TIME, 1.0, 220)
    assert found.microjoules == pytest.approx(96)
    assert found.mean_microamps == pytest.approx(32 + 4 * 0.99)
    assert found.days == pytest.approx(220_000 / 35.96 / 24)
    assert energy(BOARD, TIME, 1.0).days is None


def test_without_rest_there_is_no_sleep() -> None:
    assert energy(BOARD, TIME, 0.01).mean_microamps == pytest.approx(3200)


def test_lines_name_the_source() -> None:
    rows = {name: (value, text) for name, value, text in timing_rows(
        {"timing": TIME.as_dict(), "energy": energy(BOARD, TIME, 60.0, 1000).as_dict()}
    )}
    assert rows["energy"] == ("96 µJ", "an inference: 3.2 mA at 3 V for 10 ms (a manual)")
    assert rows["current"][0] == "4.53 µA" and "every 60 s, 4 µA asleep; the chip alone" in rows["current"][1]
    assert rows["battery"][0] == "9,193 days"


def test_what_cannot_be_known_is_refused() -> None:
    with pytest.raises(PilotlightError, match="board pico2 has no currents in its file"):
        energy(boards.load("pico2"), TIME, 1.0)
    with pytest.raises(PilotlightError, match="how long an inference takes on nrf52840dk is not known"):
        energy(BOARD, None, 1.0)
    with pytest.raises(PilotlightError, match=r"an inference takes 0.01 s, so the next would begin before it ends"):
        energy(BOARD, TIME, 0.009)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--battery", "220mAh"], "--battery needs --every"),
        (["--every", "1s", "--no-count"], "--every needs what --no-count leaves out"),
        (["--every", "0s"], "'0s' is not a time"),
        (["--every", "10"], "'10' is not a time"),
        (["--every", "1s", "--battery", "220"], "'220' is not the charge of a battery"),
    ],
)
def test_options_that_say_nothing(options: list[str], message: str) -> None:
    assert message in call_error("inspect", "model.py:net", *options)["message"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("volts = 0", "power.volts: expected more than 0"),
        ("volts = true", "power.volts: expected a number"),
        ("", "power.volts: missing; expected a number"),
        ("volts = 3\nwatts = 1", "power.watts: unknown key"),
    ],
)
def test_wrong_currents_are_refused(line: str, message: str, tmp_path: Path) -> None:
    path = boards.load("nrf52840dk").path
    assert path is not None
    (tmp_path / "nrf52840dk.toml").write_text(path.read_text().replace("volts = 3.0", line))
    with pytest.raises(PilotlightError, match=message):
        boards.load(tmp_path / "nrf52840dk.toml")


def test_every_current_has_a_source() -> None:
    known = [board for board in boards.all_boards() if board.power]
    assert known and all(board.power and len(board.power.source) > 20 for board in known)
