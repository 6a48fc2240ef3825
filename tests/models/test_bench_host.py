"""The comparison on this computer: our time, a ratio for each runtime that ran, a reason for each that did not."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import host

    monkeypatch.setattr(host, "ROUNDS", 3)
    monkeypatch.setattr(host, "AT_LEAST", 1e-4)
    return host


@pytest.mark.parametrize("mode", ["float32", "int8"])
def test_every_runtime_has_a_ratio_or_a_reason(host: ModuleType, mode: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 25, 4)).eval()
    row = host.compare("small", mode, model, [torch.randn(1, 3, 5, 5) for _ in range(8)], None)
    assert row.microseconds > 0
    assert set(row.ratios) | set(row.missing) == set(host.RUNTIMES) and not set(row.ratios) & set(row.missing)
    assert ("torch eager" in row.ratios) == (mode == "float32")
    assert all(row.ratios.values()) and all(row.missing.values())
    table = host.markdown([row])
    assert all(f"{system}, {mode}: {reason} (small)" in table for system, reason in row.missing.items())


def test_wrong_outputs_are_noticed(host: ModuleType) -> None:
    want = np.array([1.0, -2.0, 3.0], np.float32)
    assert not host.differs(want * 1.0001, want, "float32")
    assert host.differs(want * 1.01, want, "float32") and not host.differs(want * 1.01, want, "int8")
    assert host.differs(want[::-1], want, "int8") and host.differs(want[:2], want, "int8")
