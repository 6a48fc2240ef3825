"""Measurements of kernels as a text file: `pilotlight tune --out FILE` writes it, `--tuned FILE` reads it.

They hold for layers of these shapes on one kind of core, with the kernels and the compiler that they were made with; a
file of others is refused. Names are sorted, a line a kernel, so that files can be compared and merged.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from pilotlight import kernels, measure
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.installed import compiler_version
from pilotlight.toolchain.find import find
from pilotlight.tune.places import Place, better, place_lines, read_place

FORMAT = 1
_SOURCES = (".py", ".h", ".j2", ".S", ".c")
_HEAD = "# What kernels take for layers on one kind of core, measured by `pilotlight tune`; read with --tuned.\n"


@dataclass(frozen=True)
class Cost:
    """What one execution takes, or why there is no such number."""

    instructions: int = 0
    cycles: int | None = None  # estimated; None where the core has no table
    failure: str | None = None
    timed: int | None = None  # cycles that a board counted

    @property
    def value(self) -> int:
        """What is minimized."""
        counted = self.instructions if self.cycles is None else self.cycles
        return counted if self.timed is None else self.timed


@dataclass(frozen=True)
class Origin:
    """With what costs were measured; those of another one do not hold."""

    core: str
    features: str
    compiler: str
    kernels: str  # a digest of their sources and of the table of cycles

    @staticmethod
    def of(board: Board, toolchain: str | None = None) -> Origin:
        if board.is_host:
            raise PilotlightError(
                "kernels are measured on boards, not on host", hint="choose one of `pilotlight boards`", kind="usage"
            )
        compiler = compiler_version(find(board, toolchain)) or "unknown"
        return Origin(board.cpu, " ".join(sorted(board.isa)), compiler, _kernels(board.cycles))


@cache
def _kernels(table: str | None) -> str:
    """Of what decides which candidates there are and what they execute."""
    folder = Path(kernels.__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES)
    if table is not None:
        files.append(Path(measure.__file__).parent / "cycles" / f"{table}.toml")
    sha = hashlib.sha256()
    for path in files:
        sha.update(path.name.encode())
        sha.update(path.read_text(encoding="utf-8").encode())
    return sha.hexdigest()[:16]


@dataclass
class Costs:
    """Costs of kernels by layer and name."""

    origin: Origin
    layers: dict[str, dict[str, Cost]] = field(default_factory=dict)
    board: str = ""  # the one that timed some of them: its memories count
    places: dict[str, Place] = field(default_factory=dict)  # of models on boards, by place_key()

    def of(self, layer: str) -> Mapping[str, Cost]:
        """What was measured for a layer; where a board timed some of its kernels, only these can be compared."""
        found = self.layers.get(layer, {})
        timed = {name: cost for name, cost in found.items() if cost.timed is not None or cost.failure is not None}
        return timed if any(cost.timed is not None for cost in timed.values()) else found

    def add(self, layer: str, kernel: str, cost: Cost) -> None:
        """Of two measurements of one kernel the larger counts: weights may change a count a little."""
        known = self.layers.get(layer, {}).get(kernel)
        if known is None or (known.failure is None and _rank(cost) > _rank(known)):
            self.layers.setdefault(layer, {})[kernel] = cost

    def merge(self, other: Costs) -> None:
        self.board = self.board or other.board
        for layer, found in other.layers.items():
            for kernel, cost in found.items():
                self.add(layer, kernel, cost)
        for key, place in other.places.items():
            self.places[key] = better(self.places.get(key, place), place)

    @property
    def count(self) -> int:
        return sum(map(len, self.layers.values()))

    def text(self) -> str:
        lines = [_HEAD.rstrip(), f"format = {FORMAT}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in asdict(self.origin).items()]
        lines += [f"board = {json.dumps(self.board)}"] if self.board else []
        for layer, found in sorted(self.layers.items()):
            lines += ["", f"[layers.{json.dumps(layer)}]"]
            lines += [f"{json.dumps(kernel)} = {_written(cost)}" for kernel, cost in sorted(found.items())]
        return "\n".join([*lines, *place_lines(self.places)]) + "\n"

    def write(self, path: Path) -> None:
        """All of it or nothing: a reader never sees half of a file."""
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(self.text(), encoding="utf-8", newline="\n")
        partial.replace(path)


def _written(cost: Cost) -> str:
    if cost.failure is not None:
        return json.dumps(cost.failure)
    numbers = [cost.instructions, cost.cycles or 0, cost.timed] if cost.timed is not None else [
        cost.instructions, *([] if cost.cycles is None else [cost.cycles])]
    return json.dumps(numbers)


def _rank(cost: Cost) -> tuple[bool, bool, int]:
    """Which of two measurements stays: failures first, then what a board timed."""
    return cost.failure is not None, cost.timed is not None, cost.value


def read_costs(paths: Iterable[Path | str], board: Board, toolchain: str | None = None) -> Costs:
    """The costs in some files, merged, for a board; stale ones are refused."""
    costs = Costs(Origin.of(board, toolchain))
    for path in map(Path, paths):
        costs.merge(_read(path, costs.origin, board))
    return costs


def _read(path: Path, expected: Origin, board: Board) -> Costs:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        hint = "write one with pilotlight tune --out"
        raise PilotlightError(f"there is no file {path}", hint=hint, kind="file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _not_costs(path, str(error)) from error
    if data.get("format") != FORMAT:
        raise _not_costs(path, f"its format is {data.get('format')!r}, not {FORMAT}")
    for item in fields(Origin):
        found, wanted = data.get(item.name), getattr(expected, item.name)
        if found != wanted:
            raise PilotlightError(
                f"{path} is stale: it was measured with {_WHAT[item.name]} {found!r}, this is {wanted!r}",
                hint="measure again with pilotlight tune --out, into another file if both are needed", kind="stale",
            )
    timed_on = data.get("board", "")
    if timed_on not in ("", board.name):
        raise PilotlightError(
            f"{path} was timed on a board {timed_on}, this is for {board.name}",
            hint="measure this board with pilotlight tune --device", kind="stale",
        )
    costs = Costs(expected, board=timed_on)
    for layer, kernel, value in _rows(path, data):
        costs.add(layer, kernel, value)
    for key, value in data.get("places", {}).items():
        place = read_place(value)
        if place is None:
            raise _not_costs(path, f"{key}: {value!r} is no placement")
        costs.places[key] = place
    return costs


_WHAT = {"core": "core", "features": "a core with", "compiler": "compiler", "kernels": "kernels and timings"}


def _rows(path: Path, data: Mapping[str, Any]) -> Iterable[tuple[str, str, Cost]]:
    layers = data.get("layers", {})
    if not isinstance(layers, dict):
        raise _not_costs(path, "layers is not a table")
    for layer, found in layers.items():
        if not isinstance(found, dict):
            raise _not_costs(path, f"{layer!r} is not a table")
        for kernel, value in found.items():
            yield layer, kernel, _cost(path, f"{layer}, {kernel}", value)


def _cost(path: Path, where: str, value: Any) -> Cost:
    if isinstance(value, str):
        return Cost(failure=value)
    numbers = value if isinstance(value, list) else []
    if not 1 <= len(numbers) <= 3 or not all(type(number) is int and number >= 0 for number in numbers):
        raise _not_costs(path, f"{where}: {value!r} is neither one to three counts nor a reason")
    instructions, cycles, timed = (*numbers, None, None)[:3]
    return Cost(instructions, cycles or None, timed=timed)


def _not_costs(path: Path, why: str) -> PilotlightError:
    return PilotlightError(
        f"{path} is no file of measurements: {why}", hint="write one with pilotlight tune --out", kind="file"
    )
