"""Measured kernels in flash: a project with the device server is built and flashed with and without them, and the
board's own counter of cycles decides.

Kernels were estimated, or timed in RAM; in flash, instructions may wait for the memory. What is not faster there is
marked in the file, and no longer used on this board.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotlight.compiler import Build, Running
from pilotlight.device import Device
from pilotlight.errors import PilotlightError
from pilotlight.programs import ProgramBuild
from pilotlight.projects.boot import need_server, project_board
from pilotlight.projects.commands import run_commands
from pilotlight.projects.connect import connect_project
from pilotlight.projects.flash import project_flasher
from pilotlight.projects.manifest import read_manifest
from pilotlight.projects.render import render
from pilotlight.projects.template import load_template
from pilotlight.projects.write import digest
from pilotlight.session import run_connected
from pilotlight.toolchain.folder import read_folder
from pilotlight.trials.confirm import mark_slower, tuned_build
from pilotlight.trials.search import Search
from pilotlight.trials.window import REPEATS
from pilotlight.tune.costs import Cost
from pilotlight.tune.places import place_key

SLOWER_IN_FLASH = "slower in the flash of the board"
NOT_CONFIRMED = "not confirmed in the flash of the board"
ROUNDS = 4  # of flashing other kernels, after which the usual ones stay

AnyBuild = Build | ProgramBuild


@dataclass(frozen=True)
class Flashed:
    """Cycles that the board counted for one run of each entry point, added up; kernels and memories that lost."""

    before: int
    after: int
    rounds: int  # of flashing
    dropped: tuple[str, ...] = ()

    @property
    def faster(self) -> bool:
        return self.after < self.before

    def as_dict(self) -> dict[str, Any]:
        return {"default": self.before, "tuned": self.after, "faster": self.faster, "dropped": list(self.dropped)}


class ServerProject:
    """A project of `pilotlight new --app server` whose files take turns; they are put back in the end."""

    def __init__(
        self, folder: Path, build: AnyBuild, port: str | None = None, tool: str | None = None,
        repeats: int = REPEATS, timeout: float = 60.0,
    ):
        self.folder, self.port, self.tool, self.repeats, self.timeout = folder, port, tool, repeats, timeout
        self.manifest = read_manifest(folder)
        need_server(folder, self.manifest)
        board = project_board(folder, self.manifest)
        if board.name != build.board.name:
            raise PilotlightError(
                f"{folder} is a project for {board.name}, and the model is tuned for {build.board.name}",
                hint="name a project for the same board", kind="usage",
            )
        found = read_folder(folder / self.manifest.model).name
        if found != build.name:
            raise PilotlightError(
                f"{folder} is a project of the model {found}, not of {build.name}",
                hint="make one: pilotlight new DIR MODEL --app server", kind="usage",
            )
        self._kept: dict[Path, bytes | None] = {}

    def __enter__(self) -> ServerProject:
        return self

    def __exit__(self, *_: object) -> None:
        """The files as they were."""
        for path, data in self._kept.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(data)
        self._kept = {}

    def cycles(self, build: AnyBuild) -> int:
        """Build, flash, run: the outputs must match, and the median of several runs counts."""
        self._write(build)
        self.make()
        with contextlib.closing(self.open(build)) as device:
            if not run_connected(build, device).match:
                raise PilotlightError(
                    f"{build.name} gives other results from the flash of {device.name}",
                    where=f"board {build.board.name}", hint=f"see `pilotlight compare {self.folder}`", kind="mismatch",
                )
            return sum(self._median(device, part, k) for k, part in enumerate(_parts(build)))

    def make(self) -> None:
        """Build what is in the folder, and write it to the board."""
        run_commands(self.folder, "build")
        flasher, job = project_flasher(self.folder, self.tool)
        flasher.flash(job)

    def open(self, build: AnyBuild) -> Device:
        return connect_project(self.folder, build, self.port, self.timeout)

    def _median(self, device: Device, part: Build, entry: int) -> int:
        running = Running(device, part.lowered, entry)
        times = []
        for _ in range(self.repeats):
            device.reset()
            running.flat(part.graph.truth.example)
            cycles = device.marks().cycles
            if cycles is None:
                raise PilotlightError(
                    f"the server on {device.name} does not count cycles",
                    hint="build it with PL_CYCLES and a pl_io_cycles(), see docs/device-protocol.md",
                    kind="not-countable",
                )
            times.append(cycles)
        return round(statistics.median(times))

    def _write(self, build: AnyBuild) -> None:
        """The files of another model of the same name; what is the user's, or was changed, stays."""
        manifest = self.manifest
        template = load_template(
            manifest.template, None if manifest.templates is None else self.folder / manifest.templates)
        code = manifest.code_in or (build.place.code if build.place else "") or None
        if code is not None and not template.takes_code_in(build.board.memory(code)):
            code = None
        info = build.build_for(build.board, need_compiler=False)
        made = render(
            template, build, info, self.folder.absolute().name, manifest.options, code, manifest.app)
        for name, data in made.files.items():
            path = self.folder / name
            now = path.read_bytes() if path.is_file() else None
            before = self._kept.get(path, now)
            changed = before is not None and digest(before) != manifest.files.get(name)
            if name in manifest.yours or changed or now == data:
                continue
            self._kept.setdefault(path, now)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _parts(build: AnyBuild) -> list[Build]:
    return [*build.entries.values()] if isinstance(build, ProgramBuild) else [build]


def confirm_flashed(
    search: Search, file: Path, project: ServerProject, progress: Callable[[int, int], None] | None = None
) -> Flashed:
    """The model from flash without and with what the file says. Where that is not faster, first the memories and then
    the kernels are taken back, until it is, or everything is as without the file."""
    _refuse_streams(search.build)
    tell = progress or (lambda done, total: None)
    before = project.cycles(search.build)
    tell(1, 2)
    dropped: list[str] = []
    for number in range(1, ROUNDS + 2):
        tuned = tuned_build(search.build, file)
        if tuned.place is None and not _changes(search, tuned):
            return Flashed(before, before, number, tuple(dropped))
        after = project.cycles(tuned)
        tell(1 + number, 2 + number)
        if after < before:
            return Flashed(before, after, number + 1, tuple(dropped))
        if tuned.place is not None:
            dropped.append(tuned.place.text)
            del search.costs.places[place_key(tuned.board, tuned.name, tuned.lowered_graphs)]
        else:
            dropped += dict.fromkeys(_changes(search, tuned))
            mark_slower(search, tuned, SLOWER_IN_FLASH)
            search.costs.board = search.build.board.name
        if number >= ROUNDS:
            _keep_usual(search, tuned)
        search.costs.write(file)
    return Flashed(before, before, ROUNDS + 1, tuple(dropped))


def _changes(search: Search, build: AnyBuild) -> list[str]:
    """Kernels that took the place of the usual ones."""
    pairs = zip(search.layers, search.kernels(build), strict=True)
    return [kernel for layer, kernel in pairs if kernel != search.default(layer)]


def _keep_usual(search: Search, build: AnyBuild) -> None:
    """Nothing but the usual kernels for layers that still have others."""
    for layer, kernel in zip(search.layers, search.kernels(build), strict=True):
        if kernel == search.default(layer):
            continue
        for name, cost in search.costs.layers[layer.key].items():
            if name != search.default(layer) and cost.failure is None:
                search.costs.layers[layer.key][name] = Cost(failure=NOT_CONFIRMED)


def _refuse_streams(build: AnyBuild) -> None:
    for part in _parts(build):
        if part.graph.streaming is not None:
            raise PilotlightError(
                f"{build.name} is streamed, which --confirm does not time",
                hint="flash it with and without --tuned, and compare `pilotlight run DIR` of both", kind="unsupported",
            )
