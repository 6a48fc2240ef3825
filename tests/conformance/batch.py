"""Cases → verdicts. A batch is compiled as one module; what goes wrong is narrowed down to single cases.

Some batches also run on emulated boards, from the graph that was captured for this computer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import pilotlight as pl
from conformance.build import CompilerError, run_on, run_strictly
from conformance.cases import Case, Verdict
from conformance.judge import Truth
from conformance.program import REFUSALS, ExportError, Program, crash
from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.graph import Graph

PORTS = 240  # a board's server numbers its ports with a byte
BOARDS = ("mps2-an386", "riscv32-virt")
EVERY = 6  # of so many cases one goes to the boards
LARGEST = 16384  # bytes of inputs of a case that does: a batch of them has to fit a board's memory


class _FailedError(Exception):
    """The batch as a whole fails; a single case then has this outcome."""

    def __init__(self, outcome: str, reason: str):
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class _Batch:
    """Cases that will be one module, with PyTorch's own answers."""

    def __init__(self, boards: Sequence[str] = ()):
        self.boards = boards
        self.rows: list[tuple[Case, Truth]] = []
        self.ports = (0, 0)

    def add(self, case: Case, truth: Truth, size: int) -> _Batch | None:
        """A batch that has to be judged now, since this case does not fit into it any more."""
        full = None
        needs = (len(case.inputs()), len(truth.single))
        if self.rows and (len(self.rows) == size or any(a + b > PORTS for a, b in zip(self.ports, needs, strict=True))):
            full = self.part(0, len(self.rows))
            self.rows, self.ports = [], (0, 0)
        self.rows.append((case, truth))
        self.ports = (self.ports[0] + needs[0], self.ports[1] + needs[1])
        return full

    def part(self, start: int, end: int) -> _Batch:
        part = _Batch(self.boards)
        part.rows = self.rows[start:end]
        return part


class Judge:
    """Gives every case a verdict; generated files live in `work` for a moment."""

    truth: Callable[[Case], Truth] = Truth
    program: type[Program] = Program

    def __init__(self, work: Path, size: int = 48, boards: Sequence[str] = (), every: int = EVERY):
        self.work = work
        self.size = size
        self.boards = boards
        self.every = every

    def judge(self, cases: Sequence[Case]) -> Iterator[Verdict]:
        here, there = _Batch(), _Batch(self.boards)
        number = 0
        for case in cases:
            try:
                truth = self.truth(case)
            except Exception as error:  # PyTorch itself refuses
                yield Verdict(case, "export", f"eager PyTorch raises {type(error).__name__}")
                continue
            if not truth.single:
                yield Verdict(case, "no-tensor")
                continue
            small = sum(x.numel() * x.element_size() for x in [*case.inputs(), *truth.single]) <= LARGEST
            chosen = bool(self.boards) and self.goes_to_boards(case, number, small)
            full = (there if chosen else here).add(case, truth, self.size)
            number += small
            if full is not None:
                yield from self._settle(full)
        for batch in (here, there):
            if batch.rows:
                yield from self._settle(batch)

    def goes_to_boards(self, case: Case, number: int, small: bool) -> bool:
        """Whether a case runs on the boards as well; `number` counts the small ones before it."""
        return small and number % self.every == 0

    def _settle(self, batch: _Batch) -> Iterator[Verdict]:
        count = len(batch.rows)
        try:
            verdicts = self._try(batch)
        except DoesNotFitError:  # the board's memory
            if count == 1:
                batch.boards = ()
                yield from self._settle(batch)
            else:
                yield from self._halves(batch)
        except _FailedError as failed:
            if count == 1:
                yield Verdict(batch.rows[0][0], failed.outcome, failed.reason)
            else:
                yield from self._halves(batch)
        else:
            for number, (case, _) in enumerate(batch.rows):
                outcome, reason = verdicts.get(number, ("pass", ""))
                yield Verdict(case, outcome, reason, tuple(batch.boards) if outcome == "pass" else ())

    def _halves(self, batch: _Batch) -> Iterator[Verdict]:
        half = len(batch.rows) // 2
        yield from self._settle(batch.part(0, half))
        yield from self._settle(batch.part(half, len(batch.rows)))

    def _try(self, batch: _Batch) -> dict[int, tuple[str, str]]:
        """Outcome and reason of the cases that do not pass."""
        program = self.program([case for case, _ in batch.rows], [len(truth.single) for _, truth in batch.rows])
        try:
            graph = program.capture()
        except ExportError as error:
            raise _FailedError("export", str(error)) from error
        except PilotlightError as error:
            raise _FailedError("refused" if error.kind in REFUSALS else "wrong", error.message) from error
        except Exception as error:
            raise _FailedError("wrong", crash(error)) from error
        verdicts = dict(program.apart)
        if graph is None:
            return verdicts
        inputs = [x for number, (case, _) in enumerate(batch.rows) if number not in verdicts for x in case.inputs()]
        for board in ("", *batch.boards):
            outputs = iter(self._run(board, graph, inputs))
            for number, (_, truth) in enumerate(batch.rows):
                if number not in program.apart:
                    difference = truth.differs([next(outputs) for _ in truth.single])
                    if difference is not None:
                        verdicts.setdefault(number, ("wrong", _on(board, difference)))
        return verdicts

    def _run(self, board: str, graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """Outputs on a board, or on this computer with sanitizers."""
        folder = self.work / "model"
        try:
            return run_on(board, graph, inputs) if board else run_strictly(pl.compile(graph), inputs, folder)
        except DoesNotFitError:
            raise
        except CompilerError as error:
            raise _FailedError("wrong", f"the C compiler says: {error}") from error
        except PilotlightError as error:
            if error.kind in REFUSALS:
                raise _FailedError("refused", _on(board, error.message)) from error
            raise _FailedError("wrong", _on(board, f"{error.kind}: {_sanitizer(error.message)}")) from error
        except Exception as error:
            raise _FailedError("wrong", _on(board, crash(error))) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _on(board: str, text: str) -> str:
    return f"on {board}: {text}" if board else text


def _sanitizer(text: str) -> str:
    """The one line of a sanitizer's report that says what it found."""
    for line in text.splitlines():
        if "runtime error" in line or "ERROR: AddressSanitizer" in line:
            return line.strip()
    return text.splitlines()[0]
