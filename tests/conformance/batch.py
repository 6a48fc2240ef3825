"""Cases → verdicts. A batch is compiled as one module; what goes wrong is narrowed down to single cases."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import pilotlight as pl
from conformance.build import CompilerError, run_strictly
from conformance.cases import Case, Verdict
from conformance.judge import Truth
from conformance.program import REFUSALS, ExportError, Program, crash
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph

PORTS = 240  # a board's server numbers its ports with a byte


Run = Callable[[Graph, list[torch.Tensor], Path], list[torch.Tensor]]


def compile_strictly(graph: Graph, inputs: list[torch.Tensor], folder: Path) -> list[torch.Tensor]:
    """On this computer, with sanitizers."""
    return run_strictly(pl.compile(graph), inputs, folder)


class _FailedError(Exception):
    """The batch as a whole fails; a single case then has this verdict."""

    def __init__(self, outcome: str, reason: str):
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class Judge:
    """Gives every case a verdict; generated files live in `work` for a moment."""

    def __init__(self, work: Path, size: int = 48, run: Run = compile_strictly):
        self.work = work
        self.size = size
        self.run = run

    def judge(self, cases: Sequence[Case]) -> Iterator[Verdict]:
        batch: list[tuple[Case, Truth]] = []
        ports = [0, 0]
        for case in cases:
            try:
                truth = Truth(case)
            except Exception as error:  # PyTorch itself refuses
                yield Verdict(case, "export", f"eager PyTorch raises {type(error).__name__}")
                continue
            if not truth.single:
                yield Verdict(case, "no-tensor")
                continue
            needs = [len(case.inputs()), len(truth.single)]
            if batch and (len(batch) == self.size or any(a + b > PORTS for a, b in zip(ports, needs, strict=True))):
                yield from self._settle(batch)
                batch, ports = [], [0, 0]
            batch.append((case, truth))
            ports = [a + b for a, b in zip(ports, needs, strict=True)]
        if batch:
            yield from self._settle(batch)

    def _settle(self, batch: list[tuple[Case, Truth]]) -> Iterator[Verdict]:
        try:
            verdicts = self._try(batch)
        except _FailedError as failed:
            if len(batch) == 1:
                yield Verdict(batch[0][0], failed.outcome, failed.reason)
                return
            half = len(batch) // 2
            yield from self._settle(batch[:half])
            yield from self._settle(batch[half:])
            return
        for number, (case, _) in enumerate(batch):
            yield Verdict(case, *verdicts.get(number, ("pass", "")))

    def _try(self, batch: list[tuple[Case, Truth]]) -> dict[int, tuple[str, str]]:
        """Outcome and reason of the cases that do not pass."""
        program = Program([case for case, _ in batch], [len(truth.single) for _, truth in batch])
        try:
            graph = program.capture()
        except ExportError as error:
            raise _FailedError("export", str(error)) from error
        except PilotlightError as error:
            raise _FailedError("refused" if error.kind in REFUSALS else "wrong", error.message) from error
        except Exception as error:
            raise _FailedError("wrong", crash(error)) from error
        verdicts = program.apart
        if graph is None:
            return verdicts
        folder = self.work / "model"
        kept = [row for number, row in enumerate(batch) if number not in verdicts]
        inputs = [x for case, _ in kept for x in case.inputs()]
        try:
            outputs = iter(self.run(graph, inputs, folder))
        except CompilerError as error:
            raise _FailedError("wrong", f"the C compiler says: {error}") from error
        except PilotlightError as error:
            if error.kind in REFUSALS:
                raise _FailedError("refused", error.message) from error
            raise _FailedError("wrong", f"{error.kind}: {_sanitizer(error.message)}") from error
        except Exception as error:
            raise _FailedError("wrong", crash(error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for number, (_, truth) in enumerate(batch):
            if number not in program.apart:
                difference = truth.differs([next(outputs) for _ in truth.single])
                if difference is not None:
                    verdicts = {**verdicts, number: ("wrong", difference)}
        return verdicts


def _sanitizer(text: str) -> str:
    """The one line of a sanitizer's report that says what it found."""
    for line in text.splitlines():
        if "runtime error" in line or "ERROR: AddressSanitizer" in line:
            return line.strip()
    return text.splitlines()[0]
