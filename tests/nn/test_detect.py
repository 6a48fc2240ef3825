"""Clipping and detections, frame by frame."""

from __future__ import annotations

import pytest
import torch

from pilotlight import nn
from pilotlight.errors import PilotlightError


@pytest.mark.parametrize(
    ("samples", "clipped"),
    [
        ([0, 1, 1, 1, 0, 0], True),
        ([0, 1, 1, 0.5, 1, 1], False),
        ([0, -1, -1, -1, 0, 0], True),
        ([0, 1, -1, 1, -1, 1], False),
        ([0, 0, 0, 0.9, 0.95, 1.5], True),
        ([float("nan")] * 6, False),
    ],
)
def test_clipping_is_a_run_at_the_limit(samples: list[float], clipped: bool) -> None:
    x = torch.tensor([samples, [0.0] * 6])
    assert nn.ClippingDetector(0.9, 3)(x).tolist() == [clipped, False]


def _posteriors(frames: int, classes: int, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.softmax(3 * torch.randn(frames, 1, classes), -1)


@pytest.mark.parametrize(("refractory", "minimum", "ignored"), [(0, 1, ()), (3, 1, ()), (5, 4, (0, 2))])
def test_detections_are_those_of_the_definition(refractory: int, minimum: int, ignored: tuple[int, ...]) -> None:
    smoothing = nn.PosteriorSmoothing(4, 4, 0.45, refractory, minimum, ignored)
    posteriors = _posteriors(60, 4, 1)
    found = 0
    for _ in range(2):
        last = -1000
        for t in range(60):
            detected, scores = smoothing(posteriors[t])
            mean = posteriors[max(0, t - 3) : t + 1].mean(0)
            torch.testing.assert_close(scores, mean)
            top = int(mean.argmax())
            fires = float(mean.max()) >= 0.45 and t - last > refractory and t + 1 >= minimum and top not in ignored
            assert detected.tolist() == [top if fires else -1]
            last, found = (t, found + 1) if fires else (last, found)
        smoothing.reset()
    assert found > 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.PosteriorSmoothing(3, minimum=11), "minimum must be at most the window, 10, not 11"),
        (lambda: nn.PosteriorSmoothing(3, ignored=[3]), "ignored class 3 is not among 3 classes"),
        (lambda: nn.PosteriorSmoothing(3, threshold=0.0), "threshold must be a positive number"),
        (lambda: nn.PosteriorSmoothing(3)(torch.zeros(2, 3)), r"shape \(1, 3\), and got \(2, 3\)"),
        (lambda: nn.ClippingDetector(run=0), "run must be a whole number"),
        (lambda: nn.ClippingDetector(run=3)(torch.zeros(1, 2)), "at least 3 samples"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        make()  # type: ignore[operator]
