"""Boards: the files that are shipped, a user's own, and broken ones."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.errors import PilotlightError
from pilotlight.measure.estimate import load_table
from pilotlight.toolchain.find import find, reason_without

KB = 1024

# name, flash and RAM of the memories code and arena go to, from the makers' data sheets
FACTS = [
    ("microbit", 256 * KB, 16 * KB),
    ("mps2-an385", 4096 * KB, 4096 * KB),
    ("mps2-an386", 4096 * KB, 4096 * KB),
    ("mps2-an500", 4096 * KB, 4096 * KB),
    ("mps2-an505", 4096 * KB, 4096 * KB),
    ("mps3-an547", 512 * KB, 4096 * KB),
    ("netduinoplus2", 1024 * KB, 128 * KB),
    ("nucleo-wb55rg", 1024 * KB, 192 * KB),
    ("nucleo-f746zg", 1024 * KB, 320 * KB),
    ("stm32f746g-disco", 1024 * KB, 320 * KB),
    ("nucleo-l4r5zi", 2048 * KB, 640 * KB),
    ("nrf52840dk", 1024 * KB, 256 * KB),
    ("pico", 2048 * KB, 264 * KB),
    ("pico2", 4096 * KB, 520 * KB),
    ("pico2-riscv", 4096 * KB, 520 * KB),
    ("esp32-c3", 4096 * KB, 384 * KB),
    ("esp32-s3", 8192 * KB, 416 * KB),
    ("esp32", 4096 * KB, 320 * KB),
    ("mps2-an521", 4096 * KB, 4096 * KB),
    ("arduino-nano-33-ble", 960 * KB, 256 * KB),
    ("teensy41", 7936 * KB, 512 * KB),
]

GOOD = """
name = "mine"
title = "My board"
vendor = "me"
cpu = "cortex-m4"
toolchain = "arm-none-eabi"
flags = ["-mcpu=cortex-m4", "-mthumb"]

[place]
code = "flash"
weights = "flash"
arena = "ram"
stack = "ram"

[[memory]]
name = "flash"
kind = "flash"
base = 0
size = 0x10000

[[memory]]
name = "ram"
kind = "ram"
base = 0x20000000
size = 0x4000
"""


@pytest.mark.parametrize(("name", "flash", "ram"), FACTS)
def test_memories_are_those_of_the_chip(name: str, flash: int, ram: int) -> None:
    board = boards.load(name)
    place = board.placement()
    assert board.memory(place.code).size == flash
    assert board.memory(place.arena).size == ram


def test_memories_of_a_board_do_not_overlap() -> None:
    for board in boards.all_boards():
        spans = sorted((m.base, m.base + m.size) for m in board.memories)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans)), board.name


@pytest.mark.parametrize("board", boards.all_boards(), ids=lambda board: board.name)
def test_toolchain_and_cycle_table_exist(board: boards.Board) -> None:
    reason = reason_without(board)
    if reason:
        assert "no Debian package has it" in reason
    else:
        assert find(board).name == board.toolchain
    if board.cycles:
        assert load_table(board.cycles).rules


def test_names_and_tools_of_a_board() -> None:
    board = boards.load("nucleo-wb55rg")
    assert (board.names.zephyr, board.names.mbed, board.names.idf) == ("nucleo_wb55rg", "NUCLEO_WB55RG", None)
    assert board.flashing.pyocd == "stm32wb55rgvx"
    assert board.flashing.openocd == ("board/st_nucleo_wb55.cfg",)
    assert "0483:374b" in board.usb
    assert boards.load("esp32-c3").flashing.esptool == "esp32c3"
    assert boards.load("host").names == boards.BoardNames()


@pytest.mark.parametrize("board", [b for b in boards.all_boards() if not b.is_host], ids=lambda board: board.name)
def test_a_board_says_where_its_facts_were_checked(board: boards.Board) -> None:
    assert board.path is not None
    comment = [line for line in board.path.read_text().splitlines() if line.startswith("#")]
    assert any(word in line for line in comment for word in ("Memories", "Memory"))
    names = [name for name in vars(board.names).values() if name]
    assert all(name == name.strip() for name in names)
    if board.emulator is None:
        assert names
        assert board.usb or board.flashing == boards.Flashing()  # what nothing is written to is not looked for


def test_unknown_board_suggests_the_nearest() -> None:
    with pytest.raises(PilotlightError, match="did you mean 'mps2-an386'") as error:
        boards.load("mps2_an386")
    assert error.value.kind == "unknown-board"
    assert "nucleo-wb55rg" in (error.value.hint or "")


def test_a_file_is_a_board(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    assert boards.load(file).title == "My board"


@pytest.mark.parametrize("by", ["variable", "folder"])
def test_boards_of_the_user_are_found(by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "boards"
    folder.mkdir()
    (folder / "mine.toml").write_text(GOOD)
    if by == "variable":
        monkeypatch.setenv("PILOTLIGHT_BOARDS", str(folder))
    else:
        monkeypatch.chdir(tmp_path)
    assert boards.load("mine").memory("ram").size == 0x4000
    assert "mine" in [board.name for board in boards.all_boards()]


def test_a_board_of_the_user_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pico.toml").write_text(GOOD.replace('"mine"', '"pico"'))
    monkeypatch.setenv("PILOTLIGHT_BOARDS", str(tmp_path))
    assert boards.load("pico").title == "My board"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "mine"\n', "", "name: missing; expected text"),
        ('name = "mine"', "name = ", "not valid TOML"),
        ('name = "mine"', 'name = "other"', "name: a board file is named after its board: other.toml"),
        ('cpu = "cortex-m4"', "cpu = 4", "cpu: expected text, got 4"),
        ('vendor = "me"', 'vendor = "me"\ncolour = "red"', "colour: unknown key"),
        ('flags = ["-mcpu=cortex-m4", "-mthumb"]', "flags = [1]", "flags: expected a list of texts"),
        ("size = 0x4000", 'size = "16K"', r"memory\[1\].size: expected a whole number"),
        ("size = 0x4000", "size = -1", r"memory\[1\].size: base and size"),
        ('kind = "ram"', 'kind = "sram"', r'memory\[1\].kind: expected "flash" or "ram"'),
        ('name = "ram"', 'name = "flash"', "two memories are named 'flash'"),
        ('name = "ram"', 'name = "my ram"', r"memory\[1\].name: expected letters"),
        ('arena = "ram"', 'arena = "psram"', "place.arena: no memory named 'psram'"),
        ('arena = "ram"', 'arena = "flash"', "place.arena: memory 'flash' is flash"),
        ('stack = "ram"\n', "", "place.stack: missing"),
        ("[place]", '[names]\narm = "x"\n[place]', "names.arm: unknown key; known: zephyr, mbed"),
        ("[place]", '[names]\nplatformio = "x"\n[place]', "names.platformio_platform: missing; expected text"),
        ("[place]", '[names]\nmicropython = "x"\n[place]', "names.micropython: expected PORT/BOARD"),
        ("[place]", "[names]\nmbed = 1\n[place]", "names.mbed: expected text, got 1"),
        ("[place]", '[flashing]\nopenocd = "board/x.cfg"\n[place]', "flashing.openocd: expected a list"),
        ("[place]", "[flashing]\nwest = [1]\n[place]", "flashing.west: expected a list of texts"),
        ("[place]", 'usb = ["483:374B"]\n[place]', "usb: expected vendor and product in lower-case hex"),
    ],
)
def test_broken_file_names_file_and_key(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(PilotlightError, match=message) as error:
        boards.load(file)
    assert error.value.kind == "bad-board"
    assert error.value.where == str(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PilotlightError, match="there is no board file") as error:
        boards.load(tmp_path / "none.toml")
    assert error.value.kind == "unknown-board"


def test_placement_follows_the_user() -> None:
    board = boards.load("stm32f746g-disco")
    place = board.placement(weights_in="qspi", arena_in="sdram")
    assert (place.code, place.weights, place.arena) == ("flash", "qspi", "sdram")


def test_placement_refuses_unknown_memory_and_arena_in_flash() -> None:
    board = boards.load("nucleo-wb55rg")
    with pytest.raises(PilotlightError, match="no memory named 'psram'; it has: flash, ram, sram2"):
        board.placement(weights_in="psram")
    with pytest.raises(PilotlightError, match="cannot be in flash"):
        board.placement(arena_in="flash")
