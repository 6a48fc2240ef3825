"""`--stream hop=320`: what it means, and what a stream that was run shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    import torch

    from pilotlight.compiler import Build
    from pilotlight.graph import Graph

COUNTED = 8  # steps
_NUMBERS = ("hop", "axis", "buffer")


@dataclass(frozen=True)
class StreamOption:
    """The arguments of `pilotlight.stream`."""

    hop: int
    axis: int = -1
    buffer: int | None = None
    exact: bool = False

    @staticmethod
    def read(text: str) -> StreamOption:
        found: dict[str, Any] = {}
        for part in text.split(","):
            key, equals, number = (word.strip() for word in part.partition("="))
            if key == "exact" and not equals:
                found["exact"] = True
                continue
            try:
                if key not in _NUMBERS or key in found:
                    raise ValueError
                found[key] = int(number)
            except ValueError:
                raise PilotlightError(
                    f"--stream {text}: {part!r} is not known", kind="usage",
                    hint="write hop=SAMPLES, then axis=DIMENSION, buffer=SAMPLES or exact where needed, such as "
                    "--stream hop=320,exact",
                ) from None
        if "hop" not in found:
            raise PilotlightError(f"--stream {text} has no hop", hint="such as --stream hop=320", kind="usage")
        return StreamOption(**found)

    def apply(self, graph: Graph, rate: float | None) -> Graph:
        from pilotlight.stream import stream

        return stream(graph, self.axis, self.hop, exact=self.exact, rate=rate, buffer=self.buffer)


def streamed_wav(talk: Talk, build: Build, path: Path) -> tuple[list[list[torch.Tensor]] | None, None]:
    """The recording in a wav file; where no rate was given, the file's is the model's."""
    from pilotlight.session.recordings import read_recording

    streaming = build.graph.streaming
    if streaming is None:
        raise PilotlightError(
            f"{path} is a recording: only a streaming model takes one of any length",
            hint="add --stream hop=320, or give the model's inputs as an .npz file", kind="usage",
        )
    recording, rate = read_recording(path, build.graph)
    if streaming.rate is None:
        talk.note(f"{path.name} has {rate:,} samples a second, taken as the model's; --rate says another")
        build.graph.streaming = build.lowered.streaming = replace(streaming, rate=float(rate))
    return [recording], None


def counted_stream(talk: Talk, build: Build) -> dict[str, Any]:
    """What a stream costs; on an emulated board that has room for it, as counted in its first steps."""
    from pilotlight.errors import DoesNotFitError, MissingToolError
    from pilotlight.figures.streaming import load_figures, stream_figures
    from pilotlight.measure.profile import profile
    from pilotlight.stream.recordings import steps_of

    streaming = build.graph.streaming
    assert streaming is not None
    if build.board.is_host or not build.board.runnable or build.graph.reference is None:
        return stream_figures(streaming)
    try:
        with talk.stage(f"counting on {build.board.name}"), build.open() as running:
            for row in steps_of(streaming, streaming.model.truth.example)[:COUNTED]:
                running.flat(row)
    except (DoesNotFitError, MissingToolError):
        return stream_figures(streaming)
    counts = running.device.counts
    if counts is None or not counts.runs:
        return stream_figures(streaming)
    return load_figures(build, profile(build.runnable_info, counts), counts.totals)
