"""Whether the outputs of a test are those that ONNX expects: shape, type and numbers, within the test's tolerance.

ONNX's tolerance is relative, 1e-3 for most tests. Where an output has 16 bits it is at least two units in the last
place. A float may also be off by 2^-20 of the largest one: the expected numbers are float32 themselves. Integers and
booleans must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.export import ExportedProgram

from conformance.batch import Judge
from conformance.cases import Case
from conformance.onnx.cases import OnnxCase
from conformance.program import Program

HALF_ULPS = 2.0
OF_LARGEST = 2.0**-20


class OnnxTruth:
    """The expected outputs of one test."""

    def __init__(self, case: Case):
        assert isinstance(case, OnnxCase)
        self.test = case.test
        self.single = case.expected()

    def differs(self, outputs: Sequence[torch.Tensor]) -> str | None:
        """What is wrong with these outputs, or None."""
        for number, (got, want) in enumerate(zip(outputs, self.single, strict=True)):
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"output {number}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
            bad = self._unlike(got, want)
            if bool(bad.any()):
                at = tuple(int(i) for i in bad.nonzero()[0])
                return (f"output {number}: {int(bad.sum())} of {bad.numel()} elements differ, the first at {list(at)}: "
                        f"got {got[at].item()!r}, expected {want[at].item()!r}")
        return None

    def _unlike(self, got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
        if not want.is_floating_point():
            return got != want
        rtol = self.test.rtol
        if want.dtype in (torch.float16, torch.bfloat16):
            rtol = max(rtol, HALF_ULPS * torch.finfo(want.dtype).eps)
        g, w = got.double(), want.double()
        same = (g == w) | (g.isnan() & w.isnan())
        largest = float(w[w.isfinite()].abs().max()) if bool(w.isfinite().any()) else 0.0
        near = (g - w).abs() <= self.test.atol + rtol * w.abs() + OF_LARGEST * largest
        return ~(same | (near & g.isfinite() & w.isfinite()))


class OnnxProgram(Program):
    """Every test counts."""

    def left_out(self, decomposed: ExportedProgram) -> dict[int, tuple[str, str]]:
        return {}


class OnnxJudge(Judge):
    truth = OnnxTruth  # type: ignore[assignment]
    program = OnnxProgram
