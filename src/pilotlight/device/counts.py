"""What the counting plugin wrote: instructions per run and step, and the first run in detail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pilotlight.toolchain import ModelFolder
from pilotlight.toolchain.sizes import symbols


@dataclass(frozen=True)
class Segment:
    """A straight piece of code, executed `times` for one step; `taken`: times it ended in a taken branch."""

    step: int
    address: int
    instructions: int
    times: int
    taken: int


@dataclass(frozen=True)
class Counts:
    """runs[i][s]: instructions of step s in run i. segments: the first run. stopped: step and address where
    the program ended in the middle of a run."""

    runs: tuple[tuple[int, ...], ...] = ()
    segments: tuple[Segment, ...] = ()
    stopped: tuple[int, int] | None = None

    def of_entry(self, calls: Sequence[int], entry: int, first: int, steps: int) -> Counts:
        """One entry point's: `calls` says which ran, `first` is the number of its first step."""
        inside = slice(first, first + max(steps, 1))
        runs = tuple(run[inside] for run, called in zip(self.runs, calls, strict=False) if called == entry)
        own = range(inside.start, inside.stop)
        segments = tuple(replace(s, step=s.step - first) for s in self.segments if s.step in own)
        return Counts(runs, segments, self.stopped)

    @property
    def totals(self) -> tuple[int, ...]:
        """Instructions of each run, from the first of NAME_run to its return."""
        return tuple(sum(run) for run in self.runs)


def labels_text(folder: ModelFolder, image: Path) -> str:
    """The plugin's list of addresses. Step n starts at NAME_step_n, or at several NAME_step_n.K where the
    compiler copied the code around the label."""
    at = symbols(image)
    lines = [f"start {at[entry.function]:x} {folder.before(k)[2]}" for k, entry in enumerate(folder.entries)]
    lines += [f"end {at['pl_run_done']:x}"]
    lines += [f"step {address:x} {step}" for step, address in step_labels(folder.name, at)]
    return "\n".join(lines) + "\n"


def step_labels(name: str, at: Mapping[str, int]) -> list[tuple[int, int]]:
    """Steps and the addresses where they start, from the addresses of symbols."""
    label = re.compile(rf"{name}_step_(\d+)(?:\.\d+)?")
    return sorted((int(match[1]), at[match[0]]) for match in map(label.fullmatch, at) if match)


class CountsFile:
    """The file that the plugin writes to, which grows with each run."""

    def __init__(self, path: Path):
        self.path = path
        self._counts = Counts()
        self._taken = 0  # bytes, all of them whole lines

    def read(self) -> Counts:
        """Everything counted so far. Only what came since the last time is read; a line without an end comes later."""
        text = self._new_lines()
        self._taken += len(text)
        runs: list[tuple[int, ...]] = []
        segments: list[Segment] = []
        stopped = self._counts.stopped
        for line in text.decode("ascii").splitlines():
            kind, *words = line.split()
            if kind == "run":
                runs.append(tuple(int(word) for word in words))
            elif kind == "segment":
                step, address, *rest = words
                segments.append(Segment(int(step), int(address, 16), *(int(word) for word in rest)))
            elif kind == "stopped":
                stopped = (int(words[0]), int(words[1], 16))
        self._counts = Counts(self._counts.runs + tuple(runs), self._counts.segments + tuple(segments), stopped)
        return self._counts

    def _new_lines(self) -> bytes:
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            file.seek(self._taken)
            text = file.read()
        return text[: text.rfind(b"\n") + 1]
