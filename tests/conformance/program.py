"""Cases → one exported program → a graph of those cases that the compiler takes."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from conformance.cases import BatchModule, Case
from conformance.scope import case_of, left_out
from pilotlight.capture import exported
from pilotlight.errors import PilotlightError, UnsupportedError
from pilotlight.graph import Graph

REFUSALS = ("unsupported", "dtype", "dynamic-shape", "data-dependent")
_TRACEBACK = "traceback"
_INPUT = re.compile(r"input tensors_(\d+)\b")


class ExportError(Exception):
    """PyTorch's own export fails."""


class _Importer(exported._Importer):
    """A lowering that raises anything but our own error is a problem of that node, not of the batch."""

    def _call(self, node: torch.fx.Node) -> Any:
        try:
            return super()._call(node)
        except PilotlightError:
            raise
        except Exception as error:
            raise PilotlightError(crash(error), kind=_TRACEBACK) from error


class Program:
    """A batch on its way to a graph. Cases that are left out or refused are taken out of the exported program."""

    def __init__(self, cases: Sequence[Case], outputs: Sequence[int]):
        self.apart: dict[int, tuple[str, str]] = {}  # number of a case: outcome and reason
        self._cases = cases
        self._input_owner = [number for number, case in enumerate(cases) for _ in case.inputs()]
        self._output_owner = [number for number, count in enumerate(outputs) for _ in range(count)]

    def capture(self) -> Graph | None:
        """The graph of the cases that are not apart; None when there are none."""
        inputs = [x for case in self._cases for x in case.inputs()]
        try:
            program = exported.export(BatchModule(self._cases), inputs)
            with torch.no_grad(), exported._quiet():
                decomposed = program.run_decompositions(exported._decompositions())
        except Exception as error:  # of any type
            raise ExportError((str(error).strip() or repr(error)).splitlines()[0]) from error
        self.apart = self.left_out(decomposed)
        self._prune(decomposed)
        while len(self.apart) < len(self._cases):
            try:
                return _Importer(decomposed, program, "batch").run()
            except UnsupportedError as error:
                for problem in error.problems:
                    number = self._owner(problem)
                    if number is None:
                        raise problem from error
                    outcome = "refused" if problem.kind in REFUSALS else "wrong"
                    self.apart.setdefault(number, (outcome, problem.message))
                self._prune(decomposed)
        return None

    def left_out(self, decomposed: ExportedProgram) -> dict[int, tuple[str, str]]:
        """Cases that do not count, with why."""
        return {number: (reason.kind, reason.reason) for number, reason in left_out(decomposed).items()}

    def _owner(self, problem: PilotlightError) -> int | None:
        """The case that a problem belongs to, by its module path or the number of the input."""
        number = case_of(problem.where or "")
        found = _INPUT.search(problem.message)
        return self._input_owner[int(found.group(1))] if number is None and found else number

    def _prune(self, program: ExportedProgram) -> None:
        """Take the inputs, nodes and outputs of the cases that are apart out of the program. Effects, which a token
        chains through all cases, go as well: they are checks that raise an error."""
        if not self.apart:
            return
        graph, signature = program.graph_module.graph, program.graph_signature
        (output,) = [n for n in graph.nodes if n.op == "output"]
        gone = {f"tensors_{k}" for k, number in enumerate(self._input_owner) if number in self.apart}
        rows = list(zip(signature.output_specs, output.args[0], strict=True))
        owners = iter(self._output_owner)
        kept = [row for row in rows if row[0].target not in gone and row[0].kind != OutputKind.TOKEN
                and (row[0].kind != OutputKind.USER_OUTPUT or next(owners) not in self.apart)]
        self._output_owner = [n for n in self._output_owner if n not in self.apart]
        signature.output_specs[:] = [spec for spec, _ in kept]
        output.args = (tuple(node for _, node in kept),)
        for node in reversed(list(graph.nodes)):
            if node.op in ("call_function", "get_attr") and not node.users:
                graph.erase_node(node)
        signature.input_specs[:] = [spec for spec in signature.input_specs if spec.arg.name not in gone]
        for node in list(graph.nodes):
            if node.op == "placeholder" and node.name in gone:
                graph.erase_node(node)


def crash(error: Exception) -> str:
    """An exception as one line, with the function that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}: {text}"
