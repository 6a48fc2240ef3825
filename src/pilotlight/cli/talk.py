"""What a command says: its result on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import math
import re
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from pilotlight.errors import PilotlightError
from pilotlight.report.style import console

PATIENCE = 2.0  # seconds before a stage that takes long says so
_REPEAT = 10.0  # seconds between lines where there is no terminal


class Talk:
    """verbosity 1: every stage with its time; 2: tracebacks; 3: the commands that are run."""

    def __init__(self, as_json: bool = False, verbosity: int = 0, command: str | None = None):
        self.as_json = as_json
        self.verbosity = verbosity
        self.command = command  # as a shell takes it
        self.out = console(sys.stdout)
        self.err = console(sys.stderr)
        if verbosity < 2:
            warnings.simplefilter("ignore")  # PyTorch's own
        if verbosity >= 3:
            logging.basicConfig(stream=sys.stderr, format="%(message)s")
            logging.getLogger("pilotlight").setLevel(logging.DEBUG)

    @classmethod
    def from_arguments(cls, args: Sequence[str]) -> Talk:
        """Read before the arguments are parsed, so that a mistake in them is reported the way the user wants."""
        command = shlex.join(["pilotlight", *args])
        args = [*args, "--"][: [*args, "--"].index("--")]  # what comes after it is somebody else's
        loud = [len(arg) - 1 for arg in args if re.fullmatch("-v+", arg)]
        return cls("--json" in args, sum(loud) + args.count("--verbose"), command)

    def result(self, data: dict[str, Any], *shown: RenderableType) -> None:
        """The one object for programs, or tables for people."""
        if self.as_json:
            self.out.file.write(json.dumps(_finite(data), indent=2) + "\n")
            return
        for item in shown:
            if isinstance(item, str):  # as it is: no markup, no new line ends
                self.out.print(Text(item), soft_wrap=True)
            else:
                self.out.print(item)

    def show(self, item: RenderableType) -> None:
        """A part of the result as soon as it is there, for people; programs get the whole at the end."""
        if not self.as_json:
            self.out.print(Text(item) if isinstance(item, str) else item, soft_wrap=isinstance(item, str))
            self.out.file.flush()

    def note(self, text: str) -> None:
        self.err.print(Text(text, style="dim"))

    def fail(self, error: PilotlightError, trace: str) -> None:
        if self.as_json:
            self.out.file.write(json.dumps({"error": error.as_dict()}, indent=2) + "\n")
        else:
            self.err.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
            if error.where:
                self.err.print(Text(f"  at {error.where}"), soft_wrap=True)
            if error.hint:
                self.err.print(Text.assemble(("  hint: ", "bold"), error.hint), soft_wrap=True)
        if self.verbosity >= 2:
            sys.stderr.write(trace)

    @contextlib.contextmanager
    def stage(self, text: str) -> Iterator[ProgressStage]:
        """A part of the work: shown while it lasts if it takes long, with an estimate if there is one."""
        stage = ProgressStage(text, self.err)
        stage.start()
        try:
            yield stage
        finally:
            stage.stop()
        if self.verbosity >= 1:
            self.note(f"{text}: {stage.seconds:.1f} s")

    @contextlib.contextmanager
    def loading_pytorch(self) -> Iterator[None]:
        """The stage of its import, which makes a million objects that live as long as the process: the garbage
        collector never looks at them, neither meanwhile nor after."""
        with self.stage("loading PyTorch"):
            first = "torch" not in sys.modules
            if first:
                gc.disable()
            try:
                yield
            finally:
                if first:
                    gc.freeze()
                    gc.enable()


class ProgressStage:
    """Watches a part of the work from its own thread: a spinner on a terminal, else plain lines."""

    def __init__(self, text: str, console: Console):
        self.text = text
        self.console = console
        self._begun = time.monotonic()
        self._progress: tuple[int, int] | None = None
        self._first: tuple[int, float] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def done(self, count: int, of: int) -> None:
        """Report `count` of `of` parts done; the estimate starts at the first call, so it leaves out set-up."""
        self._progress = (count, of)
        self._first = self._first or (count, time.monotonic())

    def line(self) -> str:
        if self._progress is None or self._first is None:
            return f"{self.text}: {self.seconds:.0f} s"
        count, of = self._progress
        before, since = self._first
        text = f"{self.text}: {count} of {of}"
        if count == of:
            text += ", finishing"
        elif count > before:
            left = (time.monotonic() - since) / (count - before) * (of - count)
            text += f", about {left:.0f} s left"
        return text

    def _watch(self) -> None:
        if self._over.wait(PATIENCE):
            return
        if not self.console.is_terminal:
            self.console.print(Text(f"{self.text} ..."))
            while not self._over.wait(_REPEAT):
                self.console.print(Text(self.line()))
            return
        with Status(Text(self.line()), console=self.console, spinner="dots") as status:
            while not self._over.wait(0.25):
                status.update(Text(self.line()))


def _finite(item: Any) -> Any:
    """JSON has no infinities and no NaN: null stands for both."""
    if isinstance(item, dict):
        return {key: _finite(value) for key, value in item.items()}
    if isinstance(item, list | tuple):
        return [_finite(value) for value in item]
    return None if isinstance(item, float) and not math.isfinite(item) else item
