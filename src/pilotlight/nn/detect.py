"""Decisions: is the signal clipped, was a word spoken."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from pilotlight.nn.checks import is_signal, positive, refusal, whole


class ClippingDetector(torch.nn.Module):
    """Whether a signal (..., time) stays at or beyond `level`, above or below, for `run` samples: bool (...)."""

    def __init__(self, level: float = 0.999, run: int = 3):
        super().__init__()
        self.level, self.run = positive("level", level), whole("run", run)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        is_signal(x, self.run, "ClippingDetector")
        rows = x.reshape(-1, 1, x.shape[-1])
        largest = F.max_pool1d(torch.cat((rows, -rows), 1), self.run, 1)  # at most -level: a run of samples beyond it
        return (largest.amin((1, 2)) <= -self.level).reshape(x.shape[:-1])

    def extra_repr(self) -> str:
        return f"level={self.level}, run={self.run}"


class PosteriorSmoothing(torch.nn.Module):
    """Detections from the posteriors of one frame after another.

    Each call takes posteriors (..., classes) and gives `(detected, scores)`: scores (..., classes) are averages over
    the last `window` frames (fewer at first), detected (...) is the class with the highest one if it reaches
    `threshold`, else -1. After a detection there is none for `refractory` frames, nor before `minimum` frames were
    seen; classes in `ignored`, such as silence, are never reported. `state` has the dimensions before classes.
    """

    def __init__(
        self, classes: int, window: int = 10, threshold: float = 0.8, refractory: int = 20, minimum: int = 1,
        ignored: Sequence[int] = (), state: Sequence[int] = (1,),
    ):
        super().__init__()
        self.classes, self.window = whole("classes", classes), whole("window", window)
        self.refractory, self.minimum = whole("refractory", refractory, 0), whole("minimum", minimum)
        self.threshold, self.state = positive("threshold", threshold), tuple(state)
        if minimum > window:
            raise refusal(f"minimum must be at most the window, {window}, not {minimum}")
        reported = torch.ones(classes, dtype=torch.bool)
        for c in ignored:
            if not 0 <= c < classes:
                raise refusal(f"ignored class {c} is not among {classes} classes")
            reported[c] = False
        self.register_buffer("reported", reported, persistent=False)
        self.register_buffer("history", torch.zeros(window, *self.state, classes))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("wait", torch.zeros(self.state, dtype=torch.int64))
        self.reported: torch.Tensor
        self.history: torch.Tensor
        self.seen: torch.Tensor
        self.wait: torch.Tensor

    def forward(self, posteriors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if tuple(posteriors.shape) != (*self.state, self.classes):
            raise refusal(
                f"PosteriorSmoothing takes one frame of shape {(*self.state, self.classes)}, and got "
                f"{tuple(posteriors.shape)}",
                "call it once a frame; state= gives the dimensions before classes",
            )
        history = torch.cat((self.history[1:], posteriors.detach()[None]))
        seen = torch.clamp(self.seen + 1, max=self.window)
        scores = history.sum(0) / seen
        best, top = scores.max(-1)
        wait = torch.clamp(self.wait - 1, min=0)
        reported = self.reported.index_select(0, top.reshape(-1)).reshape(self.state)  # [top] of one number decides
        found = (best >= self.threshold) & (wait == 0) & (seen >= self.minimum) & reported
        self.history.copy_(history)
        self.seen.copy_(seen)
        self.wait.copy_(torch.where(found, self.refractory + 1, wait))
        return torch.where(found, top, -1), scores

    def reset(self) -> None:
        """Forget the frames so far."""
        self.history.zero_()
        self.seen.zero_()
        self.wait.zero_()

    def extra_repr(self) -> str:
        return (
            f"classes={self.classes}, window={self.window}, threshold={self.threshold}, refractory={self.refractory}, "
            f"minimum={self.minimum}"
        )
