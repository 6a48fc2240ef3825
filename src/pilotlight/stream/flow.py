"""What a value of a model over time is, when the samples come a few at a time.

Frames are numbered as in the model run over a whole recording: step n of a stream has the frames from
`n * frames + offset` on. A negative offset is a delay: what a layer looks ahead has to arrive first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from pilotlight.errors import PilotlightError
from pilotlight.graph import Node


@dataclass(frozen=True)
class Flow:
    """A value with an axis of time, of which each step has some new frames."""

    axis: int
    frames: int  # new ones in each step
    rate: Fraction  # samples of the input from one frame to the next
    offset: int = 0  # the first new frame of the first step
    extra: int = 0  # over N steps the whole model has `N * frames + extra` of them
    tail: int = 0  # the last ones of these that padding at the end changed: more samples make others of them
    lag: int = 0  # frames of delay that nothing but whole steps asked for
    warm: int = 0  # the first frame that is the whole model's
    head: float = 0.0  # what the frames before a positive offset hold: padding
    padded: tuple[str, ...] = ()  # layers that would compute other frames at the borders of a window

    @property
    def reaches_end(self) -> bool:
        """Whether the newest frame is the last one of the whole model, given all samples but those of the lag."""
        return self.tail == 0 and self.extra == self.offset + self.lag

    @property
    def stop(self) -> int:
        """After the last new frame of the first step."""
        return self.offset + self.frames

    def spaced(self, start: int, stride: int, size: int, before: int, extra: int, held: bool = False) -> Flow:
        """What windows of `size` frames make of it: window j begins at frame `j * stride - before`.

        `start` is the first new window, `extra` is how many more of them than strides there are. Frames before the
        first are not the padding that they should be if they come out of a layer, unless they are `held` back.
        """
        rough = self.offset < 0 and before > 0 and not held
        warm = -(-(self.warm + before) // stride) if self.warm or rough else 0
        whole = -(-(self.extra - self.tail + before - size + 1) // stride)  # windows that end before the tail
        return replace(
            self, frames=self.frames // stride, rate=self.rate * stride, offset=start, extra=extra, warm=max(warm, 0),
            head=0.0, lag=0, tail=max(extra - whole, 0),
        )

    def first_window(self, stride: int, size: int, before: int) -> int:
        """The first window of the first step: all that can be complete are, those before frame 0 were never there."""
        return min((self.offset - 1 + stride + before - (size - 1)) // stride, 0)

    def window_extra(self, stride: int, size: int, both: int, ceil: bool = False) -> int:
        """How many more windows than strides a whole recording has; `both` is the padding of both sides."""
        room = self.extra + both - size
        return (-(-room // stride) if ceil else room // stride) + 1


class Answer:
    """A value without time, one for each step."""


@dataclass(frozen=True)
class Window(Answer):
    """What the model computes from its own window of samples, the newest ones."""

    padded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Latest(Answer):
    """What the model has at the end of everything up to now."""

    warm: int = 0  # the first step that is right
    late: int = 0  # samples at the end that are not part of it yet
    padded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Missing:
    """What a step cannot know, and why; an error only if something needs it."""

    reason: str


Kind = Flow | Window | Latest | Missing | None  # None: the same in every step


class FixesWindowError(Exception):
    """An operator combines all frames of the model's window into something without time."""


class UnstreamableError(Exception):
    """An operator needs all of time, for a reason."""


class UnevenHopError(Exception):
    """A layer's stride does not divide the new frames of a step."""

    def __init__(self, stride: int):
        super().__init__(stride)
        self.stride = stride


def layer_name(node: Node) -> str:
    """Such as `att (net.py:12)`: where a user finds a layer."""
    module, source = node.place.module, node.place.source
    return f"{module} ({source})" if module and source else module or source or node.op


def refused(node: Node, what: str, hint: str) -> PilotlightError:
    return PilotlightError(what, where=layer_name(node), hint=hint, kind="not-streamable")
