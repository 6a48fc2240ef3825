"""From a TOML file to a Board, with errors that name the file and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pilotlight.boards.board import (
    Board,
    BoardNames,
    Emulator,
    Flashing,
    Memory,
    MemoryNames,
    MemorySpeed,
    MicroPython,
    Placement,
    Power,
    RegisterChange,
    Uart,
)
from pilotlight.errors import PilotlightError

_REQUIRED = {"name": str, "title": str, "vendor": str, "cpu": str, "toolchain": str}
_OPTIONAL = {
    "flags": list,
    "isa": list,
    "fused": bool,
    "hides_loads": bool,
    "clock_hz": int,
    "cycles": str,
    "power": dict,
    "uart": dict,
    "memory": list,
    "place": dict,
    "emulator": dict,
    "micropython": dict,
    "names": dict,
    "flashing": dict,
    "npus": list,
    "usb": list,
    "default": bool,
}
_MEMORY = {"name": str, "kind": str, "base": int, "size": int}
_SPEED = {"waits": int, "line": int, "cache": int, "source": str}
_POWER = {"microamps_per_mhz": float, "sleep_microamps": float, "volts": float, "source": str}
_MEMORY_NAMES = {"zephyr": str, "idf": str, "arduino": str}
_PLACE = {"code": str, "weights": str, "arena": str, "stack": str}
_UART = {"base": int, "kind": str}
_UART_MORE = {"clock_hz": int, "tx": int, "rx": int, "set_up": list}
_CHANGE = {"what": str, "address": int, "set": int}
UART_KINDS = ("cmsdk", "ns16550", "nrf", "stm32", "stm32v2", "stm32lp")
_EMULATOR = {"program": str, "package": str, "machine": str, "startup": str}
_MICROPYTHON = {"heap": str, "irq": int}
_NAMES = {
    "zephyr": str, "mbed": str, "idf": str, "arduino": str, "platformio": str, "platformio_platform": str,
    "micropython": str,
}
_FLASHING = {"pyocd": str, "openocd": list, "esptool": str, "uf2": str, "uf2_family": int, "west": list}
_WORDS = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table", bool: "true or false"}


def parse_board(path: Path) -> Board:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PilotlightError(f"cannot read it: {error}", where=str(path), kind="bad-board") from error
    except tomllib.TOMLDecodeError as error:
        raise PilotlightError(f"not valid TOML: {error}", where=str(path), kind="bad-board") from error
    _check(path, "", data, _REQUIRED, _OPTIONAL)
    if data["name"] != path.stem:
        raise _bad(path, "name", f"a board file is named after its board: {data['name']}.toml")
    memories = tuple(_memory(path, i, row) for i, row in enumerate(data.get("memory", [])))
    names = [m.name for m in memories]
    for name in names:
        if names.count(name) > 1:
            raise _bad(path, "memory", f"two memories are named {name!r}")
    return Board(
        name=data["name"],
        title=data["title"],
        vendor=data["vendor"],
        cpu=data["cpu"],
        toolchain=data["toolchain"],
        flags=_texts(path, "flags", data.get("flags", [])),
        isa=frozenset(_texts(path, "isa", data.get("isa", []))),
        fused=data.get("fused", False),
        hides_loads=data.get("hides_loads", False),
        clock_hz=data.get("clock_hz"),
        cycles=data.get("cycles"),
        power=_power(path, data.get("power"), data.get("clock_hz")),
        uart=_uart(path, data.get("uart")),
        memories=memories,
        place=_place(path, data.get("place"), memories),
        emulator=_emulator(path, data.get("emulator")),
        micropython=_micropython(path, data, memories),
        names=_names(path, data.get("names", {})),
        flashing=_flashing(path, data.get("flashing", {})),
        npus=_texts(path, "npus", data.get("npus", [])),
        usb=_usb(path, data.get("usb", [])),
        default=data.get("default", False),
        path=path,
    )


def _bad(path: Path, key: str, message: str) -> PilotlightError:
    return PilotlightError(
        f"{key}: {message}", where=str(path), hint="docs/adding-a-board.md lists the keys", kind="bad-board"
    )


_Keys = Mapping[str, type]


def _check(path: Path, prefix: str, data: dict[str, Any], required: _Keys, optional: _Keys) -> None:
    known = {**required, **optional}
    for key, kind in required.items():
        if key not in data:
            raise _bad(path, prefix + key, f"missing; expected {_WORDS[kind]}")
    for key, value in data.items():
        if key not in known:
            raise _bad(path, prefix + key, f"unknown key; known: {', '.join(known)}")
        kind = known[key]
        fits = isinstance(value, (int, float)) if kind is float else isinstance(value, kind)
        if not fits or (kind in (int, float) and isinstance(value, bool)):
            raise _bad(path, prefix + key, f"expected {_WORDS[kind]}, got {value!r}")


def _texts(path: Path, key: str, values: list[Any]) -> tuple[str, ...]:
    for value in values:
        if not isinstance(value, str):
            raise _bad(path, key, f"expected a list of texts, got {value!r} in it")
    return tuple(values)


def _memory(path: Path, index: int, row: Any) -> Memory:
    prefix = f"memory[{index}]."
    if not isinstance(row, dict):
        raise _bad(path, prefix[:-1], "expected a table ([[memory]])")
    _check(path, prefix, row, _MEMORY, {"names": dict, "speed": dict})
    names, speed = row.get("names", {}), row.get("speed")
    _check(path, f"{prefix}names.", names, {}, _MEMORY_NAMES)
    if speed is not None:
        _check(path, f"{prefix}speed.", speed, _SPEED, {"prefetch": bool})
        if speed["waits"] < 0 or speed["cache"] < 0 or speed["line"] <= 0:
            raise _bad(path, f"{prefix}speed", "expected waits and cache of at least 0, and a line of at least 1 byte")
    if row["kind"] not in ("flash", "ram"):
        raise _bad(path, prefix + "kind", f'expected "flash" or "ram", got {row["kind"]!r}')
    if not row["name"].isidentifier():
        raise _bad(path, prefix + "name", f"expected letters, digits and underscores, got {row['name']!r}")
    if row["size"] <= 0 or row["base"] < 0 or row["base"] + row["size"] > 1 << 32:
        raise _bad(path, prefix + "size", "base and size must describe bytes below 4 GB")
    return Memory(**{**row, "names": MemoryNames(**names), "speed": None if speed is None else MemorySpeed(**speed)})


def _power(path: Path, row: dict[str, Any] | None, clock_hz: int | None) -> Power | None:
    if row is None:
        return None
    _check(path, "power.", row, _POWER, {})
    for key, value in row.items():
        if key != "source" and value <= 0:
            raise _bad(path, f"power.{key}", f"expected more than 0, got {value}")
    if clock_hz is None:
        raise _bad(path, "clock_hz", "missing; currents are given for each MHz of it")
    return Power(**row)


def _place(path: Path, row: dict[str, Any] | None, memories: tuple[Memory, ...]) -> Placement | None:
    if row is None:
        if memories:
            raise _bad(path, "place", "missing; it says which memory holds code, weights, arena and stack")
        return None
    _check(path, "place.", row, _PLACE, {})
    kinds = {m.name: m.kind for m in memories}
    for key, name in row.items():
        if name not in kinds:
            raise _bad(
                path, f"place.{key}", f"no memory named {name!r}; there are: {', '.join(kinds) or 'none'}"
            )
        if key in ("arena", "stack") and kinds[name] != "ram":
            raise _bad(path, f"place.{key}", f"memory {name!r} is flash; expected one of kind ram")
    return Placement(**row)


def _uart(path: Path, row: dict[str, Any] | None) -> Uart | None:
    if row is None:
        return None
    _check(path, "uart.", row, _UART, _UART_MORE)
    if row["kind"] not in UART_KINDS:
        raise _bad(path, "uart.kind", f"expected one of {', '.join(UART_KINDS)}, got {row['kind']!r}")
    changes = row.get("set_up", [])
    for index, change in enumerate(changes):
        if not isinstance(change, dict):
            raise _bad(path, f"uart.set_up[{index}]", "expected a table ([[uart.set_up]])")
        _check(path, f"uart.set_up[{index}].", change, _CHANGE, {"clear": int})
    return Uart(**{**row, "set_up": tuple(RegisterChange(**change) for change in changes)})


def _emulator(path: Path, row: dict[str, Any] | None) -> Emulator | None:
    if row is None:
        return None
    _check(path, "emulator.", row, _EMULATOR, {"args": list})
    args = _texts(path, "emulator.args", row.get("args", []))
    return Emulator(row["program"], row["package"], row["machine"], row["startup"], args)


def _micropython(path: Path, data: dict[str, Any], memories: tuple[Memory, ...]) -> MicroPython | None:
    row = data.get("micropython")
    if row is None:
        return None
    _check(path, "micropython.", row, _MICROPYTHON, {})
    ram = [m.name for m in memories if m.kind == "ram"]
    if row["heap"] not in ram:
        raise _bad(path, "micropython.heap", f"expected a memory of kind ram, got {row['heap']!r}; there are: "
                   f"{', '.join(ram) or 'none'}")
    for key in ("uart", "emulator", "place"):
        if key not in data:
            raise _bad(path, key, "missing; a build of MicroPython needs it")
    return MicroPython(**row)


def _names(path: Path, row: dict[str, Any]) -> BoardNames:
    _check(path, "names.", row, {}, _NAMES)
    if "micropython" in row and not re.fullmatch(r"\w+/\w+", row["micropython"]):
        raise _bad(path, "names.micropython", f"expected PORT/BOARD, such as rp2/RPI_PICO, got {row['micropython']!r}")
    for key, other in (("platformio", "platformio_platform"), ("platformio_platform", "platformio")):
        if key in row and other not in row:
            raise _bad(path, f"names.{other}", f"missing; expected text, as there is names.{key}")
    return BoardNames(**row)


def _flashing(path: Path, row: dict[str, Any]) -> Flashing:
    _check(path, "flashing.", row, {}, _FLASHING)
    lists = {key: _texts(path, f"flashing.{key}", row.get(key, [])) for key in ("openocd", "west")}
    return Flashing(**{**row, **lists})


def _usb(path: Path, ids: list[Any]) -> tuple[str, ...]:
    for text in _texts(path, "usb", ids):
        if not re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", text):
            raise _bad(path, "usb", f'expected vendor and product in lower-case hex, such as "0483:374b", got {text!r}')
    return tuple(ids)
