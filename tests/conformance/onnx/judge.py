"""Whether the outputs of a test are those that ONNX expects: shape, type and numbers, within the test's tolerance.

ONNX's tolerance is relative, 1e-3 for most tests. Integers and booleans must be equal. A few tests have a wider one,
because what they expect is itself rounded by more than ONNX's tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.export import ExportedProgram

from conformance.batch import Judge
from conformance.cases import Case
from conformance.onnx.cases import OnnxCase
from conformance.program import Program

HALF_ULPS = 2.0  # units in the last place of 16-bit floats, for NARROW
OF_LARGEST = 2.0**-20  # of the largest float that is expected, for CANCELLED
# Expected outputs that were rounded to 16 bits after each step; ONNX's tolerance is less than one unit of these.
NARROW = frozenset({
    "test_attention_3d_causal_bf16", "test_attention_4d_attn_mask_causal_bf16", "test_attention_4d_causal_bf16",
    "test_attention_4d_causal_fp16", "test_attention_4d_causal_padded_kv_bf16", "test_attention_4d_padded_kv_bf16",
})
# Expected outputs that are what float32 leaves of zeros, such as 1.9e-7 beside numbers of 10.
CANCELLED = frozenset({"test_dft_inverse", "test_dft_inverse_opset19"})


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
        rtol = max(self.test.rtol, HALF_ULPS * torch.finfo(want.dtype).eps if self.test.name in NARROW else 0.0)
        g, w = got.double(), want.double()
        same = (g == w) | (g.isnan() & w.isnan())
        atol = self.test.atol + (OF_LARGEST * float(w.abs().max()) if self.test.name in CANCELLED else 0.0)
        near = (g - w).abs() <= atol + rtol * w.abs()
        return ~(same | (near & g.isfinite() & w.isfinite()))


class OnnxProgram(Program):
    """Every test counts."""

    def left_out(self, decomposed: ExportedProgram) -> dict[int, tuple[str, str]]:
        return {}


class OnnxJudge(Judge):
    truth = OnnxTruth  # type: ignore[assignment]
    program = OnnxProgram

    def goes_to_boards(self, case: Case, number: int, small: bool) -> bool:
        assert isinstance(case, OnnxCase)
        return case.test.chosen
