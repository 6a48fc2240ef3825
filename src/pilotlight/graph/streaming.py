"""What a streaming model is: the step of a model that was captured over a whole recording or window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pilotlight.graph.graph import Graph

FRAMES, WINDOW, LATEST = "frames", "window", "latest"


@dataclass(frozen=True)
class StreamedOutput:
    """What a step gives for one output of the model."""

    name: str
    kind: str  # new frames, an answer over the model's window, or the latest of everything up to now
    axis: int = 0  # of frames: which dimension is time
    frames: int = 1  # new ones in a step
    offset: int = 0  # the first new frame of the first step, as the whole model numbers them; negative: a delay
    warm: int = 0  # the first frame, or step, that is the whole model's
    samples: float = 0.0  # of the input from one frame to the next
    latency: int = 0  # samples that it looks ahead; the latest of all up to now is without so many at the end
    unlike: int = 0  # of the newest frames: those that the whole model has only when more samples have come


@dataclass(frozen=True)
class Streaming:
    """How a step relates to the model that it was made of."""

    hop: int  # samples in a step
    axis: int  # of the inputs: which dimension is time
    window: int  # samples of the captured example
    outputs: tuple[StreamedOutput, ...]
    start: int  # of the window, in samples from the first new one of a step
    exact: bool  # a window's frames are computed again where its borders count
    padded: tuple[str, ...]  # layers whose padding makes windows differ from what streams
    stride: int  # the hop is a multiple of it
    state_bytes: int
    macs: int  # of one step
    macs_window: int  # of the model that was captured
    capacity: int  # samples that the buffer of the C interface holds
    rate: float | None = None  # samples a second
    features: tuple[str, int] | None = None  # a value of the step that pictures show, and its axis of time
    model: Graph = field(repr=False, compare=False, kw_only=True)  # that was captured

    @property
    def latency(self) -> int:
        """Samples that the slowest output looks ahead."""
        return max((output.latency for output in self.outputs), default=0)
